"""Times of source lines, held against the plain JSON of a trace."""

from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.analysis.ledger.result import LineWork
from profiler_core.analysis.lines import times_by_line
from profiler_core.session.comparison import Comparison
from tests.reference import read_events

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "resnet50"
N_STEPS = 5


@pytest.fixture(scope="module")
def groups():
    return Comparison.open([SAMPLE / "eager", SAMPLE / "default"]).pairs[0].ledger.groups


def test_a_line_takes_what_its_own_operators_launch(groups) -> None:
    """resnet.py:160, `out += identity`, had 1.66 ms: batch norm and relu of lines 155 and 161."""
    lines = {label: code for group in groups for label, code in group.sources}
    (label,) = (label for label, code in lines.items() if code.strip() == "out += identity")
    (path,) = (SAMPLE / "eager").glob("trace.json*")
    events = read_events(path)
    launches = {
        e["args"]["correlation"]: e
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    additions = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::add_"]
    own = 0.0
    for event in events:
        if event.get("cat") == "kernel" and "CUDAFunctor_add" in event["name"]:
            launch = launches.get(event["args"]["correlation"], {"ts": -1})  # of the warm-up
            of_call = [
                a for a in additions if a["ts"] <= launch["ts"] <= a["ts"] + a["dur"]
                and len(a["args"]["Input Dims"][0]) == 4 and a["args"]["Input Dims"][1]
            ]  # fmt: skip
            own += 1000 * float(event["dur"]) * bool(of_call)
    told = sum(times_by_line(group).get(label, (0.0, 0.0))[0] for group in groups)
    assert told == pytest.approx(own / N_STEPS)


@pytest.mark.parametrize("side", [0, 1])
def test_lines_have_all_of_their_groups_and_no_more(groups, side) -> None:
    """18 lines of a training step of 15.7 ms came to 30.6 ms."""
    told = sum(times[side] for group in groups for times in times_by_line(group).values())
    of_groups = [(g.baseline_step_ns, g.candidate_step_ns)[side] for g in groups if g.sources]
    assert told == pytest.approx(sum(of_groups))


@pytest.mark.parametrize("sample", ["dynshape", "customcnn"])
def test_the_line_of_a_convolution_has_the_bias_that_another_s_kernel_adds(sample) -> None:
    """models.py:175 took 21.7 µs, of which conv2, one call in that line, took 22.0.

    Its share of the last kernel: eager adds the bias, then relu in that line, the mean in the next.
    """
    run = SAMPLE.parent / sample
    events = read_events(run / "eager" / "trace.json.gz")
    launches = {
        e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") == "cuda_runtime"
        and "correlation" in e.get("args", {})
    }  # fmt: skip
    ops = sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: e["ts"])
    means = [op for op in ops if op["name"] == "aten::mean"]
    wanted = {"aten::mean": means}
    for name in ("aten::add_", "aten::clamp_min"):  # the last before each mean
        of_name = [op for op in ops if op["name"] == name]
        wanted[name] = [max((o for o in of_name if o["ts"] < m["ts"]), key=_ts) for m in means]
    took = {
        name: sum(
            float(e["dur"])
            for e in events
            if e.get("cat") == "kernel"
            for op in calls
            if op["ts"] <= launches.get(e["args"]["correlation"], -1) <= op["ts"] + op["dur"]
        )
        for name, calls in wanted.items()
    }
    of_line = took["aten::add_"] + took["aten::clamp_min"]
    pair = Comparison.open([run / "eager", run / "reduce-overhead"]).pairs[0]
    (group,) = (
        group
        for group in pair.ledger.groups
        if any("mean" in kernel.name for kernel in group.candidate.kernels)
    )
    first, last = sorted(times_by_line(group))
    share = of_line / (of_line + took["aten::mean"])
    assert times_by_line(group)[first][1] == pytest.approx(group.candidate_step_ns * share)
    assert times_by_line(group)[last][1] == pytest.approx(group.candidate_step_ns * (1 - share))


def _ts(event):
    return event["ts"]


def test_what_no_line_is_known_of_is_all_lines_of_its_group(groups) -> None:
    group = max(groups, key=lambda group: (len(group.sources), group.candidate.time_ns))
    labels = [label for label, _ in group.sources]
    unknown = (LineWork((), group.candidate.time_ns),)
    before = (LineWork(tuple(labels[:1]), group.baseline.time_ns),)
    made = replace(
        group,
        baseline=replace(group.baseline, lines=before),
        candidate=replace(group.candidate, lines=unknown),
    )
    first, *others = times_by_line(made).values()
    assert first == (group.baseline_step_ns, group.candidate_step_ns)
    assert set(others) == {(0.0, 0.0)}
    new = replace(
        made, candidate=replace(group.candidate, lines=(replace(unknown[0], labels=(labels[-1],)),))
    )
    assert times_by_line(new)[labels[-1]] == (0.0, 0.0)  # of what the baseline does by other lines
    equal = replace(made, baseline=replace(group.baseline, lines=()))
    each = group.candidate_step_ns / len(labels)
    assert [after for _, after in times_by_line(equal).values()] == pytest.approx(
        [each] * len(labels)
    )
