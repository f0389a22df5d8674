"""The kernels of an operator's dossier, held against the plain JSON of a trace."""

import json
import re
from collections import defaultdict
from math import prod
from pathlib import Path
from typing import Any

import pytest

from profiler_core.analysis.item import kernel_item, operator_item
from profiler_core.analysis.wording.roofline import roofline_sentences
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.search import search_index
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.units import format_bytes, format_duration
from tests.reference import ns, read_events

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "simplecnn-training"
OPERATOR = "aten::convolution_backward"
EAGER_BF16 = "eager+bf16-autocast+channels_last"
N_STEPS = 5


def launched_in_steps(events: list[dict[str, Any]]) -> tuple[set[int], int]:
    """Correlations of what is launched in profiled steps, and the number of these."""
    steps = [
        (e["ts"], e["ts"] + e["dur"])
        for e in events
        if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep#")
    ]
    launched = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver")
        and "correlation" in e["args"]
        and any(begin <= e["ts"] < end for begin, end in steps)
    }
    return launched, len(steps)


def launched_inside(run: Path, operator: str) -> dict[str, float]:
    """Name of a kernel -> its time in the calls of an operator, ns per step, by plain JSON."""
    (path,) = run.glob("trace.json*")
    events = read_events(path)
    n_steps = sum(
        e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep") for e in events
    )
    calls = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == operator]
    launches = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    expected: dict[str, float] = defaultdict(float)
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memset", "gpu_memcpy"):
            continue
        launch = launches.get(event["args"]["correlation"])  # None: before the profiled steps
        if launch is not None and any(
            call["tid"] == launch["tid"] and call["ts"] <= launch["ts"] <= call["ts"] + call["dur"]
            for call in calls
        ):
            name = "Memset" if event["cat"] == "gpu_memset" else event["name"]
            expected[name] += float(event["dur"]) * 1000 / n_steps
    return dict(expected)


def test_an_operator_s_kernels_have_their_own_times() -> None:
    """The longest of each call had the whole call's: 85.5 µs a step beside its own 19.5 µs."""
    expected = launched_inside(SAMPLE / "eager", OPERATOR)
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "default"])
    made = dossier(comparison, operator_item(OPERATOR))
    (kernels,) = (part for part in made.relations if part.kind == "kernels")
    told = {
        "Memset" if entry.title.startswith("Memset") else entry.title: entry.times_ns[0]
        for entry in kernels.entries
        if entry.times_ns[0]
    }
    assert told == pytest.approx(expected)
    assert sum(told.values()) == pytest.approx(made.times[0].time_ns)
    for entry in kernels.entries:  # copies and memsets have a dossier, too
        assert entry.item is not None
        assert dossier(comparison, entry.item).title == entry.title


@pytest.mark.parametrize("operator", ["aten::convolution", "aten::addmm"])
def test_an_operator_that_others_call_runs_there(operator: str) -> None:
    """Eager's conv2d and linear call it, compiled code calls it itself: "0 ns, does not run"."""
    runs = [SAMPLE.parent / "customcnn" / variant for variant in ("eager", "default")]
    comparison = Comparison.open(runs)
    made = dossier(comparison, operator_item(operator))
    expected = [sum(launched_inside(run, operator).values()) for run in runs]
    assert [time.time_ns for time in made.times] == pytest.approx(expected)
    caller = {"aten::convolution": "aten::conv2d", "aten::addmm": "aten::linear"}[operator]
    assert made.about[0].startswith(f"In eager {caller} calls it: ")
    assert " in eager and " in made.answer
    assert made.answer.endswith(" in default, per step.")
    (calling,) = (part for part in made.relations if part.kind == "operators")
    assert [entry.item for entry in calling.entries] == [operator_item(caller)]
    (entry,) = (
        entry
        for entry in search_index(comparison).search(operator, 9)
        if entry.item == operator_item(operator)
    )
    assert (entry.step_ns, entry.runs) == (pytest.approx(expected[0]), "eager")


