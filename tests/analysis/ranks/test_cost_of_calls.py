"""What each call beside a collective costs without one, against plain JSON of real jobs."""

from statistics import mean

import polars as pl
import pytest

from profiler_core.analysis.categories import categorise
from profiler_core.analysis.work import device_work
from profiler_core.session.comparison import Comparison
from tests.analysis.ranks import plain_job
from tests.analysis.ranks.test_critical_path import JOBS, SAMPLE, traces

_SIDES = [JOBS / "ddp-even" / "eager", JOBS / "fsdp-sleep" / "default", SAMPLE / "default"]


def _run(side):
    return Comparison.open([side]).runs[0]


def _by_launch(trace):
    """{(correlation, name): µs} of its device's events."""
    columns = pl.col("correlation"), pl.col("name").cast(pl.String), pl.col("dur_ns")
    rows = device_work(trace).select(columns).iter_rows()
    return {(correlation, name): ns / 1e3 for correlation, name, ns in rows}


@pytest.mark.parametrize("side", _SIDES, ids=lambda side: f"{side.parent.name}-{side.name}")
def test_each_call_costs_what_plain_json_says(side):
    run = _run(side)
    told, shown = _by_launch(run.worked_trace), run.job.critical.shown
    plain = plain_job.costs(traces(side))[shown]
    assert len(plain) > 900
    for _, event, us in plain:
        assert told[event["args"]["correlation"], event["name"]] == pytest.approx(us, abs=0.002)


@pytest.mark.parametrize(
    "name", ["ddp-even/eager", "ddp-sleep/default", "fsdp-blocks-spin/default"]
)
def test_a_call_beside_a_collective_costs_what_it_takes_in_a_step_without_one(name):
    """All calls of a kind were cut by one share: 251 µs stood where the same call took 347 alone.

    The n-th call of a kind in a step is the same work in each; steps in which it ran alone tell.
    """
    run, files = _run(JOBS / name), traces(JOBS / name)
    told, shown = _by_launch(run.worked_trace), run.job.critical.shown
    alone, beside = {}, []
    for rank, trace in files.items():
        launched, shapes = plain_job.launched_in_steps(trace), plain_job.shapes_of(trace)
        moves = [event for _, event in launched if plain_job.is_collective(event)]
        counts = {}
        for step, event in launched:
            if event["cat"] != "kernel" or plain_job.is_collective(event):
                continue
            kind, end = plain_job._kind(event, shapes), event["ts"] + event["dur"]
            number = counts[step, kind] = counts.get((step, kind), 0) + 1
            if all(end <= e["ts"] or e["ts"] + e["dur"] <= event["ts"] for e in moves):
                alone.setdefault((kind, number), []).append(event["dur"])
            elif rank == shown:
                beside.append((kind, number, event))
    judged = [
        (told[event["args"]["correlation"], event["name"]], mean(alone[kind, number]))
        for kind, number, event in beside
        if (kind, number) in alone
    ]
    off = sum(abs(us - without) for us, without in judged)
    assert len(judged) > 50
    assert off < 0.015 * sum(without for _, without in judged)


def test_kinds_of_kernels_keep_their_sums_where_one_kernel_is_of_two():
    """The same elementwise kernel is part of attention, too, in compiled FSDP2."""
    run = _run(JOBS / "fsdp-even" / "default")
    work = categorise(run.worked_trace).filter(pl.col("step").is_not_null())
    sums = work.group_by(pl.col("category").cast(pl.String)).agg(pl.col("dur_ns").sum())
    told = {category: ns / run.job.n_steps for category, ns in sums.iter_rows()}
    assert told == pytest.approx(run.job.critical.work_ns, abs=20)
