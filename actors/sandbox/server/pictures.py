"""How large a picture is, read from its first bytes.

Enough to tell a picture from something else that is declared as one.
Source: PNG specification 5.2 and 11.2.1; GIF89a 17 and 18; JPEG (ITU-T T.81) B.1 and B.2.2;
WebP container specification.
"""

import struct
from collections.abc import Callable

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8"
JPEG_SIZED = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # frame headers
JPEG_BARE = frozenset({0x01, *range(0xD0, 0xDA)})  # markers without a length


def picture_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels, None for what is no PNG, JPEG, GIF or WebP."""
    readers: dict[bytes, Callable[[bytes], tuple[int, int] | None]] = {
        PNG: _png,
        b"GIF8": _gif,
        JPEG: _jpeg,
        b"RIFF": _webp,
    }
    for signature, read in readers.items():
        if content.startswith(signature):
            try:
                return read(content)
            except (struct.error, IndexError):
                return None
    return None


def _png(content: bytes) -> tuple[int, int] | None:
    if content[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", content, 16)
    return width, height


def _gif(content: bytes) -> tuple[int, int] | None:
    width, height = struct.unpack_from("<HH", content, 6)
    return width, height


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at = len(JPEG)
    while content[at] == 0xFF:  # noqa: PLR2004  # what every marker begins with
        marker = content[at + 1]
        if marker in JPEG_SIZED:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        at += 2
        if marker not in JPEG_BARE:
            at += struct.unpack_from(">H", content, at)[0]
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    if content[8:12] != b"WEBP":
        return None
    match content[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", content, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            packed = struct.unpack_from("<I", content, 21)[0]
            return (packed & 0x3FFF) + 1, (packed >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width = int.from_bytes(content[24:27], "little") + 1
            return width, int.from_bytes(content[27:30], "little") + 1
        case _:
            return None
