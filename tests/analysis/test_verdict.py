import re
from dataclasses import replace

import pytest

from profiler_core.analysis.compare import compare
from profiler_core.analysis.measures import measures
from profiler_core.analysis.side import make_side
from profiler_core.analysis.summary import summarise
from profiler_core.analysis.verdict import Claim
from profiler_core.analysis.verdict import verdict as judged_of
from profiler_core.analysis.verdict_kind import judge
from profiler_core.analysis.wording.notes import pair_notes
from profiler_core.analysis.wording.sentence import Strong
from profiler_core.analysis.wording.verdict import statement
from profiler_core.model.run import HostLoad, Numerics
from tests.analysis.worded import worded
from tests.builders import a_run, a_step_time, a_trace, kernel, launch, op, step

RIGHT = Numerics(verdict="right", compared="outputs")
WRONG = Numerics(verdict="wrong", rms_error=0.12, baseline_rms_error=1e-6, tolerance=3e-6)
RANDOM = Numerics(verdict="not comparable", reason="two eager runs differ: random")


def verdict(baseline, candidate):
    return worded(compare(baseline, [candidate]).candidates[0])


def timed(wall_ns, variant="default", n=20, **more):
    return make_side(a_run(*[wall_ns] * n, variant=variant, interleaved=True, **more), None)


def test_wrong_results_come_before_any_speed():
    answer = verdict(timed(10_000_000, "eager"), timed(1_000_000, numerics=WRONG))
    assert answer.kind == "wrong_numerics"
    assert answer.headline == (
        "default gives wrong results, so its speed does not count: RMS error 0.12 where 3e-06 is "
        "allowed, eager is off by 1e-06."
    )


def test_faster_has_its_interval():
    answer = verdict(timed(52_200_000, "eager"), timed(26_100_000, numerics=RIGHT))
    assert answer.kind == "faster"
    assert answer.headline == (
        "default is 2.00 times as fast as eager: a step takes 5.22 ms → 2.61 ms "
        "(95 % interval of the speed-up 1.96 to 2.04, 20 interleaved rounds)."
    )
    assert "Its results are right (outputs compared)." in answer.details


def test_slower_says_how_much_longer_a_step_takes():
    answer = verdict(timed(2_000_000, "eager"), timed(3_000_000, first_call_ns=1_000_000_000))
    assert answer.kind == "slower"
    assert "slower than eager: a step takes 1.50 times as long" in answer.headline
    assert any("never pays" in sentence for sentence in answer.details)


def test_the_interval_of_a_slowdown_is_of_how_much_longer_a_step_takes():
    walls = [2_000_000 + 40_000 * (i % 3) for i in range(20)]
    slower = [3_000_000 + 60_000 * (i * 7 % 3) for i in range(20)]
    headline = verdict(
        make_side(a_run(*walls), None), make_side(a_run(*slower, variant="default"), None)
    ).headline
    low, high = map(float, re.search(r"slowdown ([\d.]+) to ([\d.]+)", headline).groups())
    assert 1.3 < low <= 1.5 <= high < 1.7


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_wide_interval_gives_the_direction_without_a_number_that_stands_out(factor):
    """1.14 to 3.39 times, on a host that others kept busy, was a verdict in bold."""
    low, high = sorted((1.14 if factor > 1 else 1 / 1.14, 3.39 if factor > 1 else 1 / 3.39))
    pair = compare(timed(2_000_000, "eager"), [timed(1_000_000)]).candidates[0]
    time = replace(pair.step_time, ratio=factor, interval=(low, high), significant=True)
    wide = replace(
        pair,
        step_time=time,
        verdict=judge(time, None),
        busy_host=HostLoad(others_cpus=7.5, n_cpus=8),
    )
    words = worded(wide)
    which, of = ("faster", "speed-up") if factor > 1 else ("slower", "slowdown")
    assert words.heading == (
        "On a busy host (other processes kept 7.5 of 8 CPUs busy), default is "
        f"{which} than eager, but by how much cannot be told."
    )
    assert f"95 % interval of the {of} 1.14 to 3.39" in words.grounds
    assert not any(isinstance(part, Strong) for part in statement(judged_of(wide)).claim)


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (1.0021, 1.04, "1.002 to 1.040"),
        (0.96, 0.9979, "1.002 to 1.042"),  # how much longer a step takes
        (1.01, 1.04, "1.01 to 1.04"),
    ],
)
def test_an_interval_that_leaves_one_out_reads_so(low, high, told):
    pair = compare(timed(2_000_000, "eager"), [timed(1_000_000)]).candidates[0]
    time = replace(pair.step_time, ratio=(low + high) / 2, interval=(low, high), significant=True)
    beside = replace(pair, step_time=time, verdict=judge(time, None))
    assert f" {told}, " in worded(beside).grounds