def test_what_became_of_an_operator_that_others_call_is_told_of_these() -> None:
    """ "What it became is not known: no fusion group of these runs has it" of a replay's addmm."""
    runs = [SAMPLE.parent / "bert" / variant for variant in ("eager", "reduce-overhead")]
    made = dossier(Comparison.open(runs), operator_item("aten::addmm"))
    expected = sum(launched_inside(runs[0], "aten::addmm").values())
    assert made.times[0].time_ns == pytest.approx(expected)
    assert made.answer == f"matrix product: {format_duration(expected)} in eager, per step."
    assert not any("What it became" in sentence for sentence in made.missing)


@pytest.mark.parametrize(
    ("model", "operator", "side", "counted"),
    [
        # One product of five is the first linear's, which eager has as linear: 9.84 of 29.4 µs.
        ("simplecnn-training", "aten::mm", 1, "replaces aten::linear"),
        ("bert", "aten::gather", 0, "is inside of aten::embedding"),
    ],
)
def test_calls_that_count_under_another_operator_are_told(
    model: str, operator: str, side: int, counted: str
) -> None:
    """Alone the run had 29.4 µs of the operator, beside the baseline 19.6 and no word of the rest.

    What counts elsewhere is in the time of the operator that the sentence names.
    """
    runs = [SAMPLE.parent / model / variant for variant in ("eager", "default")]
    made = dossier(Comparison.open(runs), operator_item(operator))
    (alone,) = dossier(Comparison.open([runs[side]]), operator_item(operator)).times
    expected = sum(launched_inside(runs[side], operator).values())
    assert alone.time_ns == pytest.approx(expected)
    rest = format_duration(expected - made.times[side].time_ns)
    label = ("eager", "default")[side]
    assert (
        f"In {label} its own calls take {format_duration(expected)} per step: {rest} of it "
        f"{counted} and counts there."
    ) in made.about


def test_calls_that_all_replace_another_operator_count_there_too() -> None:
    runs = [SAMPLE / variant for variant in ("eager", "default")]
    made = dossier(Comparison.open(runs), operator_item("aten::addmm"))
    expected = sum(launched_inside(runs[1], "aten::addmm").values())
    assert made.times[1].time_ns == pytest.approx(expected)
    assert "Its calls in default replace aten::linear and count there, too." in made.about


@pytest.mark.parametrize("order", [("eager", "default"), ("default", "eager")])
def test_an_operator_is_told_alike_whichever_run_is_the_baseline(order: tuple[str, str]) -> None:
    """Beside a compiled baseline batch_norm had no time of its own, and linear counted under mm."""
    comparison = Comparison.open([SAMPLE / variant for variant in order])
    made = dossier(comparison, operator_item("aten::batch_norm"))
    times = {time.label: (time.time_ns, time.n) for time in made.times}
    expected = sum(launched_inside(SAMPLE / "eager", "aten::batch_norm").values())
    assert times["eager"] == (pytest.approx(expected), 2)
    assert times["default"] == (pytest.approx(12823.4), None)  # tests/analysis/test_operator_rows
    assert made.about == (
        "4.96 µs of it in default is its part of kernels that do the work of other operators too, "
        "in proportion to the time that each takes in eager.",
    )
    product = dossier(comparison, operator_item("aten::mm"))
    assert any("9.84 µs of it replaces aten::linear" in sentence for sentence in product.about)
    # A generated kernel of the batch norm's alone names nothing else of its group.
    kernel = dossier(comparison, operator_item("triton_red_fused_native_batch_norm_backward_12"))
    assert not any("max_pool2d" in sentence for sentence in kernel.about)


