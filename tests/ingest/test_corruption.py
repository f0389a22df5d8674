"""Real traces cut, reordered and corrupted at random: never a crash, never a silent total.

The piece of a real trace is small, so that thousands of variants are tried; the events that a
change did not touch are known, and the totals over them come from tests/reference.py.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from profiler_core.errors import FusionscopeError
from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.model.trace import Trace
from tests.ingest.totals import file_totals
from tests.reference import Event, read_events, totals

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "kineto"

# The middle of one step of ../shared/captures/customcnn_b1.eager (H200, torch 2.11), as Kineto
# wrote it.
REAL = (FIXTURES / "real" / "customcnn_step.json").read_bytes()
EVENTS = read_events(FIXTURES / "real" / "customcnn_step.json")

TRY = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CHUNKS = st.sampled_from([(2000,), (15_000,), (1 << 20,)])


def spans() -> list[tuple[int, int]]:
    """Where each event stands in the text."""
    text = REAL.decode()
    decoder = json.JSONDecoder()
    place = text.index("[", text.index('"traceEvents"')) + 1
    found = []
    while (start := text.find("{", place)) >= 0 and text[place:start].strip() in ("", ","):
        place = decoder.raw_decode(text, start)[1]
        found.append((start, place))
    return found


SPANS = spans()
HEAD, TAIL = REAL[: SPANS[0][0]], REAL[SPANS[-1][1] :]
TEXTS = [REAL[start:end] for start, end in SPANS]


def test_the_piece_is_understood_here():
    assert len(SPANS) == len(EVENTS) > 60
    assert totals(EVENTS)["file_n_kernels"] > 5


def reading(path: Path, data: bytes, chunk_bytes: tuple[int, ...]) -> Trace | None:
    path.write_bytes(data)
    try:
        return read_kineto(path, chunk_bytes=chunk_bytes)
    except FusionscopeError as error:
        assert error.problem and error.remedy
        return None


def expected(events: list[Event]) -> dict[str, Any]:
    return {k: v for k, v in totals(events).items() if k.startswith("file_")}


def is_stated(trace: Trace) -> bool:
    return bool(trace.tally.skipped or trace.tally.repairs)


@TRY
@given(cut=st.integers(0, len(REAL)), chunk_bytes=CHUNKS)
@example(cut=len(REAL) - 1, chunk_bytes=(2000,))
def test_a_cut_file_gives_the_events_before_the_cut(tmp_path, cut, chunk_bytes):
    trace = reading(tmp_path / "t.json", REAL[:cut], chunk_bytes)
    whole = [event for event, (_, end) in zip(EVENTS, SPANS, strict=True) if end <= cut]
    if trace is None:
        assert not whole
        return
    assert file_totals(trace) == expected(whole)
    if cut < len(REAL.rstrip()):
        assert is_stated(trace)


@TRY
@given(order=st.permutations(range(len(TEXTS))), chunk_bytes=CHUNKS)
def test_the_order_of_the_events_does_not_matter(tmp_path, order, chunk_bytes):
    data = HEAD + b",\n".join(TEXTS[place] for place in order) + TAIL
    trace = reading(tmp_path / "t.json", data, chunk_bytes)
    assert trace is not None
    assert not is_stated(trace)
    assert file_totals(trace) == expected(EVENTS)


@TRY
@given(
    place=st.integers(0, len(TEXTS) - 1),
    garbage=st.binary(min_size=1, max_size=40),
    chunk_bytes=CHUNKS,
)
@example(place=3, garbage=b'{"', chunk_bytes=(2000,))
@example(place=3, garbage=b"}", chunk_bytes=(2000,))
def test_garbage_between_events_costs_no_event(tmp_path, place, garbage, chunk_bytes):
    if any(mark in garbage for mark in b'{}[]"'):
        # What opens something may swallow neighbours, but says so.
        check_neighbours_only(tmp_path, place, garbage, chunk_bytes)
        return
    texts = [*TEXTS[:place], garbage, *TEXTS[place:]]
    trace = reading(tmp_path / "t.json", HEAD + b",\n".join(texts) + TAIL, chunk_bytes)
    assert trace is not None
    assert file_totals(trace) == expected(EVENTS)
    if garbage.strip(b" \t\r\n"):
        assert is_stated(trace)


def check_neighbours_only(
    tmp_path: Path, place: int, garbage: bytes, chunk_bytes: tuple[int, ...]
) -> None:
    texts = [*TEXTS[:place], garbage, *TEXTS[place:]]
    trace = reading(tmp_path / "t.json", HEAD + b",\n".join(texts) + TAIL, chunk_bytes)
    assert trace is not None
    assert is_stated(trace)
    got = file_totals(trace)
    most = expected(EVENTS)
    if got != most:
        assert all(got[key] <= most[key] for key in most)
        assert trace.tally.n_skipped or trace.tally.repairs


@TRY
@given(
    place=st.integers(0, len(TEXTS) - 1),
    offset=st.integers(0, 10_000),
    byte=st.binary(min_size=1, max_size=1),
    how=st.sampled_from(["replace", "insert", "delete"]),
    chunk_bytes=CHUNKS,
)
@example(place=0, offset=len(TEXTS[0]) - 1, byte=b"\0", how="replace", chunk_bytes=(2000,))
@example(place=0, offset=len(TEXTS[0]) - 1, byte=b"x", how="replace", chunk_bytes=(1 << 20,))
@example(place=83, offset=109, byte=b"]", how="insert", chunk_bytes=(1 << 20,))
@example(place=3, offset=len(TEXTS[3]) - 2, byte=b"x", how="replace", chunk_bytes=(1 << 20,))
def test_a_corrupt_byte_touches_its_event_alone(tmp_path, place, offset, byte, how, chunk_bytes):
    text = bytearray(TEXTS[place])
    offset %= len(text)
    if how == "replace":
        text[offset : offset + 1] = byte
    elif how == "insert":
        text[offset:offset] = byte
    else:
        del text[offset]
    texts = [*TEXTS[:place], bytes(text), *TEXTS[place + 1 :]]
    trace = reading(tmp_path / "t.json", HEAD + b",\n".join(texts) + TAIL, chunk_bytes)
    assert trace is not None
    others = expected(EVENTS[:place] + EVENTS[place + 1 :])
    got = file_totals(trace)
    read_again = plain_reading(bytes(text))
    if read_again is not None:
        # Still JSON: what it says now is what counts, unless the reader states otherwise.
        if is_stated(trace):
            return
        assert got == expected([*EVENTS[:place], *read_again, *EVENTS[place + 1 :]])
    elif not is_stated(trace):
        # White space to the reader, though not to JSON, or a comma before a closing bracket:
        # nothing may be lost by it.
        assert got == expected(EVENTS)
    else:
        # Skipped, or mended to something: the others are all there.
        for key in ("file_n_kernels", "file_n_ops", "file_n_calls", "file_n_memory"):
            assert others[key] <= got[key] <= others[key] + 1


def plain_reading(text: bytes) -> list[Event] | None:
    """What json.loads makes of the text between two commas; None where it is no list of events."""
    try:
        found = json.loads(b"[" + text + b"]", parse_float=Decimal)
        totals(found)
    except (ValueError, ArithmeticError, AttributeError, KeyError, TypeError):
        return None
    return found


@TRY
@given(data=st.binary(max_size=300), chunk_bytes=CHUNKS)
def test_any_bytes_give_a_trace_or_a_sentence(tmp_path, data, chunk_bytes):
    reading(tmp_path / "t.json", data, chunk_bytes)
    reading(tmp_path / "t.json", b'{"traceEvents": [' + data, chunk_bytes)


@TRY
@given(number=st.decimals(min_value=0, max_value=10**16, places=3), chunk_bytes=CHUNKS)
@example(number=Decimal("1795249612818512.123"), chunk_bytes=(2000,))
@example(number=Decimal("8796093022207.999"), chunk_bytes=(2000,))
@example(number=Decimal("8796093022208.001"), chunk_bytes=(2000,))
def test_start_times_are_exact_up_to_any_clock(tmp_path, number, chunk_bytes):
    text = b'{"ph": "X", "cat": "kernel", "name": "k", "ts": %s, "dur": 1.001, "args": {}}'
    event = text % str(number).encode()
    trace = reading(tmp_path / "t.json", b'{"traceEvents": [' + event + b"]}", chunk_bytes)
    if number * 1000 >= 2**63:  # after the year 2262: the only event is skipped
        assert trace is None
        return
    assert trace is not None
    assert trace.origin_ns == int(number * 1000)
    assert trace.device["dur_ns"].to_list() == [1001]


@pytest.mark.parametrize("chunk_bytes", [(200,), (1 << 20,)])
def test_the_piece_itself(tmp_path, chunk_bytes):
    trace = reading(tmp_path / "t.json", REAL, chunk_bytes)
    assert trace is not None
    assert not is_stated(trace)
    assert file_totals(trace) == expected(EVENTS)