def test_a_narrow_interval_has_its_number_stand_out():
    pair = compare(timed(2_000_000, "eager"), [timed(1_000_000)]).candidates[0]
    assert Strong("2.00 times") in statement(judged_of(pair)).claim


def test_a_ratio_that_rounds_to_one_is_never_a_gain():
    answer = verdict(timed(10_000_000, "eager"), timed(9_990_000, first_call_ns=1_000_000_000))
    assert answer.kind == "no_difference"
    assert any(sentence.endswith("; it never pays for itself.") for sentence in answer.details)
    assert "includes 1" in answer.headline


def test_a_narrow_interval_that_holds_one_is_no_difference():
    walls = [1_000_000 + 2_000 * (i * 7 % 20) for i in range(20)]
    other = [1_000_000 + 2_000 * (i * 3 % 20) for i in range(20)]
    answer = verdict(
        make_side(a_run(*walls, interleaved=True), None),
        make_side(a_run(*other, variant="default", interleaved=True), None),
    )
    assert answer.kind == "no_difference"
    assert "makes no difference" in answer.headline
    assert "includes 1" in answer.headline


def test_a_wide_interval_that_holds_one_says_nothing_about_the_difference():
    # Rounds of one and of three milliseconds a step in another order: 0.33 to 3 times.
    walls = [10_000_000 * (1 + 2 * (i * 7 % 20 < 10)) for i in range(20)]
    other = [10_000_000 * (1 + 2 * (i * 3 % 20 < 10)) for i in range(20)]
    comparison = compare(
        make_side(a_run(*walls, variant="eager"), None),
        [make_side(a_run(*other, variant="default", first_call_ns=10**9), None)],
    )
    answer = worded(comparison.candidates[0])
    assert answer.kind == "cannot_be_told"
    assert answer.headline.startswith("Whether default is faster or slower than eager cannot be ")
    low, high = map(float, re.search(r"interval ([\d.]+) to ([\d.]+)", answer.headline).groups())
    assert low <= 0.33 and high >= 3
    (cost,) = (detail for detail in answer.details if "first call" in detail)
    assert cost.endswith("; whether it pays for itself cannot be told.")
    rows = {row.label: row for row in measures(comparison)}
    assert rows["Break-even steps"].word(1) == "cannot be told"
    assert rows["Step time"].judgements == ("unjudged",)


@pytest.mark.parametrize(
    ("interval", "wide"),
    [
        ((0.51, 2.65), True),
        ((0.92, 1.2), True),
        ((0.85, 1.02), True),
        ((0.92, 1.09), False),
    ],
)
def test_the_width_is_judged_on_either_side(interval, wide):
    time = a_step_time(100, 100, interval=interval)
    assert judge(time, None) == ("cannot_be_told" if wide else "no_difference")


def test_one_round_is_a_measurement():
    answer = verdict(timed(10_000_000, "eager", n=1), timed(5_000_000, n=1))
    assert answer.kind == "no_verdict"
    assert answer.headline == (
        "A step takes 1.00 ms with eager and 500 µs with default, measured over 10 steps in one "
        "round each: too few repeats for a verdict."
    )