def test_a_gradient_that_is_not_asked_for_is_not_moved() -> None:
    """The images of a first convolution need none: 9.97 MB were told of 9.18."""
    expected = {}
    for variant in ("eager", "default"):
        (path,) = (SAMPLE / variant).glob("trace.json*")
        call = next(
            event["args"]
            for event in read_events(path)
            if event["name"] == OPERATOR and event["args"]["Input Dims"][1][1] == 3
        )
        gradient, images, weight = (prod(shape) for shape in call["Input Dims"][:3])
        of_images, of_weight, of_bias = json.loads(call["Concrete Inputs"][10].lower())
        assert (of_images, of_weight) == (False, True)
        expected[variant] = 4 * (gradient + images + weight + of_bias * 32)
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "default"])
    (name,) = {row.name for row in comparison.kernels if row.name.startswith("void wgrad_alg0")}
    lines = dossier(comparison, kernel_item(name)).rooflines
    assert {line.label: line.bytes_moved for line in lines} == expected
    assert all(format_bytes(line.bytes_moved or 0) == "9.18 MB" for line in lines)


def test_a_collective_s_kernel_says_what_it_moves_and_how_fast() -> None:
    """It said that inputs and bytes are not known, beside what page Ranks has of them."""
    ddp = SAMPLE.parent / "ddp"
    calls = []
    for folder in (ddp / "eager", ddp / "eager" / "ranks" / "1"):
        (path,) = folder.glob("trace.json*")
        events = read_events(path)
        launched, _ = launched_in_steps(events)
        calls.append(
            [
                (float(e["dur"]), 4 * e["args"]["In msg nelems"])
                for e in sorted(events, key=lambda e: e.get("ts", 0))
                if e.get("cat") == "kernel"
                and e["name"].startswith("nccl")
                and e["args"]["correlation"] in launched
            ]
        )
    size = sum(moved for _, moved in calls[0])
    fastest_us = sum(min(a, b) for (a, _), (b, _) in zip(*calls, strict=True))
    comparison = Comparison.open([ddp / "eager", ddp / "default"])
    name = next(row.name for row in comparison.kernels if row.name.startswith("nccl"))
    made = dossier(comparison, kernel_item(name))
    # Of two ranks the bus moves what the all-reduce does.
    assert (
        f"eager: {format_bytes(size / 3)} per step and rank, at a bus bandwidth of "
        f"{format_bytes(size / fastest_us * 1e6)}/s."
    ) in made.about
    assert not [text for text in made.missing if "Inputs" in text or "Bytes" in text]


def test_a_kernel_of_a_job_says_what_its_calls_beside_collectives_took() -> None:
    """1.97 ms a step stood there without the 3.61 of the trace: 5 of 6 calls were slowed."""
    ddp = SAMPLE.parent / "ddp"
    comparison = Comparison.open([ddp / "eager", ddp / "default"])
    name = next(row.name for row in comparison.kernels if "256x128_8x4_nt" in row.name)
    recorded = []
    for variant in ("eager", "default"):
        (path,) = (ddp / variant).glob("trace.json*")
        events = read_events(path)
        launched, n_steps = launched_in_steps(events)
        calls = [
            ns(e["dur"])
            for e in events
            if e.get("name") == name and e["args"]["correlation"] in launched
        ]
        recorded.append(f"{format_duration(sum(calls) / n_steps)} in {variant}")
    told = (
        "Calls that a collective slows count as they cost without one; as recorded "
        f"all take {' and '.join(recorded)} per step."
    )
    assert recorded[0].replace("\u00a0", " ") == "3.61 ms in eager"
    assert told in dossier(comparison, kernel_item(name)).about
    alone = Comparison.open([SAMPLE / "eager", SAMPLE / "default"])
    name = next(row.name for row in alone.kernels if "wgrad_alg0_engine" in row.name)
    assert not [each for each in dossier(alone, kernel_item(name)).about if "beside" in each]


