"""The ledger as a file: its rows sum to its groups to the nanosecond, for whoever reads Parquet."""

import duckdb
import polars as pl
import pytest

from profiler_core.cli.main import main
from profiler_core.export.ledger_events import LEDGER_SCHEMA
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.judge.pairs import ROOT

SAMPLES = ROOT / "sample_traces"
PAIRS = ["bert/reduce-overhead", "simplecnn-training/default", "ddp/default", "dynshape/default"]


@pytest.fixture
def home(tmp_path, home_with_columns):
    return tmp_path


@pytest.mark.parametrize("pair", PAIRS)
def test_the_rows_of_each_group_sum_to_its_time(pair, home):
    runs = SAMPLES / pair.split("/")[0] / "eager", SAMPLES / pair
    file = home / "ledger.parquet"
    assert main(["compare", *map(str, runs), "--ledger", str(file)]) == 0
    ledger = Comparison.open(list(runs)).check().pairs[0].ledger
    sums = duckdb.sql(
        f"select side, \"group\", sum(dur_ns)::bigint, count(*) from '{file}' group by all"
    ).fetchall()
    written = {(side, group): (time_ns, n) for side, group, time_ns, n in sums}
    expected = {
        (name, number): (side.time_ns, side.n_events)
        for number, group in enumerate(ledger.groups)
        for name, side in (("baseline", group.baseline), ("candidate", group.candidate))
        if side.n_events
    }
    assert written == expected
    events = pl.read_parquet(file)
    assert dict(events.schema) == LEDGER_SCHEMA
    assert events["dur_ns"].sum() == ledger.baseline_ns + ledger.candidate_ns
    for number, group in enumerate(ledger.groups):
        rows = events.filter(pl.col("group") == number)
        assert set(rows["kind"]) == {group.kind}
        assert set(rows["module"]) == {group.module}
        assert set(rows.filter(side="baseline")["operator"]) == {
            o.op for o in group.baseline.operators
        }
        assert set(rows["confidence"]) <= {group.confidence, "undecidable"}


def test_several_candidates_are_told_apart(home):
    runs = [str(SAMPLES / "breaky" / name) for name in ("eager", "default", "reduce-overhead")]
    file = home / "ledger.parquet"
    assert main(["compare", *runs, "--ledger", str(file)]) == 0
    events = pl.read_parquet(file)
    assert events["candidate"].n_unique() == 2
    baselines = events.filter(side="baseline").group_by("candidate").agg(pl.col("dur_ns").sum())
    assert baselines["dur_ns"].n_unique() == 1


@pytest.mark.parametrize("name", ["ledger.csv", "missing/ledger.parquet"])
def test_a_file_that_cannot_be_written_is_said(name, home, capsys):
    runs = [str(SAMPLES / "breaky" / name) for name in ("eager", "default")]
    assert main(["compare", *runs, "--ledger", str(home / name)]) != 0
    said = capsys.readouterr().err
    assert name.rpartition("/")[2] in said
    assert "Traceback" not in said
