"""Recognising a file is a look at its first bytes: whatever they are, it ends, and soon."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiler_core.errors import BadInput
from profiler_core.ingest import formats, kinds
from profiler_core.ingest.kinds import kind_of

# What each format looks for, in any order and between any bytes.
_WORDS = [
    b"{", b"[", b'"traceEvents"', b'"ph": "X"', b'"t_ns"', b'"gpu_index"', b'"cpu_ns"', b"\x80",
    b"segments", b'"ID",', b'"Kernel Name",', b"[__guards]", b"V1121 07:46:57.793000 1 a.py:1] {\"",
    b"SQLite format 3\0", b"\xef\xbb\xbf", b"\n", b"\0", b'"distributedInfo": {', b'"rank": [',
]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(_WORDS), st.binary(max_size=40)), max_size=30))
def test_any_head_has_one_answer_and_no_format_fails_on_it(pieces):
    head = b"".join(pieces)
    matching = [kind for kind in formats.file_kinds() if kind.is_it(head)]
    answer = formats.kind_with_head(head)
    assert answer is None or answer in matching
    if answer is not None:
        assert answer.certainty == min(kind.certainty for kind in matching)
    for kind in formats.trace_formats():
        said = kind.rank_header(head)
        assert said.rank is None or said.rank >= 0


@pytest.mark.parametrize(
    "block",
    [b"[", b'{"a":' * 1000, b'"ID","' * 1000, b"V1121 07:46:57 1 a " * 1000, b"torch/_" * 1000,
     b'"ph":                    ' * 1000, b"\x80" * 4096, b" " * 4096],
    ids=lambda block: repr(block[:12]),
)  # fmt: skip
def test_a_head_made_to_be_slow_is_told_within_a_second_of_a_core(block):
    head = (block * (1 + (256 << 10) // len(block)))[: 256 << 10]
    started = time.thread_time()  # a busy machine is no failure
    formats.kind_with_head(head)
    assert time.thread_time() - started < 1.0


def test_recognising_reads_the_first_blocks_only(tmp_path, monkeypatch):
    file = tmp_path / "large.json"
    with file.open("wb") as out:
        out.write(b'{"traceEvents": [')
        out.truncate(1 << 30)  # sparse: a read of all of it would take a gigabyte of memory
    read = []

    class Counting(kinds.Stream):
        def __iter__(self):
            for block in super().__iter__():
                read.append(len(block))
                yield block

    monkeypatch.setattr(kinds, "Stream", Counting)
    kind = kind_of(file)
    assert kind is not None and kind.slug == "kineto"
    assert sum(read) <= 4 << 20


def test_two_kinds_may_not_share_a_slug_or_a_stored_name(tmp_path, monkeypatch):
    for module in ("one", "two"):
        (tmp_path / f"{module}_more.py").write_text(
            "from profiler_core.ingest.file_kind import Certainty, FileKind, Role\n"
            f"FORMAT = FileKind(slug='{module}', description='', plural='', role=Role.HOST,\n"
            "    certainty=Certainty.WORDS, is_it=lambda head: False, stored_as='same.bin')\n"
        )
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    kinds.forget()
    try:
        with pytest.raises(ValueError, match=r"same name in a run directory: same\.bin"):
            formats.file_kinds()
    finally:
        monkeypatch.undo()
        kinds.forget()


def test_a_truncated_gzip_of_nothing_is_damaged_not_empty(tmp_path):
    file = tmp_path / "cut.gz"
    file.write_bytes(b"\x1f\x8b\x08\0")
    assert not kinds.is_empty(file)
    with pytest.raises(BadInput, match="cannot be unpacked"):
        kind_of(file)