@pytest.mark.parametrize(
    ("n", "n_steps", "measured"),
    [
        ((3, 3), (118, 3), "354 and 9 steps in 3 rounds each"),
        ((1, 1), (10, 4), "10 and 4 steps in one round each"),
        ((2, 3), (6, 4), "12 steps each in 2 and 3 rounds"),
        ((2, 1), (5, 4), "10 and 4 steps in 2 and 1 rounds"),
    ],
)
def test_each_side_has_its_own_steps_and_rounds(n, n_steps, measured):
    """A round has the more steps, the shorter they are: the fewer stood as those of either."""
    sides = (
        timed(n_steps[0] * 1_000_000, "eager", n=n[0], n_steps=n_steps[0]),
        timed(n_steps[1] * 500_000, n=n[1], n_steps=n_steps[1]),
    )
    assert f"measured over {measured}: too few repeats" in verdict(*sides).headline


def test_two_traces_of_the_cpu_have_no_device():
    def upload(dur):
        trace = a_trace(annotations=[step(0, 0, 9_000_000)], ops=[op(1, dur, "aten::mm")])
        return make_side(a_run(record={"spec": {}}), summarise(trace), label=f"{dur}.json")

    answer = verdict(upload(5_200_000), upload(2_600_000))
    assert answer.headline.startswith("Profiled CPU time per step 5.20 ms → 2.60 ms")


def test_two_uploaded_traces_are_a_measurement():
    def upload(dur, whole):
        trace = a_trace(
            annotations=[step(0, 0, whole)],
            runtime=[launch(0, 1, 1)],
            device=[kernel(1, dur, 1)],
        )
        return make_side(a_run(record={"spec": {}}), summarise(trace), label=f"{dur}.json")

    answer = verdict(upload(5_200_000, 6_000_000), upload(2_600_000, 12_000_000))
    assert answer.kind == "no_verdict"
    assert answer.headline == (
        "Device time per step 5.20 ms → 2.60 ms, the step itself 6.00 ms → 12.0 ms, from "
        "5200000.json to 2600000.json, "
        "profiled over 1 step without repeats: a measurement, not a verdict."
    )


def test_whole_traces_are_not_called_steps():
    """It said "per step … profiled over 1 step" of traces that mark none."""

    def upload(dur):
        trace = a_trace(runtime=[launch(0, 1, 1)], device=[kernel(1, dur, 1)])
        return make_side(a_run(record={"spec": {}}), summarise(trace), label=f"{dur}.json")

    answer = verdict(upload(5_200_000), upload(2_600_000))
    assert answer.kind == "no_verdict"
    assert answer.headline.startswith("Device time in the trace 5.20 ms → 2.60 ms, from start to ")
    assert answer.headline.endswith(
        "from 5200000.json to 2600000.json: neither trace marks steps, so whole traces are "
        "compared, as if both held as many steps: a measurement, not a verdict."
    )


def test_a_failed_candidate_says_why():
    failed = make_side(
        a_run(variant="max-autotune", record={"status": "failed", "error": "out of memory"}), None
    )
    answer = verdict(timed(1_000_000, "eager"), failed)
    assert answer.headline == "max-autotune cannot be judged, its run is failed: out of memory"


def test_details_name_cost_memory_and_unfair_conditions():
    baseline = make_side(
        a_run(
            *[10_000_000] * 20,
            peak_reserved_bytes=2_000_000,
            record={"environment": {"gpu": "H100"}},
        ),
        None,
    )
    candidate = make_side(
        a_run(
            *[5_000_000] * 20,
            variant="default",
            first_call_ns=5_000_500_000,
            warm_first_call_ns=1_000_500_000,
            peak_reserved_bytes=3_000_000,
            numerics=RANDOM,
            record={"environment": {"gpu": "H200"}},
        ),
        None,
    )
    assert verdict(baseline, candidate).details == (
        "Its results could not be checked: two eager runs differ: random.",
        "The first call costs 5.00 s, 1.00 s with a warm cache; it has paid for itself after "
        "10\u202f000 steps.",
        "Peak memory (reserved) 2.00 MB → 3.00 MB.",
        "The runs were not timed in turns, so the 95 % interval of the ratio allows for what two "
        "sessions of one code differ by (±4 %).",
        "The runs differ in more than the variant: gpu (H100 against H200).",
    )


