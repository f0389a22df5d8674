"""The same trace in every packing gives the same columns; damage is stated, bombs are refused."""

import gzip
import io
import zipfile
import zlib

import pyarrow as pa
import pytest

from profiler_core.errors import BadInput, FusionscopeError, NotARun, NotATrace
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.limits import Limits
from tests.ingest.test_quirks import FIXTURES, PLAIN
from tests.ingest.totals import file_totals

DATA = (FIXTURES / "plain.json").read_bytes()


def zipped(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return sink.getvalue()


def members(data: bytes, size: int = 1500) -> bytes:
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(gzip.compress(piece) for piece in pieces)


def raw_zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


PACKED = {
    "gzip": gzip.compress(DATA),
    "gzip in several members": members(DATA),
    "gzip padded with zeros": gzip.compress(DATA) + b"\0" * 1000,
    "zstd": raw_zstd(DATA),
    "zstd in several frames": raw_zstd(DATA[:3000]) + raw_zstd(DATA[3000:]),
    "zip": zipped({"trace.json": DATA}),
    "zip of gzip": zipped({"run/trace.json.gz": gzip.compress(DATA)}),
    "zip with a mac's leavings": zipped(
        {"trace.json": DATA, "__MACOSX/._trace.json": b"\0\5\x16\7"}
    ),
}


@pytest.mark.parametrize("how", PACKED)
def test_every_packing_gives_the_same(how, tmp_path):
    path = tmp_path / "trace.bin"  # told by content, not by name
    path.write_bytes(PACKED[how])
    trace = read_kineto(path, chunk_bytes=(700,))
    assert file_totals(trace) == PLAIN
    assert not trace.tally.repairs


@pytest.mark.parametrize("packed", [gzip.compress(DATA), raw_zstd(DATA)], ids=["gzip", "zstd"])
def test_what_was_cut_while_packed_is_read_as_far_as_it_goes(packed, tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(packed[: len(packed) - 300])
    try:
        trace = read_kineto(path)
    except NotATrace:
        # A zstd block is all or nothing, and this trace is one block.
        assert packed.startswith(b"\x28\xb5")
        return
    assert 0 < file_totals(trace)["file_n_kernels"] < 4
    assert trace.tally.repairs["the compressed data ends early"] == 1
    assert "file cut short, its last event is incomplete" in trace.tally.repairs


def test_damage_inside_a_gzip_is_stated(tmp_path):
    data = bytearray(members(DATA, 2500))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    path = tmp_path / "trace.json.gz"
    path.write_bytes(data)
    trace = read_kineto(path)
    assert trace.tally.repairs["the compressed data is damaged"] == 1


def test_two_traces_in_one_gzip_are_said(tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(DATA) * 2)
    trace = read_kineto(path)
    assert file_totals(trace) == PLAIN
    assert dict(trace.tally.repairs) == {"further document in the same file, left out": 1}


REFUSED = {
    "empty": (b"", "is empty"),
    "white space": (b" \n\t" * 5000, "is empty"),
    "a gzip of nothing": (gzip.compress(b""), "is empty"),
    "an image": (b"\x89PNG\r\n\x1a\n" + b"\0\1\2" * 500, "is not JSON"),
    "text": (b"Hello, this is a log\n" * 50, "is not JSON"),
    "a pickle": (b"\x80\x04\x95\x01\x00}\x94(\x8c\x08segments", "is not JSON"),
    "an object": (b'{"nodes": [1, 2], "edges": []}', "no traceEvents (it has nodes, edges)"),
    "an empty object": (b"{}", "no traceEvents (it is empty)"),
    "a list of numbers": (b"[1, 2, 3]", "none can be read"),
    "a list of objects": (b'[{"a": 1}, {"a": 2}]', "none can be read"),
    "nested objects": (b'{"a":' * 200_000, "no traceEvents"),
    "nested lists": (b"[" * 200_000, "none can be read"),
    "a nested event": (
        b'{"traceEvents": [{"ph": "X", "args": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}]}",
        "none can be read",
    ),
    "traceEvents that are no list": (b'{"traceEvents": 3}', "no traceEvents"),
    "a zip of two traces": (zipped({"a.json": DATA, "b.json": DATA}), "holds 2 files"),
    "a zip that climbs": (zipped({"../../trace.json": DATA}), "leads out"),
    "a zip with an absolute path": (zipped({"/etc/trace.json": DATA}), "leads out"),
    "a zip in a zip": (zipped({"a.zip": zipped({"trace.json": DATA})}), "is not JSON"),
    "a broken zip": (zipped({"trace.json": DATA})[:-30], "damaged zip"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_trace_gets_one_clear_sentence(what, tmp_path):
    data, part = REFUSED[what]
    path = tmp_path / "upload"
    path.write_bytes(data)
    with pytest.raises(FusionscopeError) as caught:
        read_kineto(path)
    assert part in caught.value.problem
    assert caught.value.problem.startswith("upload ")
    assert len(caught.value.problem) < 300
    assert caught.value.remedy.endswith(".")


def test_an_encrypted_zip_is_refused(tmp_path):
    data = bytearray(zipped({"trace.json": DATA}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    path = tmp_path / "trace.zip"
    path.write_bytes(data)
    with pytest.raises(BadInput, match="encrypted"):
        read_kineto(path)


SMALL = Limits(
    max_uncompressed_bytes=20 << 20,
    ratio_counts_from_bytes=1 << 20,
    max_ratio=100,
    max_piece_bytes=1 << 20,
    max_archive_bytes=20 << 20,
)


def bomb(unit: bytes, n_bytes: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(b'{"traceEvents": [')
    return (
        start
        + b"".join(packer.compress(unit * 1000) for _ in range(n_bytes // 1000))
        + (packer.flush())
    )


@pytest.mark.parametrize(
    "unit",
    [b" ", b"[", b'{"a":', b'"', b"a", b'{"ph":"X"},', b"\\"],
    ids=["space", "list", "object", "quote", "letter", "event", "backslash"],
)
def test_a_decompression_bomb_is_refused_while_it_unpacks(unit, tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(bomb(unit, 30 << 20))
    with pytest.raises(BadInput):
        read_kineto(path, limits=SMALL)


def test_an_archive_that_claims_too_much_is_refused_before_unpacking(tmp_path):
    path = tmp_path / "trace.zip"
    path.write_bytes(zipped({"trace.json": b" " * (30 << 20)}))
    with pytest.raises(BadInput, match="unpack to more than"):
        read_kineto(path, limits=SMALL)


def test_a_zip_without_a_trace_says_so(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"run.json": b"{}"}))
    with pytest.raises(NotARun, match="holds 0 files"):
        read_kineto(path)


def test_progress_reaches_the_end_and_can_cancel(tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(DATA))
    seen: list[tuple[int, int]] = []
    read_kineto(path, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)

    class StopError(Exception):
        pass

    def stop(_done: int, _total: int) -> None:
        raise StopError

    with pytest.raises(StopError):
        read_kineto(path, stop)
