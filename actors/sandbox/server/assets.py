"""Files: upload sessions, finished assets, and the tickets with which they are fetched.

Source: Chatto 0.4.20, cli/internal/core/asset_uploads.go, docs/fdr/FDR-008, docs/adr/ADR-047.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto

from .clock import NANOSECONDS, Clock
from .ids import IdKind, IdSource
from .pb import api
from .pictures import picture_size
from .refusals import Reason, invalid, refused
from .rooms import Room

MAX_CHUNK = 512 * 1024  # bytes
MAX_UPLOAD = 25 * 1024 * 1024  # bytes
MAX_VIDEO_UPLOAD = 100 * 1024 * 1024  # bytes; told to clients, videos are off
UPLOAD_LIFETIME_S = 15 * 60
UNPOSTED_LIFETIME_S = 24 * 3600
TICKET_LIFETIME_S = 24 * 3600


class UploadStatus(IntEnum):
    """States of an upload session, numbered as on the wire."""

    OPEN = api.ASSET_UPLOAD_STATUS_OPEN
    COMPLETED = api.ASSET_UPLOAD_STATUS_COMPLETED
    CANCELLED = api.ASSET_UPLOAD_STATUS_CANCELLED


@dataclass(slots=True, eq=False, kw_only=True)
class Asset:
    """A finished file; it belongs to its room, not to who sent it."""

    id: str
    room: Room
    filename: str
    content_type: str
    content: bytes
    width: int
    height: int
    created_ns: int
    is_posted: bool = False
    """Whether a message has it; one that none has within a day is gone."""

    @property
    def expires_ns(self) -> int:
        """When an asset that no message has is gone."""
        return self.created_ns + UNPOSTED_LIFETIME_S * NANOSECONDS


@dataclass(slots=True, eq=False, kw_only=True)
class Upload:
    """One file on its way up."""

    id: str
    owner_id: str
    room: Room
    filename: str
    content_type: str
    size: int
    sha256: str
    expires_ns: int
    content: bytearray = field(default_factory=bytearray)
    status: UploadStatus = UploadStatus.OPEN
    asset: Asset | None = None


class TicketVerdict(Enum):
    """What a ticket is worth for one asset."""

    GOOD = auto()
    INVALID = auto()
    OTHER_ASSET = auto()


class Assets:
    """All uploads and files."""

    def __init__(self, clock: Clock, ids: IdSource) -> None:
        """Start without files."""
        self._clock = clock
        self._ids = ids
        self._uploads: dict[str, Upload] = {}
        self._assets: dict[str, Asset] = {}
        self._signing_key = secrets.token_bytes(32)

    def open_upload(self, owner_id: str, room: Room, declared: "Declared") -> Upload:
        """Begin an upload.

        Raises:
            RefusedError: the file is too large, or a video.
        """
        if declared.size > MAX_UPLOAD:
            text = f"attachment exceeds maximum size of {MAX_UPLOAD} bytes: invalid argument"
            raise invalid(text)
        if declared.content_type.startswith("video/"):
            raise refused(Reason.VIDEO_OFF)
        upload = Upload(
            id=self._ids.new(IdKind.ASSET),
            owner_id=owner_id,
            room=room,
            filename=declared.filename,
            content_type=declared.content_type or "application/octet-stream",
            size=declared.size,
            sha256=declared.sha256,
            expires_ns=self._clock.now_ns() + UPLOAD_LIFETIME_S * NANOSECONDS,
        )
        self._uploads[upload.id] = upload
        return upload

    def require_upload(self, owner_id: str, upload_id: str) -> Upload:
        """Return the caller's upload.

        Raises:
            RefusedError: unknown, cancelled or run out; or somebody else's.
        """
        upload = self._uploads.get(upload_id)
        if upload is None or upload.status is UploadStatus.CANCELLED or self._ran_out(upload):
            raise refused(Reason.UNKNOWN)
        if upload.owner_id != owner_id:
            raise refused(Reason.DENIED)
        return upload

    def append(self, upload: Upload, offset: int, chunk: bytes, chunk_sha256: str) -> None:
        """Take the next piece of a file.

        Raises:
            RefusedError: the upload is not open, or the piece does not fit.
        """
        if upload.status is not UploadStatus.OPEN:
            raise refused(Reason.UPLOAD_NOT_OPEN)
        if len(chunk) > MAX_CHUNK:
            raise refused(Reason.CHUNK_TOO_LARGE)
        if offset != len(upload.content):
            raise refused(Reason.WRONG_OFFSET)
        if offset + len(chunk) > upload.size:
            raise refused(Reason.CHUNK_TOO_MUCH)
        if hashlib.sha256(chunk).hexdigest() != chunk_sha256:
            raise refused(Reason.CHUNK_HASH)
        upload.content += chunk

    def complete(self, upload: Upload) -> Asset:
        """Make the asset of an upload; the second time give the same one.

        Raises:
            RefusedError: it is incomplete or not what was announced; `internal` for what is
                declared a picture and cannot be read as one.
        """
        if upload.asset is not None:
            return upload.asset
        if len(upload.content) != upload.size:
            raise refused(Reason.UPLOAD_INCOMPLETE)
        content = bytes(upload.content)
        if hashlib.sha256(content).hexdigest() != upload.sha256:
            raise refused(Reason.UPLOAD_HASH)
        upload.asset = self._finish(upload, content)
        upload.status = UploadStatus.COMPLETED
        return upload.asset

    def cancel(self, upload: Upload) -> None:
        """Give an upload up.

        Raises:
            RefusedError: it is completed.
        """
        if upload.status is UploadStatus.COMPLETED:
            raise refused(Reason.UPLOAD_COMPLETED)
        upload.status = UploadStatus.CANCELLED

    def find(self, asset_id: str) -> Asset | None:
        """Look a file up that is still there."""
        asset = self._assets.get(asset_id)
        if asset is None or (not asset.is_posted and asset.expires_ns <= self._clock.now_ns()):
            return None
        return asset

    def in_room(self, room: Room, asset_id: str) -> Asset | None:
        """Look a file of this room up."""
        asset = self.find(asset_id)
        return asset if asset is not None and asset.room is room else None

    def keep(self, asset_ids: list[str]) -> None:
        """Let files live on that a message has now."""
        for asset_id in asset_ids:
            self._assets[asset_id].is_posted = True

    def remove(self, asset_id: str) -> None:
        """Throw a file away; one that is gone is fine."""
        self._assets.pop(asset_id, None)

    def ticket(self, asset_id: str, viewer_id: str) -> tuple[str, int]:
        """Return the ticket with which a viewer may fetch a file, and when it ends (ns)."""
        expires_ns = self._clock.now_ns() + TICKET_LIFETIME_S * NANOSECONDS
        claim = f"{asset_id}.{viewer_id}.{expires_ns}"
        return f"{claim}.{self._signature(claim)}", expires_ns

    def read_ticket(self, ticket: str, asset_id: str) -> tuple[TicketVerdict, str]:
        """Judge a ticket for one asset and return whose it is."""
        claim, _, signature = ticket.rpartition(".")
        if not hmac.compare_digest(self._signature(claim).encode(), signature.encode()):
            return TicketVerdict.INVALID, ""
        ticket_asset_id, viewer_id, expires_ns = claim.split(".")
        if int(expires_ns) <= self._clock.now_ns():
            return TicketVerdict.INVALID, ""
        if ticket_asset_id != asset_id:
            return TicketVerdict.OTHER_ASSET, ""
        return TicketVerdict.GOOD, viewer_id

    def _finish(self, upload: Upload, content: bytes) -> Asset:
        width, height = 0, 0
        if upload.content_type.startswith("image/"):
            size = picture_size(content)
            if size is None:
                raise refused(Reason.INTERNAL)
            width, height = size
        asset = Asset(
            id=self._ids.new(IdKind.ASSET),
            room=upload.room,
            filename=upload.filename,
            content_type=upload.content_type,
            content=content,
            width=width,
            height=height,
            created_ns=self._clock.now_ns(),
        )
        self._assets[asset.id] = asset
        return asset

    def _ran_out(self, upload: Upload) -> bool:
        return upload.status is UploadStatus.OPEN and upload.expires_ns <= self._clock.now_ns()

    def _signature(self, claim: str) -> str:
        return hmac.new(self._signing_key, claim.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Declared:
    """What a client says about a file before it sends it."""

    filename: str
    content_type: str
    """Empty for `application/octet-stream`."""
    size: int
    """Bytes."""
    sha256: str
    """Of the whole file, lower-case hexadecimal."""
