"""The gate on made-up rounds with answers worked out by hand, and on real rounds resampled."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.gate.answer import annotations, junit_xml, summary_markdown
from profiler_core.analysis.gate.evidence import evidence
from profiler_core.analysis.gate.judgement import gate
from profiler_core.analysis.gate.limits import QUANTITIES, parse_limit
from profiler_core.analysis.headline_metrics import headline_metrics
from profiler_core.analysis.noise import noisy_ratio
from profiler_core.analysis.side import make_side
from profiler_core.errors import BadInput
from profiler_core.model.compilation import CompileLog, GraphBreak, LowerBound
from profiler_core.model.run import Measurement, Numerics
from tests.builders import a_run

ROOT = Path(__file__).parents[3]
BY_KEY = {quantity.key: quantity for quantity in QUANTITIES}
# Captures of an H200, of 20 rounds each. The first are bound by the GPU and their rounds differ by
# 0.1 to 0.4 %; the others are bound by the host, and theirs differ by 4 to 13 %.
CALM = (
    "sample_traces/bert/eager",
    "sample_traces/resnet50/default",
    "sample_traces/resnet50-bf16/reduce-overhead+bf16-autocast+channels_last",
)
NOISY = ("sample_traces/breaky/eager", "sample_traces/customcnn/default")

STEADY = [1_000_000 + 100 * i for i in range(20)]
QUIET = {"interleaved": True, "n_compilations_while_timed": 0}


ON_GPU = {"environment": {"gpu": "NVIDIA H200"}}


def judged(baseline, candidate, *limits, logs=(None, None), repeats=()):
    sides = [make_side(run, None) for run in (baseline, candidate)]
    comparison = compare(sides[0], [sides[1]]).candidates[0]
    judgements = tuple(
        evidence(run.record, headline_metrics(run.record, None, log), None, None, log)
        for run, log in zip((baseline, candidate), logs, strict=True)
    )
    parsed = [parse_limit(BY_KEY[key], text) for key, text in limits]
    return gate(comparison, tuple(sides), judgements, parsed, repeats=repeats)


def outcome(walls, other, limit="+3%", **more):
    measured = {**QUIET, **more}
    runs = (
        a_run(*walls, record=ON_GPU, **measured),
        a_run(*other, variant="default", record=ON_GPU, **measured),
    )
    return judged(*runs, ("step_time", limit)).outcome


def slower(walls, by):
    return [round(wall * (1 + by)) for wall in walls]


def test_the_same_rounds_pass():
    assert outcome(STEADY, STEADY) == "pass"


def test_five_per_cent_more_are_a_regression():
    assert outcome(STEADY, slower(STEADY, 0.05)) == "regression"


def test_a_faster_candidate_passes():
    assert outcome(STEADY, slower(STEADY, -0.3)) == "pass"


def test_a_change_within_the_limit_passes():
    assert outcome(STEADY, slower(STEADY, 0.02)) == "pass"


def test_a_change_above_the_limit_by_less_than_the_noise_cannot_be_judged():
    noisy = [1_000_000 + (40_000 if i % 2 else -40_000) for i in range(20)]
    shuffled = [noisy[i * 7 % 20] for i in range(0, 20)]
    assert outcome(noisy, slower(shuffled[1:] + shuffled[:1], 0.04)) == "cannot judge"


def test_noise_that_would_hide_twice_the_limit_cannot_be_judged():
    wild = [1_000_000 + (200_000 if i % 2 else -200_000) for i in range(20)]
    assert outcome(wild, wild[3:] + wild[:3]) == "cannot judge"


def test_too_few_rounds_cannot_be_judged():
    few = STEADY[:4]
    judgements = judged(
        a_run(*few, **QUIET), a_run(*few, variant="b", **QUIET), ("step_time", "+3%")
    )
    assert judgements.outcome == "cannot judge"
    assert "4 rounds" in judgements.checks[0].sentence


def test_a_compilation_inside_the_rounds_cannot_be_judged():
    assert outcome(STEADY, STEADY, n_compilations_while_timed=2) == "cannot judge"


def test_a_drift_of_the_size_of_the_change_cannot_be_judged_when_not_in_turns():
    drifting = [1_000_000 + 5_000 * i for i in range(20)]  # halves are 5 % apart
    other = slower(drifting, 0.05)
    assert outcome(drifting, other, interleaved=False) == "cannot judge"


def test_drift_counts_only_where_the_runs_were_not_timed_in_turns():
    measurement = a_run(*([1_000_000] * 10 + [1_050_000] * 10), **QUIET).record.measurement
    assert noisy_ratio(measurement, measurement, interleaved=True, on_gpu=True).noise.drift is None
    apart = noisy_ratio(measurement, measurement, interleaved=False, on_gpu=True).noise
    assert apart.drift == pytest.approx(1.05 ** (2 * 2**0.5) - 1)  # of both, to the other's middle
    assert apart.floor >= apart.drift


def test_a_repeat_of_the_baseline_widens_the_noise():
    same = a_run(*slower(STEADY, 0.06), **QUIET).record.measurement
    runs = (
        a_run(*STEADY, record=ON_GPU, **QUIET),
        a_run(*slower(STEADY, 0.05), variant="b", record=ON_GPU, **QUIET),
    )
    assert judged(*runs, ("step_time", "+3%")).outcome == "regression"
    widened = judged(*runs, ("step_time", "+3%"), repeats=[same])
    assert widened.outcome == "cannot judge"
    assert widened.noise.of_repeats == pytest.approx(0.06, abs=0.001)


def test_a_bound_on_the_candidate_itself():
    # ten steps a round: 100 µs per step
    assert outcome(STEADY, STEADY, "110us") == "pass"
    assert outcome(STEADY, STEADY, "90us") == "regression"


def test_an_absolute_change():
    assert outcome(STEADY, slower(STEADY, 0.05), "+10us") == "pass"
    assert outcome(STEADY, slower(STEADY, 0.05), "+2us") == "regression"


def test_another_gpu_cannot_be_judged():
    def on(gpu, **more):
        return a_run(*STEADY, record={"environment": {"gpu": gpu}}, **more, **QUIET)

    judgements = judged(on("NVIDIA H200"), on("NVIDIA A100", variant="b"), ("step_time", "+3%"))
    assert judgements.outcome == "cannot judge"
    assert "NVIDIA A100" in judgements.checks[0].sentence


def test_another_workload_cannot_be_judged():
    def of(workload, **more):
        return a_run(*STEADY, record={"workload": workload}, **more, **QUIET)

    assert judged(of("bert"), of("resnet50", variant="b"), ("step_time", "+3%")).outcome == (
        "cannot judge"
    )


def test_the_same_function_in_two_checkouts_is_the_same_workload():
    def of(workload, **more):
        return a_run(*STEADY, record={"workload": workload}, **more, **QUIET)

    limit = ("step_time", "+3%")
    judgements = judged(of("/a/before/model.py:build"), of("/a/after/model.py:build"), limit)
    assert judgements.outcome == "pass"
    judgements = judged(of("/a/before/model.py:build"), of("/a/after/model.py:other"), limit)
    assert judgements.outcome == "cannot judge"


def test_a_failed_run_cannot_be_judged():
    failed = a_run(*STEADY, record={"status": "failed", "error": "out of memory"}, **QUIET)
    judgements = judged(a_run(*STEADY, **QUIET), failed, ("step_time", "+3%"))
    assert judgements.outcome == "cannot judge"
    assert "out of memory" in judgements.checks[0].sentence


def test_wrong_results_are_a_regression_however_fast():
    wrong = a_run(*slower(STEADY, -0.5), variant="b", numerics=Numerics(verdict="wrong"), **QUIET)
    assert judged(a_run(*STEADY, **QUIET), wrong, ("step_time", "+3%")).outcome == "regression"


def test_missing_data_cannot_be_judged_and_says_which():
    judgements = judged(
        a_run(*STEADY, **QUIET), a_run(*STEADY, variant="b", **QUIET), ("energy", "2J")
    )
    assert judgements.outcome == "cannot judge"
    assert "energy was not measured" in judgements.checks[0].sentence


def test_a_regression_outweighs_what_cannot_be_judged():
    runs = (
        a_run(*STEADY, peak_reserved_bytes=100, **QUIET),
        a_run(*STEADY, variant="b", peak_reserved_bytes=200, **QUIET),
    )
    judgements = judged(*runs, ("energy", "2J"), ("peak_memory", "+3%"))
    assert [check.outcome for check in judgements.checks] == ["cannot judge", "regression"]
    assert judgements.outcome == "regression"


def test_recompiles_are_those_of_the_timed_rounds():
    runs = a_run(*STEADY, **QUIET), a_run(*STEADY, variant="b", interleaved=True,
                                          n_compilations_while_timed=3)  # fmt: skip
    assert judged(*runs, ("recompiles", "2")).outcome == "regression"
    assert judged(*runs, ("recompiles", "3")).outcome == "pass"


def test_breaks_of_logs_that_show_different_things_cannot_pass():
    graph_break = GraphBreak(file="a.py", line=1, function="f", reason="print")
    bound = LowerBound(about="graph_breaks", sentence="This log shows no breaks.")
    full, blind = CompileLog(graph_breaks=(graph_break,)), CompileLog(lower_bound=(bound,))
    runs = a_run(*STEADY, variant="a", **QUIET), a_run(*STEADY, variant="b", **QUIET)
    assert judged(*runs, ("graph_breaks", "+0"), logs=(full, full)).outcome == "pass"
    judgements = judged(*runs, ("graph_breaks", "+0"), logs=(full, blind))
    assert judgements.outcome == "cannot judge"
    assert "This log shows no breaks." in judgements.checks[0].sentence
    assert judged(*runs, ("graph_breaks", "+0"), logs=(blind, full)).outcome == "regression"


def test_what_only_the_baselines_log_hides_keeps_no_candidate_from_its_limit():
    """Of a graph without a break beside an eager run, whose log holds nothing, "cannot judge"."""
    bound = LowerBound(about="graph_breaks", sentence="This text holds no record of graph_breaks.")
    logs = CompileLog(lower_bound=(bound,)), CompileLog()
    runs = a_run(*STEADY, variant="eager", **QUIET), a_run(*STEADY, variant="default", **QUIET)
    for limit in ("0", "+0"):
        check = judged(*runs, ("graph_breaks", limit), logs=logs).checks[0]
        assert (check.outcome, check.baseline, check.candidate) == ("pass", 0, 0)
    assert judged(*runs, ("graph_breaks", "0"), logs=logs[::-1]).outcome == "cannot judge"


def test_eager_has_no_compile_time_as_on_every_page():
    """ "0 ns → 24.1 s" stood there."""
    runs = (
        a_run(*STEADY, variant="eager", **QUIET),
        a_run(*STEADY, variant="default", first_call_ns=24_100_000_000, **QUIET),
    )
    judgements = judged(*runs, ("compile_time", "60s"), ("compile_time", "+0%"))
    kept, beyond = judgements.checks
    assert (kept.outcome, beyond.outcome) == ("pass", "regression")
    assert kept.sentence == "– → 24.1 s, the limit 60s."
    assert beyond.sentence == "– → 24.1 s, the limit +0% is 0."
    assert "0 ns" not in summary_markdown(judgements, "a")


@pytest.mark.parametrize(
    ("key", "text", "amount", "is_change", "is_fraction"),
    [
        ("step_time", "+3%", 0.03, True, True),
        ("step_time", "-5 %", -0.05, True, True),
        ("step_time", "+100us", 100e3, True, False),
        ("step_time", "5ms", 5e6, False, False),
        ("peak_memory", "1.2GB", 1.2e9, False, False),
        ("peak_memory", "+1GiB", 2**30, True, False),
        ("kernels", "+2", 2, True, False),
        ("cudagraph_coverage", "90%", 0.9, False, False),
        ("cudagraph_coverage", "-2%", -0.02, True, False),
        ("energy", "50mJ", 0.05, False, False),
    ],
)
def test_limits(key, text, amount, is_change, is_fraction):
    limit = parse_limit(BY_KEY[key], text)
    assert limit.amount == pytest.approx(amount)
    assert (limit.is_change, limit.is_fraction) == (is_change, is_fraction)


@pytest.mark.parametrize(
    ("key", "text"),
    [("step_time", "3%"), ("step_time", "5"), ("step_time", "x"), ("kernels", "+3ms"),
     ("peak_memory", "1e9"), ("step_time", ""), ("energy", "+2")],
)  # fmt: skip
def test_what_is_no_limit_says_how_one_looks(key, text):
    with pytest.raises(BadInput) as error:
        parse_limit(BY_KEY[key], text)
    assert "for example" in error.value.remedy


def real_measurement(name):
    record = json.loads((ROOT / name / "run.json").read_text())
    return msgspec.convert(record["measurement"], Measurement, strict=False)


def drawn(measurement, random, factor=1.0):
    """A run that could have been: as many rounds, drawn from the real ones."""
    rounds = measurement.rounds
    picked = [rounds[i] for i in random.integers(0, len(rounds), len(rounds))]
    return a_run(
        *(round(timed_round.wall_ns / timed_round.n_steps * 10 * factor) for timed_round in picked),
        variant="b",
        record=ON_GPU,
        **QUIET,
    )


def resampled(name, n=200):
    """Outcomes of n draws of a run's own rounds against themselves, and against 5 % more."""
    measured = real_measurement(name)
    assert len(measured.rounds) == 20
    random = np.random.default_rng(7)
    limit = ("step_time", "+3%")
    return tuple(
        [
            judged(drawn(measured, random), drawn(measured, random, factor), limit).outcome
            for _ in range(n)
        ]
        for factor in (1.0, 1.05)
    )


