"""Zip archives made byte by byte, so that any of their fields can be wrong."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from octavo.features.archives.worker.survey import ArchiveLimits, SurveyResult, survey

LIMITS: ArchiveLimits = {
    "entries": 100_000,
    "total": 1 << 33,
    "note": 2 * 1024 * 1024,
    "image": 32 * 1024 * 1024,
}
ONES_64 = (1 << 64) - 1
ONES_32 = 0xFFFFFFFF
ONES_16 = 0xFFFF


@dataclass(frozen=True)
class Crafted:
    """An entry; what is None follows from the data. ``local`` has fields of the local header."""

    name: str | bytes
    data: bytes = b"text"
    method: int = 8
    flags: int = 0x0800
    packed: bytes | None = None
    crc: int | None = None
    compressed: int | None = None
    size: int | None = None
    extra: bytes = b""
    system: int = 3
    attributes: int = 0o100644 << 16
    comment: bytes = b""
    disk: int = 0
    offset: int | None = None
    after: bytes = b""
    local: dict[str, int] = field(default_factory=dict)
    local_name: bytes | None = None
    local_extra: bytes = b""
    local_signature: bytes = b"PK\x03\x04"


def raw(name: str | bytes) -> bytes:
    return name if isinstance(name, bytes) else name.encode()


def deflated(data: bytes, level: int = 6) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    return deflate.compress(data) + deflate.flush()


def zip64_extra(*values: int) -> bytes:
    return struct.pack(f"<2H{len(values)}Q", 1, 8 * len(values), *values)


def unicode_extra(name: str, of: bytes) -> bytes:
    body = b"\1" + struct.pack("<L", zlib.crc32(of)) + name.encode()
    return struct.pack("<2H", 0x7075, len(body)) + body


def crafted(
    *entries: Crafted,
    prefix: bytes = b"",
    counts_prefix: bool = False,
    comment: bytes = b"",
    zip64: bool = False,
    end: dict[str, int] | None = None,
    zip64_end: dict[str, int] | None = None,
    locator: dict[str, int] | None = None,
    before_end: bytes = b"",
) -> bytes:
    """Return an archive; ``end`` and the like replace values of its end records."""
    base = len(prefix) if counts_prefix else 0
    body, directory = bytearray(), bytearray()
    for each in entries:
        packed = each.packed
        if packed is None:
            packed = each.data if each.method == 0 else deflated(each.data)
        figures = {
            "flags": each.flags,
            "method": each.method,
            "crc": zlib.crc32(each.data) if each.crc is None else each.crc,
            "compressed": len(packed) if each.compressed is None else each.compressed,
            "size": len(each.data) if each.size is None else each.size,
        }
        local = {**figures, **each.local}
        name = raw(each.name)
        local_name = name if each.local_name is None else each.local_name
        offset = base + len(body) if each.offset is None else each.offset
        body += each.local_signature + struct.pack(
            "<5H3L2H",
            *(20, local["flags"], local["method"], 0, 0x21, local["crc"]),
            *(local["compressed"], local["size"], len(local_name), len(each.local_extra)),
        )
        body += local_name + each.local_extra + packed + each.after
        directory += b"PK\x01\x02" + struct.pack(
            "<2B5H3L5H2L",
            *(20, each.system, 20, figures["flags"], figures["method"], 0, 0x21, figures["crc"]),
            *(figures["compressed"], figures["size"], len(name), len(each.extra)),
            *(len(each.comment), each.disk, 0, each.attributes, offset),
        )
        directory += name + each.extra + each.comment
    values = {
        "disk": 0,
        "directory_disk": 0,
        "here": len(entries),
        "entries": len(entries),
        "size": len(directory),
        "start": base + len(body),
    }
    tail = b""
    if zip64:
        long = {**values, "rest": 44, **(zip64_end or {})}
        tail += b"PK\x06\x06" + struct.pack(
            "<Q2H2L4Q",
            *(long["rest"], 45, 45, long["disk"], long["directory_disk"]),
            *(long["here"], long["entries"], long["size"], long["start"]),
        )
        where = {
            "disk": 0,
            "offset": values["start"] + values["size"],
            "disks": 1,
            **(locator or {}),
        }
        tail += b"PK\x06\x07" + struct.pack("<LQL", where["disk"], where["offset"], where["disks"])
        values |= {"here": ONES_16, "entries": ONES_16, "size": ONES_32, "start": ONES_32}
    values |= end or {}
    tail += b"PK\x05\x06" + struct.pack(
        "<4H2LH",
        *(values["disk"], values["directory_disk"], values["here"], values["entries"]),
        *(values["size"], values["start"], len(comment)),
    )
    return bytes(prefix + body + directory + before_end + tail + comment)


def written(folder: Path, data: bytes, parts: int = 1) -> list[str]:
    """Write an archive in parts, and return their paths."""
    folder.mkdir(exist_ok=True, parents=True)
    size = -(-len(data) // parts) or 1
    paths = []
    for number in range(parts):
        path = folder / f"part-{number}"
        path.write_bytes(data[number * size : (number + 1) * size])
        paths.append(str(path))
    return paths


def surveyed(
    folder: Path, parts: Sequence[str], limits: ArchiveLimits = LIMITS
) -> tuple[str, SurveyResult]:
    """Survey an archive in a new folder, and return the folder with the result."""
    number = sum(1 for _ in folder.glob("import-*"))
    place = folder / f"import-{number}"
    place.mkdir(parents=True)
    return str(place), survey(list(parts), str(place), limits)
