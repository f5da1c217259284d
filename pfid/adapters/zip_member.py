"""One member of an archive, Zstandard among its packings, which zipfile knows from 3.14 on."""

import struct
import zipfile
import zlib
from typing import Any, Final

from pfid.domain.errors import PfidError
from pfid.domain.extras import how_to_install

EXTRA: Final = "inspect"
ZSTANDARD: Final = 93
LOCAL_HEADER: Final = struct.Struct("<26xHH")
"""Sizes of the name and of the extra field, which lie between the header and the data."""


class MemberError(PfidError):
    """A member cannot be unpacked: the archive is damaged."""


class UnpackerMissingError(PfidError):
    """A library is needed that is not there."""


def unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """The bytes of a member.

    Raises:
        MemberError: if they are not what was packed.
        UnpackerMissingError: if it is packed with Zstandard and nothing here unpacks that.
        zipfile.BadZipFile: if the archive is damaged.
    """
    member = archive.getinfo(name)
    try:
        return archive.read(member)
    except NotImplementedError as error:
        if member.compress_type != ZSTANDARD:
            why = f"{name} is packed by method {member.compress_type}, which nobody unpacks"
            raise MemberError(why) from error
    return _zstandard(archive, member)


def _zstandard(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        remedy = f"{how_to_install(EXTRA)}, or `inspect log convert --to json`"
        raise UnpackerMissingError(
            f"{archive.filename}: is packed with Zstandard: {remedy}"
        ) from error
    packed = _raw(archive, member)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            found: bytes = reader.read(member.file_size + 1)
    except zstandard.ZstdError as error:
        raise MemberError(f"{member.filename}: {error}") from error
    if len(found) != member.file_size or zlib.crc32(found) != member.CRC:
        raise MemberError(f"{member.filename}: its checksum is another")
    return found


def _raw(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    stream: Any = archive.fp
    stream.seek(member.header_offset)
    head = stream.read(LOCAL_HEADER.size)
    if len(head) < LOCAL_HEADER.size:
        raise MemberError(f"{member.filename}: the archive ends before it")
    stream.seek(sum(LOCAL_HEADER.unpack(head)), 1)
    raw: bytes = stream.read(member.compress_size)
    return raw