def test_an_operator_of_a_cpu_has_its_inputs_and_itself_among_its_kernels() -> None:
    """Its trace has shapes, and the dossier said that it has none, and listed no eager kernel."""
    captures = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
    runs = [captures / f"smallcnn_cpu.{variant}" for variant in ("eager", "default")]
    calls = [
        event
        for event in read_events(runs[0] / "trace.json.gz")
        if event.get("cat") == "cpu_op" and event["name"] == "aten::max_pool2d"
    ]
    made = dossier(Comparison.open(runs), operator_item("aten::max_pool2d"))
    shapes = {"×".join(map(str, call["args"]["Input Dims"][0])) for call in calls}
    assert {entry.inputs for entry in made.arguments} == {f"{shape} f32" for shape in shapes}
    assert not [sentence for sentence in made.missing if "Inputs" in sentence]
    (kernels,) = (part for part in made.relations if part.kind == "kernels")
    own = next(entry for entry in kernels.entries if entry.title == "aten::max_pool2d")
    assert own.item == kernel_item("aten::max_pool2d")
    expected_ns = sum(1000 * float(call["dur"]) for call in calls) / N_STEPS
    assert own.times_ns == (pytest.approx(expected_ns, rel=1e-6), None)
    assert len([entry for entry in kernels.entries if entry.times_ns[1]]) == 2


def test_an_operator_of_a_cpu_inside_of_another_one_runs_there() -> None:
    """ "eager does not run here" stood there, "0 ns → 117 ms": aten::linear calls aten::addmm."""
    captures = Path(__file__).resolve().parents[1] / "fixtures" / "captures"
    comparison = Comparison.open([captures / f"smallcnn_cpu.{v}" for v in ("eager", "default")])
    sentence = "In eager it runs inside of aten::linear, whose time has its own."
    for item in (kernel_item("aten::addmm"), operator_item("aten::addmm")):
        made = dossier(comparison, item)
        assert sentence in made.about
        assert [time.inside for time in made.times] == [("aten::linear",), ()]
        assert "in the time of aten::linear" in dossier_html(made)
        assert "does not run here" not in dossier_html(made)
    assert "0 ns" not in made.answer and "per step in default" in made.answer
    generated = next(row.name for row in comparison.kernels if row.name.startswith("graph_0_cpp"))
    assert dossier(comparison, kernel_item(generated)).times[0].inside == ()


