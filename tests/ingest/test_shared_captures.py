"""Every one of the larger real captures opens, and its totals equal the reference."""

import gzip

import polars as pl
import pytest

from profiler_core.ingest.kineto.reader import read_kineto
from profiler_core.ingest.run import open_run
from profiler_core.model.trace import TABLE_SCHEMAS
from tests.ingest.totals import file_totals
from tests.larger import LARGER
from tests.reference import read_events, totals

TRACES = sorted(
    path for folder in ("captures", "breaks") for path in (LARGER / folder).glob("*/trace.json.gz")
)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_a_capture_equals_the_reference(path):
    trace = read_kineto(path, chunk_bytes=(100_000, 700_000))
    events = read_events(path)
    reference = totals(events)
    got = file_totals(trace)
    assert got == {key: reference[key] for key in got}
    assert trace.tally.n_events == len(events)
    assert not trace.tally.skipped
    assert not trace.tally.repairs


@pytest.mark.parametrize("path", TRACES[:4], ids=lambda path: path.parent.name)
def test_the_pieces_make_no_difference(path, tmp_path):
    plain = tmp_path / "trace.json"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    whole, pieces = read_kineto(plain), read_kineto(plain, chunk_bytes=(30_000,))
    for table in TABLE_SCHEMAS:
        assert getattr(whole, table).equals(getattr(pieces, table))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.parent.name)
def test_a_capture_is_a_run(path):
    run = open_run(path.parent)
    assert run.trace == path
    assert run.record.run_id


def test_the_steps_are_where_the_reference_finds_them():
    path = LARGER / "captures" / "bert.eager" / "trace.json.gz"
    trace = read_kineto(path)
    steps = trace.annotations.filter(
        pl.col("name").cast(pl.String).str.starts_with("ProfilerStep#")
    )
    assert steps.height == totals(read_events(path))["n_steps"] == 5
