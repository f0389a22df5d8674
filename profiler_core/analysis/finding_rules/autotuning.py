"""Triton kernels that are tuned while the profiled steps run, and so stand in their times."""

import polars as pl

from profiler_core.analysis.finding_rules.facts import LEAST_SHARE, Facts, Finding, Rule
from profiler_core.analysis.what_if.change import Change
from profiler_core.units import format_count, format_duration

# torch 2.6 on: what tunes a kernel at its first call says so in the trace.
_TUNING = "CachingAutotuner.benchmark_all_configs"


def autotuning_in_steps(facts: Facts) -> Finding | None:
    """A kernel's first call tries its configurations: in a step it is no work of the model's."""
    window = facts.summary.window
    ranges = pl.concat(
        table.filter(pl.col("name").cast(pl.String).str.starts_with(_TUNING)).select(
            "ts_ns", "dur_ns"
        )
        for table in (facts.trace.ops, facts.trace.annotations)
    ).filter(pl.col("ts_ns").is_between(window.start_ns, window.end_ns))
    time = facts.summary.per_step(int(ranges["dur_ns"].sum()))
    profiled = facts.summary.profiled_step_ns
    if not facts.on_gpu or time < LEAST_SHARE * profiled:
        return None
    return Finding(
        key="autotuning_in_steps",
        change=Change("no_tuning"),
        title="Kernels were tuned while the profiled steps ran.",
        evidence=f"{format_count(ranges.height)} kernels tried their configurations: "
        f"{format_duration(time)} of a profiled step of {format_duration(profiled)}.",
        advice="Warm up with every shape that the profiled steps have: a recompilation brings new "
        "kernels, and each is tuned at its first call. Where shapes keep coming, "
        "torch._dynamo.mark_dynamic, or sizes rounded up to a few.",
        page="fusion",
        prediction=facts.at_most(
            facts.pace * time,
            "what else the host and the device would do in that time is not in the trace",
        ),
    )


PLACE = 90
RULES: tuple[Rule, ...] = (autotuning_in_steps,)
