"""A file as a stream of uncompressed blocks, whatever it is packed in, with a cap on both.

.gz may hold several members (several ranks or flushes wrote one after the other), .zst several
frames, .zip exactly one trace. The packing is told by the first bytes, never by the name.
"""

import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, cast

from profiler_core.errors import BadInput
from profiler_core.guarded_open import open_guarded
from profiler_core.ingest import archive
from profiler_core.ingest.limits import Limits, Meter
from profiler_core.ingest.sniff import Packing, packing_of
from profiler_core.model.tally import (
    ARCHIVE_DAMAGED,
    DAMAGED,
    DAMAGED_OR_ENDS_EARLY,
    ENDS_EARLY,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BLOCK_BYTES = 4 << 20
_PACKED_BLOCK_BYTES = 256 << 10


@dataclass
class Stream:
    """Iterate over it for the blocks; the counters say how far it got."""

    path: Path
    limits: Limits
    name: str = ""  # to call it in errors; the path's by default
    bytes_total: int = 0  # of the file as it lies there
    bytes_read: int = 0
    n_unpacked: int = 0
    damage: str | None = None  # why unpacking stopped early
    block_bytes: int = BLOCK_BYTES  # the largest block
    noun: str = "events"  # what the meter counts, once somebody tells it
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        """An empty name is the path's."""
        self.name = self.name or self.path.name
        self.meter = Meter(self.name, self.limits, self.noun)

    def __iter__(self) -> Iterator[bytes]:
        """Blocks of at most `block_bytes`.

        Raises:
            BadInput: the file unpacks to more than the limits allow, takes too long, or the archive
                is unusable.
        """
        self.bytes_total = self.path.stat().st_size
        with open_guarded(self.path) as file:
            for block in self._unpacked(file):
                self.n_unpacked += len(block)
                self._check_limits()
                self.meter.look()
                yield block

    def _unpacked(self, file: BinaryIO) -> Iterator[bytes]:
        head = file.read(8)
        file.seek(0)
        match packing_of(head):
            case Packing.GZIP:
                yield from self._gunzip(file)
            case Packing.ZSTD:
                yield from self._unzstd(file)
            case Packing.ZIP:
                yield from self._unzip(file)
            case Packing.NONE:
                while block := file.read(self.block_bytes):
                    self.bytes_read += len(block)
                    yield block

    def _gunzip(self, file: IO[bytes]) -> Iterator[bytes]:
        inflater = zlib.decompressobj(wbits=31)
        packed = b""
        while True:
            packed = packed or file.read(_PACKED_BLOCK_BYTES)
            self.bytes_read = file.tell()
            if not packed:
                if not inflater.eof:
                    self.damage = ENDS_EARLY
                return
            if inflater.eof:
                packed = packed.lstrip(b"\0")  # tape padding between or after members
                if not packed:
                    continue
                inflater = zlib.decompressobj(wbits=31)
            try:
                # Bounded: 256 KiB of a bomb would else become 256 MiB at once.
                block = inflater.decompress(packed, self.block_bytes)
            except zlib.error:
                self.damage = DAMAGED
                return
            packed = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            if block:
                yield block

    def _unzstd(self, file: BinaryIO) -> Iterator[bytes]:
        with zstd.ZstdFile(file) as unpacked:  # goes on over several frames
            while True:
                try:
                    block = unpacked.read(self.block_bytes)
                except (zstd.ZstdError, EOFError):
                    self.damage = DAMAGED_OR_ENDS_EARLY
                    return
                if not block:
                    return
                self.bytes_read = file.tell()
                yield block

    def _unzip(self, file: BinaryIO) -> Iterator[bytes]:
        with archive.opened(file, self.name, self.limits) as opened:
            member = archive.only_trace(opened, self.name)
            with opened.open(member) as unpacked:
                inner = cast(zipfile.ZipExtFile, unpacked).peek(8)[:8]
                if packing_of(inner) is Packing.GZIP:
                    yield from self._gunzip(unpacked)
                    self.bytes_read = file.tell()
                    return
                while True:
                    try:
                        block = unpacked.read(self.block_bytes)
                    except (zipfile.BadZipFile, zlib.error, EOFError):
                        self.damage = ARCHIVE_DAMAGED
                        return
                    if not block:
                        return
                    self.bytes_read = file.tell()
                    yield block

    def _check_limits(self) -> None:
        if self.n_unpacked > self.limits.max_uncompressed_bytes:
            raise BadInput(
                f"{self.name} unpacks to more than the allowed "
                f"{self.limits.max_uncompressed_bytes} bytes.",
                remedy="Record fewer steps, or raise FUSIONSCOPE_MAX_TRACE_BYTES.",
            )
        packed = max(1, self.bytes_read)
        if (
            self.n_unpacked > self.limits.ratio_counts_from_bytes
            and self.n_unpacked > packed * self.limits.max_ratio
        ):
            raise BadInput(
                f"{self.name} unpacks to more than {self.limits.max_ratio} times its size: "
                "this is no real trace.",
                remedy="Pass a trace that torch.profiler wrote.",
            )