@pytest.mark.parametrize("name", CALM)
def test_real_rounds_against_themselves_pass_and_five_per_cent_more_fails(name):
    same, more = resampled(name)
    assert same.count("pass") >= 190, same.count("pass")
    assert more.count("regression") >= 190, more.count("regression")


@pytest.mark.parametrize("name", NOISY)
def test_rounds_that_differ_more_than_the_limit_are_not_called_a_regression(name):
    """Nor does a slowdown pass among them: such rounds cannot be judged, and the gate says so."""
    same, more = resampled(name, n=100)
    assert same.count("regression") <= 1, same.count("regression")
    assert more.count("pass") <= 5, more.count("pass")
    assert more.count("cannot judge") >= 50


def hostile():
    """A label and an error that would break out of whatever holds them."""
    evil = "]]><x a='1'>|\n::error::\x00 `@all` %0A"
    failed = a_run(*STEADY, variant=evil, record={"status": "failed", "error": evil}, **QUIET)
    return judged(a_run(*STEADY, **QUIET), failed, ("step_time", "+3%")), evil


def test_junit_is_xml_whatever_the_names():
    from xml.etree import ElementTree as ET

    answer, evil = hostile()
    suite = ET.fromstring(junit_xml(answer, evil)).find("testsuite")
    assert suite.get("tests") == "1" and suite.get("errors") == "1"
    assert suite.find("testcase/error") is not None


def test_annotations_are_one_line_each():
    lines = annotations(hostile()[0])
    assert len(lines) == 1 and lines[0].startswith("::warning title=Step time")
    assert "\n" not in lines[0] and "%0A" in lines[0]


def test_the_summary_is_a_table_whatever_the_names():
    answer, evil = hostile()
    text = summary_markdown(answer, evil)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {7}
    assert "@all" not in text and "<x" not in text
    assert "&#64;&#8203;all" in text  # GitHub reads entities before it looks for mentions