def test_the_ends_of_an_interval_never_look_alike():
    rounds = [5_000_000 + 300 * turn for turn in range(20)]
    eager = make_side(a_run(*rounds, variant="eager", interleaved=True), None)
    answer = verdict(eager, timed(2_500_000))
    low, high = re.search(
        r"interval of the speed-up ([\d.]+) to ([\d.]+),", answer.headline
    ).groups()
    assert float(low) < float(high)


def test_a_peak_that_stays_is_said_once():
    answer = verdict(
        timed(2_000_000, "eager", peak_reserved_bytes=35_700_000),
        timed(1_000_000, peak_reserved_bytes=35_700_000),
    )
    assert "Peak memory (reserved) stays at 35.7 MB." in answer.details


def test_a_trace_without_gpu_events_is_not_compared_with_one_that_has_them():
    host = summarise(a_trace(annotations=[step(0, 0, 20)], ops=[op(0, 10, "aten::relu")]))
    gpu = summarise(
        a_trace(annotations=[step(0, 0, 20)], runtime=[launch(1, 1, 1)], device=[kernel(5, 4, 1)])
    )
    comparison = compare(
        make_side(a_run(), host, label="eager"), [make_side(a_run(), gpu, label="default")]
    )
    answer = worded(comparison.candidates[0])
    assert answer.kind == "no_verdict"
    assert answer.headline == (
        "default and eager cannot be compared: the trace of eager holds no GPU events."
    )
    by_label = {measure.label: measure.values for measure in measures(comparison)}
    assert by_label["Kernels per step"] == (None, 1)
    assert by_label["GPU time per step"] == (None, 4)
    assert "Speed" not in by_label


def test_different_workloads_get_measurements_and_no_judgement():
    bert = timed(66_500_000, "eager", record={"workload": "bert"})
    resnet = timed(27_000_000, record={"workload": "resnet50"})
    comparison = compare(bert, [resnet])
    (candidate,) = comparison.candidates
    sentence = worded(candidate)
    assert (candidate.workloads_differ, sentence.kind) == (True, "no_verdict")
    assert sentence.headline == (
        "eager and default are different workloads: one is bert, the other resnet50, so neither is "
        "faster or slower than the other (a step takes 6.65 ms and 2.70 ms)."
    )
    assert candidate.compile.break_even_steps is None
    judged = {j for measure in measures(comparison) for j in measure.judgements}
    assert judged == {"unjudged"}


def test_another_batch_is_another_workload_and_one_left_to_the_workload_is_not():
    def one(batch, variant):
        spec = {"batch_size": batch, "compile": variant != "eager"}
        return timed(10_000_000, variant, record={"workload": "bert", "spec": spec})

    assert "one has batch_size 8, the other 32" in verdict(one(8, "eager"), one(32, "a")).headline
    assert verdict(one(None, "eager"), one(32, "a")).kind == "no_difference"


def test_an_empty_trace_says_why_there_is_no_number():
    full = make_side(
        a_run(), summarise(a_trace(annotations=[step(0, 0, 99)], device=[kernel(9, 9)])), label="a"
    )
    empty = make_side(a_run(variant="b"), summarise(a_trace()), label="b")
    comparison = compare(full, [empty])
    (candidate,) = comparison.candidates
    assert (candidate.busy_ns[1], candidate.n_kernels[1], candidate.empty_traces) == (
        None,
        None,
        ("b",),
    )
    assert worded(candidate).headline == (
        "b and a cannot be compared: the trace of b holds neither steps nor work of a device."
    )
    assert any("no number to show" in note for note in pair_notes(comparison, 0))