def test_a_product_s_kernel_is_held_against_the_peak_with_its_own_time() -> None:
    """A 7×7 convolution at 8.2 % of the peak was told to reach 5 %, by 124 µs of layout kernels."""
    resnet = SAMPLE.parent / "resnet50"
    comparison = Comparison.open([resnet / "eager", resnet / "default"])
    for number, variant in enumerate(("eager", "default")):
        (path,) = (resnet / variant).glob("trace.json*")
        events = read_events(path)
        device_of = {
            event["args"]["correlation"]: event
            for event in events
            if event.get("cat") == "kernel" and "correlation" in event["args"]
        }
        calls = [
            event
            for event in events
            if event.get("cat") == "cpu_op"
            and event["name"] == "aten::convolution"
            and event["args"]["Input Dims"][1] == [64, 3, 7, 7]
        ]
        launched = [
            device_of[event["args"]["correlation"]]
            for call in calls
            for event in events
            if event.get("cat") in ("cuda_runtime", "cuda_driver")
            and event["args"].get("correlation") in device_of
            and event["tid"] == call["tid"]
            and call["ts"] <= event["ts"] <= call["ts"] + call["dur"]
        ]
        name = max(launched, key=lambda event: float(event["dur"]))["name"]
        own_us = sum(float(event["dur"]) for event in launched if event["name"] == name)
        total_us = sum(float(event["dur"]) for event in launched)
        assert total_us > 1.05 * own_us  # layouts and padding beside it
        made = dossier(comparison, kernel_item(name))
        line = next(each for each in made.rooflines if each.label == comparison.labels[number])
        batch, _, height, width = calls[0]["args"]["Input Dims"][0]
        flops = 2 * batch * 64 * (height // 2) * (width // 2) * 3 * 7 * 7
        assert line.flops == flops
        assert line.flops_per_s == pytest.approx(flops * N_STEPS / (own_us * 1e-6), rel=1e-3)
        assert "of its own: " in " ".join(roofline_sentences(line))


BREAKY = SAMPLE.parent / "breaky"
VARIANTS = ("eager", "default", "reduce-overhead")


def test_a_third_run_has_the_kernels_that_an_operator_became_there() -> None:
    """A dot stood for two products of reduce-overhead, 3.36 and 2.49 µs a step."""
    comparison = Comparison.open([BREAKY / variant for variant in VARIANTS])
    made = dossier(comparison, operator_item("aten::linear"))
    (kernels,) = (part for part in made.relations if part.kind == "kernels")
    told = {entry.title: entry.times_ns for entry in kernels.entries}
    for side, variant in enumerate(VARIANTS):
        (path,) = (BREAKY / variant).glob("trace.json*")
        expected: dict[str, float] = defaultdict(float)
        for event in read_events(path):
            name = event.get("name", "")
            if event.get("cat") == "kernel" and name.startswith(("sm80_xmma", "void cu")):
                expected[name] += float(event["dur"]) * 1000 / N_STEPS
        in_run = {name: times[side] for name, times in told.items() if times[side]}
        assert in_run == pytest.approx(expected)


def test_an_operator_has_its_time_in_each_candidate() -> None:
    """reduce-overhead was no row of a table beside which its kernels stood."""
    comparison = Comparison.open([BREAKY / variant for variant in VARIANTS])
    made = dossier(comparison, operator_item("aten::linear"))
    assert [time.label for time in made.times] == list(VARIANTS)
    for time, variant in zip(made.times, VARIANTS, strict=True):
        (path,) = (BREAKY / variant).glob("trace.json*")
        durations = [
            ns(event["dur"])
            for event in read_events(path)
            if event.get("cat") == "kernel" and event["name"].startswith(("sm80_xmma", "void cu"))
        ]
        assert time.time_ns == pytest.approx(sum(durations) / N_STEPS)
    shown = comparison.pairs[comparison.shown_first].labels[1]
    assert f" per step in {shown} (" in made.answer


def test_a_kernel_is_in_a_module_only_in_the_runs_that_run_it_there() -> None:
    """In default the product of `first` is another kernel; this one is of `second` alone."""
    comparison = Comparison.open([BREAKY / variant for variant in VARIANTS])
    (name,) = {row.name for row in comparison.kernels if "cutlass_80_simt_sgemm" in row.name}
    for variant, in_first in zip(VARIANTS, (True, False, False), strict=True):
        (path,) = (BREAKY / variant).glob("trace.json*")
        n = sum(event.get("name") == name for event in read_events(path))
        assert n == N_STEPS * (1 + in_first)
    made = dossier(comparison, kernel_item(name))
    assert made.modules == ("first",)
    assert made.runs_at == {"first": ("eager",), "models.py:154": ("eager",)}
    text = str(dossier_html(made))
    assert re.search(r"In <a [^>]*>first</a> \(eager\)\.", text)
    assert re.search(r">models\.py:154</a> \(eager\)", text)
    unknown = "1 of its 2 fusion groups is not known"
    assert [each.split(":")[0] for each in made.missing if "of its" in each] == [
        f"The line of {unknown}",
        f"The module of {unknown}",
    ]


def test_a_cast_that_a_product_calls_has_its_own_bytes() -> None:
    """Under autocast linear casts weights: its 758 MB in 898 µs were told of the cast's kernel."""
    comparison = Comparison.open([SAMPLE.parent / "resnet50-bf16" / EAGER_BF16])
    (run,) = comparison.runs
    name = next(row.name for row in comparison.kernels if "bfloat16_copy" in row.name)
    (path,) = (SAMPLE.parent / "resnet50-bf16" / EAGER_BF16).glob("trace.json*")
    events = read_events(path)
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    copies = [e for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::copy_"]
    n_bytes = 0
    kernels = [e for e in events if e.get("cat") == "kernel" and e["name"] == name]
    for kernel in kernels:
        ts = launches[kernel["args"]["correlation"]]["ts"]
        (copy,) = (c for c in copies if c["ts"] <= ts <= c["ts"] + c["dur"])
        n_bytes += prod(copy["args"]["Input Dims"][1]) * (4 + 2)
    traffic = run.traffic[name]
    assert (traffic.n_bytes, traffic.kernels_per_call) == (n_bytes, 1.0)
    assert traffic.time_ns == pytest.approx(1000 * sum(e["dur"] for e in kernels))
    assert "of the memory's bandwidth" in dossier(comparison, kernel_item(name)).answer


@pytest.mark.parametrize(
    ("variant", "kernel", "operator", "moved"),
    [
        # Which arguments are read, or are as large as what is written.
        ("eager", "max_pool_backward", "max_pool2d_with_indices_backward", (0, 1, 7)),
        ("eager", "adaptive_average_gradinput", "_adaptive_avg_pool2d_backward", (0, 1)),
        ("default", "adaptive_average_gradinput", "_adaptive_avg_pool2d_backward", (0, 1)),
    ],
)
def test_a_pooling_s_gradient_does_not_read_what_was_pooled(
    variant, kernel, operator, moved
) -> None:
    """Nor has its kernel the time of what fills the result: in generated code it had."""
    events = read_events(SAMPLE / variant / "trace.json.gz")
    call = next(e for e in events if e.get("name") == f"aten::{operator}")["args"]
    item = {"float": 4, "long int": 8}
    expected = sum(prod(call["Input Dims"][n]) * item[call["Input type"][n]] for n in moved)
    comparison = Comparison.open([SAMPLE / variant])
    (name,) = (row.name for row in comparison.kernels if kernel in row.name)
    traffic = comparison.runs[0].traffic[name]
    assert (traffic.n_bytes, traffic.kernels_per_call) == (N_STEPS * expected, 1.0)
    own_us = sum(e["dur"] for e in events if e.get("cat") == "kernel" and e["name"] == name)
    assert traffic.time_ns == pytest.approx(1000 * own_us)
    (line,) = dossier(comparison, kernel_item(name)).rooflines
    assert roofline_sentences(line)[0].startswith(
        f"Moves at least {format_bytes(expected, 'down')} "
    )
    assert not any("totals of its operator" in text for text in roofline_sentences(line))


@pytest.mark.parametrize("variant", ["eager", "default"])
def test_a_kernel_that_puts_values_into_zeros_does_not_write_these(variant) -> None:
    """A loss's gradient has one value a row; `fill_` writes the rest, by a kernel of its own."""
    events = read_events(SAMPLE / variant / "trace.json.gz")
    call = next(e for e in events if e.get("name") == "aten::nll_loss_backward")["args"]
    (n_rows,) = call["Input Dims"][2]
    comparison = Comparison.open([SAMPLE / variant])
    (name,) = (row.name for row in comparison.kernels if "nll_loss_backward" in row.name)
    # Of each row the class is read and a value is written; for all the gradient and the weight.
    assert comparison.runs[0].traffic[name].n_bytes == N_STEPS * (n_rows * (8 + 4) + 4 + 4)


def test_a_layout_kernel_computes_no_convolution_and_has_no_share_of_its_bytes() -> None:
    """Of 1×1 convolutions it is the longest kernel: "1×1 convolution at 13 % of the memory's"."""
    comparison = Comparison.open([SAMPLE.parent / "resnet50" / v for v in ("eager", "default")])
    for row in comparison.kernels:
        if "nchwToNhwcKernel" in row.name:
            assert dossier(comparison, kernel_item(row.name)).answer == "Copy, cast and layout."
