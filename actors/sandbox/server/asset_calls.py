"""AssetUploadService and AssetService: sending files and looking them up.

Source: Chatto 0.4.20, proto/chatto/api/v1/asset_uploads.proto,
proto/chatto/api/v1/attachments.proto, cli/internal/connectapi/asset_uploads.go.
"""

from . import access
from .accounts import Account
from .assets import MAX_CHUNK, Declared, Upload
from .pb import Proto, api, at
from .permissions import Permission
from .refusals import Reason, refused
from .views import Views
from .world import World


class UploadCalls:
    """Answers the calls of AssetUploadService."""

    def __init__(self, world: World, views: Views) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views

    def create_upload(self, request: Proto, caller: Account) -> Proto:
        """Begin a file."""
        room = access.member_room(self._world, caller, request.room_id)
        access.require_open(room)
        access.require(self._world, caller, Permission.ATTACH, room)
        declared = Declared(request.filename, request.content_type, request.size, request.sha256)
        upload = self._world.assets.open_upload(caller.id, room, declared)
        return api.CreateUploadResponse(upload=_upload(upload))

    def upload_chunk(self, request: Proto, caller: Account) -> Proto:
        """Send the next piece."""
        upload = self._world.assets.require_upload(caller.id, request.upload_id)
        self._world.assets.append(upload, request.offset, request.content, request.chunk_sha256)
        return api.UploadChunkResponse(upload=_upload(upload))

    def get_upload(self, request: Proto, caller: Account) -> Proto:
        """Ask how far a file has come."""
        upload = self._world.assets.require_upload(caller.id, request.upload_id)
        return api.GetUploadResponse(upload=_upload(upload))

    def complete_upload(self, request: Proto, caller: Account) -> Proto:
        """Make an asset of what was sent."""
        upload = self._world.assets.require_upload(caller.id, request.upload_id)
        asset = self._world.assets.complete(upload)
        return api.CompleteUploadResponse(
            upload=_upload(upload), asset=self._views.asset(caller, asset)
        )

    def cancel_upload(self, request: Proto, caller: Account) -> Proto:
        """Give a file up."""
        upload = self._world.assets.require_upload(caller.id, request.upload_id)
        self._world.assets.cancel(upload)
        return api.CancelUploadResponse(upload=_upload(upload))


class AssetCalls:
    """Answers the calls of AssetService."""

    def __init__(self, world: World, views: Views) -> None:
        """Translate between the wire and this world."""
        self._world = world
        self._views = views

    def get_asset(self, request: Proto, caller: Account) -> Proto:
        """Look a file of a room up, posted or not."""
        room = access.member_room(self._world, caller, request.room_id)
        asset = self._world.assets.in_room(room, request.asset_id)
        if asset is None:
            raise refused(Reason.UNKNOWN)
        return api.GetAssetResponse(asset=self._views.asset(caller, asset))

    def batch_get_assets(self, request: Proto, caller: Account) -> Proto:
        """Look files of a room up, each once; unknown ones are left out."""
        room = access.member_room(self._world, caller, request.room_id)
        asset_ids = dict.fromkeys(request.asset_ids)
        found = [self._world.assets.in_room(room, one) for one in asset_ids]
        return api.BatchGetAssetsResponse(
            assets=[self._views.asset(caller, asset) for asset in found if asset]
        )


def _upload(upload: Upload) -> Proto:
    return api.AssetUpload(
        upload_id=upload.id,
        room_id=upload.room.id,
        status=int(upload.status),
        committed_offset=len(upload.content),
        size=upload.size,
        max_chunk_size=MAX_CHUNK,
        sha256=upload.sha256,
        expires_at=at(upload.expires_ns),
        asset_id=upload.asset.id if upload.asset else "",
    )