def test_a_claim_is_a_heading_and_its_evidence_a_sentence_below_it():
    answer = verdict(timed(52_200_000, "a: b (1)"), timed(26_100_000, "c: d (2)"))
    assert answer.claim is Claim.FASTER
    assert answer.heading == "c: d (2) is 2.00 times as fast as a: b (1)."
    assert answer.grounds.startswith(
        "A step takes 5.22 ms → 2.61 ms (95 % interval of the speed-up"
    )
    assert answer.headline.startswith(f"{answer.heading[:-1]}: a step takes 5.22 ms")


def compiled(wall_ns, variant, first_call_s, **more):
    """A run of torch.compile whose first call takes so many seconds longer than a step."""
    spec = {"compile": True}
    return timed(
        wall_ns, variant, first_call_ns=int(first_call_s * 1e9) + wall_ns // 10,
        record={"spec": spec}, **more,
    )  # fmt: skip


def break_even(baseline, candidate):
    """(cost, the sentence on it, the table's row) of a pair."""
    comparison = compare(baseline, [candidate])
    (sentence,) = (s for s in worded(comparison.candidates[0]).details if "first call" in s)
    rows = {row.label: row for row in measures(comparison)}
    return comparison.candidates[0].compile, sentence, rows


def test_two_compiled_runs_earn_back_what_the_second_costs_more():
    # 10 s against 4 s to compile, 1 ms saved of each step: 6 000 steps, not 10 000.
    cost, sentence, rows = break_even(
        compiled(20_000_000, "default", 4.0), compiled(10_000_000, "max-autotune", 10.0)
    )
    assert (cost.break_even_steps, cost.beyond_baseline_seconds) == (6_000, 6.0)
    assert sentence == (
        "The first call costs 10.0 s; that is 6.00 s more than compiling default costs, it has "
        "paid for itself after 6\u202f000 steps."
    )
    assert rows["Compile time"].values == (4e9, 10e9)
    assert rows["Break-even steps"].values == (None, 6_000)


@pytest.mark.parametrize("wall_ns", [10_000_000, 30_000_000])
def test_what_costs_no_more_to_compile_has_nothing_to_earn_back(wall_ns):
    cost, sentence, rows = break_even(
        compiled(20_000_000, "max-autotune", 10.0), compiled(wall_ns, "default", 4.0)
    )
    assert cost.break_even_steps is None
    assert sentence == (
        "The first call costs 4.00 s; that is 6.00 s less than compiling max-autotune costs, so "
        "there is nothing to earn back."
    )
    assert rows["Break-even steps"].word(1) == "costs no more"


def test_compiled_alike_there_is_nothing_to_earn_back():
    _, sentence, _ = break_even(
        compiled(20_000_000, "before", 4.0), compiled(10_000_000, "after", 4.0)
    )
    assert sentence == (
        "The first call costs 4.00 s; that is as much as compiling before costs, so there is "
        "nothing to earn back."
    )


def test_a_compiled_baseline_of_unknown_cost_leaves_no_break_even():
    baseline = timed(20_000_000, "default", record={"spec": {"compile": True}})
    cost, sentence, rows = break_even(baseline, compiled(10_000_000, "max-autotune", 10.0))
    assert cost.break_even_steps is None
    assert sentence == (
        "The first call costs 10.0 s; what compiling default cost is not known, so it cannot be "
        "told when the difference is earned back."
    )
    assert rows["Break-even steps"].word(1) == "not known"


@pytest.mark.parametrize("spec", [{"compile": False}, {}])
def test_the_first_call_of_an_eager_baseline_is_no_compile_time(spec):
    baseline = timed(20_000_000, "eager", first_call_ns=9_000_000_000, record={"spec": spec})
    cost, _, rows = break_even(baseline, compiled(10_000_000, "default", 4.0))
    assert (cost.break_even_steps, cost.beyond_baseline_seconds) == (4_000, None)
    assert rows["Compile time"].values == (None, 4e9)
