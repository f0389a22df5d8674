"""The dossier of a module, of a pair and of a run alone, and what its kernels say of modules."""

import gzip
import json
from collections import Counter
from math import isclose
from pathlib import Path

import pytest

from profiler_core.analysis.dossier.record import Dossier, Relation
from profiler_core.analysis.item import (
    group_item,
    kernel_item,
    module_item,
    operator_item,
    source_item,
)
from profiler_core.errors import NothingToAnalyse
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.session.run import Run
from profiler_core.session.search import search_index
from profiler_core.ui.dossier.draw import dossier_html
from profiler_core.units import format_duration
from tests.larger import LARGER

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
STACK = LARGER / "captures" / "resnet50_b1.eager+stack"
BLOCK = "ResNet_0.Sequential_6.Bottleneck_13"
CONVOLUTION = f"{BLOCK}.Conv2d_44"


@pytest.fixture(scope="module")
def alone() -> Comparison:
    return Comparison.open([STACK])


@pytest.fixture(scope="module")
def compiled_alone() -> Comparison:
    return Comparison.open([SAMPLES / "bert" / "default"])


def relation(of: Dossier, kind: str) -> Relation:
    return next(relation for relation in of.relations if relation.kind == kind)


def kernels_in(module: str) -> tuple[Counter[str], int]:
    """us by name of what is launched while a module is called, and the steps, from the JSON."""
    events = json.loads(gzip.decompress((STACK / "trace.json.gz").read_bytes()))["traceEvents"]
    whole = [event for event in events if event.get("ph") == "X"]
    spans = [
        (event["ts"], event["ts"] + event["dur"])
        for event in whole
        if event["name"] == f"nn.Module: {module}"
    ]
    launched = {
        event["args"]["correlation"]
        for event in whole
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
        and any(begin <= event["ts"] < end for begin, end in spans)
    }
    times: Counter[str] = Counter()
    for event in whole:
        is_work = event.get("cat") in ("kernel", "gpu_memset", "gpu_memcpy")
        if is_work and event["args"]["correlation"] in launched:
            times[event["name"]] += event["dur"]
    return times, sum(event["name"].startswith("ProfilerStep#") for event in whole) // 2


def test_a_module_of_a_run_alone_has_its_kernels_operators_and_modules(alone: Comparison) -> None:
    """Its search hit led to "No fusion group of these runs lies in the module"."""
    (hit,) = search_index(alone).search("Conv2d_44", 5)
    made = dossier(alone, hit.item)
    times, n_steps = kernels_in("Conv2d_44")
    listed = {entry.title: entry.times_ns[0] for entry in relation(made, "kernels").entries}
    assert listed == pytest.approx({name: 1000 * us / n_steps for name, us in times.items()})
    assert (
        made.times[0].time_ns == pytest.approx(hit.step_ns) == pytest.approx(sum(listed.values()))
    )
    assert made.answer == "32.5 µs per step."
    assert [entry.title for entry in relation(made, "operators").entries] == ["aten::conv2d"]
    assert all(each.heads == (alone.labels[0],) for each in made.relations)
    (line,) = (each for each in made.missing if each.startswith("Which line"))
    assert line.endswith("Python calls in a trace have the line where a function begins.")
    assert made.about == ("It is called in resnet.py:143 forward.",)
    assert not any("generated" in each for each in made.missing)  # nothing was

    block = dossier(alone, module_item(BLOCK))
    assert block.about == ("It runs resnet.py:143 forward.",)
    inside = relation(block, "modules").entries
    assert inside[0].item == module_item(CONVOLUTION)
    assert inside[0].times_ns == (made.times[0].time_ns,)
    longest = [entry.most_ns for entry in inside]
    assert longest == sorted(longest, reverse=True)
    assert "Modules in it" in dossier_html(block)


def beside_a_copy(folder: Path, *, with_calls: bool) -> Comparison:
    """The eager run and a copy of it, with its Python calls or without them."""
    trace = json.loads(gzip.decompress((STACK / "trace.json.gz").read_bytes()))
    if not with_calls:
        trace["traceEvents"] = [
            event for event in trace["traceEvents"] if event.get("cat") != "python_function"
        ]
    (folder / "copy").mkdir()
    packed = gzip.compress(json.dumps(trace).encode(), compresslevel=1)
    (folder / "copy" / "trace.json.gz").write_bytes(packed)
    return Comparison.open([STACK, folder / "copy"])


def test_a_module_of_an_eager_pair_has_what_each_run_alone_tells(
    alone: Comparison, tmp_path: Path
) -> None:
    """Function and operators were missing, and a log was asked for of what nobody compiled."""
    pair = beside_a_copy(tmp_path, with_calls=True)
    for module, about in (
        (BLOCK, "It runs resnet.py:143 forward."),
        (CONVOLUTION, "It is called in resnet.py:143 forward."),
    ):
        made, of_alone = (dossier(runs, module_item(module)) for runs in (pair, alone))
        assert made.about == of_alone.about == (about,)
        operators = {e.title: e.times_ns for e in relation(of_alone, "operators").entries}
        assert operators == {
            e.title: (before,)
            for e in relation(made, "operators").entries
            for before, after in [e.times_ns]
            if before == pytest.approx(after)
        }
        assert made.missing == of_alone.missing
    (group, *_) = relation(made, "became").entries
    assert group.item is not None
    assert not any("generated" in each for each in dossier(pair, group.item).missing)
    (hit,) = search_index(pair).search("resnet.py:143 Conv2d_44", 5)
    assert (hit.title, hit.detail) == (CONVOLUTION, "Conv2d · resnet.py:143 forward")


def test_the_run_that_tells_a_function_is_named_beside_one_that_does_not(tmp_path: Path) -> None:
    pair = beside_a_copy(tmp_path, with_calls=False)
    (about,) = dossier(pair, module_item(BLOCK)).about
    assert about == f"In {pair.labels[0]} it runs resnet.py:143 forward."


def test_what_was_generated_is_asked_for_where_the_candidate_is_compiled(tmp_path: Path) -> None:
    for variant in ("eager", "default"):
        (tmp_path / variant).mkdir()
        trace = SAMPLES / "customcnn" / variant / "trace.json.gz"
        (tmp_path / variant / "trace.json.gz").write_bytes(trace.read_bytes())
    for candidate, is_asked in (("default", True), ("eager", False)):
        pair = Comparison.open([SAMPLES / "customcnn" / "eager", tmp_path / candidate])
        made = dossier(pair, group_item(1, 0))
        assert any(each.startswith("What was generated") for each in made.missing) is is_asked


@pytest.mark.parametrize("run", ["alone", "compiled_alone"])
def test_each_module_that_the_page_lists_opens(run: str, request: pytest.FixtureRequest) -> None:
    runs: Comparison = request.getfixturevalue(run)
    tree = runs.baseline.divided.modules
    rows = [row for row in (*tree.rows, *tree.by_class) if row.path]
    assert len(rows) > 100
    for row in rows:
        made = dossier(runs, module_item(row.path))
        assert made.times[0].time_ns == row.step_ns(1)
        kernels_ns = sum(entry.most_ns for entry in relation(made, "kernels").entries)
        is_whole = isclose(kernels_ns, row.step_ns(1), rel_tol=1e-3)
        assert bool(relation(made, "kernels").sentence) is not is_whole


def test_modules_are_found_by_the_function_that_memory_names(alone: Comparison) -> None:
    """ "Conv2d_44 · resnet.py:143 forward" stood on Memory, and search found nothing."""
    live = alone.baseline.memory.live
    (hit,) = search_index(alone).search("resnet.py:143 Conv2d_44", 5)
    assert (hit.title, hit.detail) == (CONVOLUTION, "Conv2d · resnet.py:143 forward")
    assert BLOCK in {each.title for each in search_index(alone).search("resnet.py:143", 5)}
    functions = alone.baseline.module_functions
    assert live is not None
    told = [row for row in live.rows if row.module is not None and row.source is not None]
    assert told
    for row in told:
        (path,) = (path for path in functions if path.rpartition(".")[2] == row.module)
        assert row.source in (*functions[path].own, *functions[path].around)


def test_lines_of_a_compiled_run_alone_are_found_and_open(compiled_alone: Comparison) -> None:
    made = dossier(compiled_alone, module_item("encoder.layer.3.attention.self.query"))
    assert made.sources
    assert made.missing == ()
    for line in made.sources:
        item = source_item(line.label)
        assert item in {hit.item for hit in search_index(compiled_alone).search(line.label, 5)}
        of_line = dossier(compiled_alone, item)
        assert "encoder.layer.3.attention.self.query" in of_line.modules
    (shared,) = dossier(compiled_alone, source_item("modeling_bert.py:101")).about
    assert shared.endswith("a line has an equal part.")  # no baseline says what each took


def test_a_kernel_of_a_run_alone_says_its_modules_and_that_no_line_is_known(
    alone: Comparison,
) -> None:
    """They stood on page Modules alone."""
    name = relation(dossier(alone, module_item(CONVOLUTION)), "kernels").entries[0].title
    for item in (kernel_item(name), operator_item("aten::conv2d")):
        made = dossier(alone, item)
        assert CONVOLUTION in made.modules
        assert sum(each.startswith("Which line") for each in made.missing) == 1
        assert not any(each.startswith("The module") for each in made.missing)


def test_where_no_file_names_modules_a_run_alone_says_so() -> None:
    runs = Comparison.open([SAMPLES / "customcnn" / "eager"])
    for item in (kernel_item(runs.kernels[0].name), operator_item("aten::conv2d")):
        missing = dossier(runs, item).missing
        assert "The module is not known: no file names modules by path." in missing


def test_groups_that_work_for_other_modules_too_are_said_to_be_listed_whole() -> None:
    """Kernels of 1.01 ms stood below a module of 845 µs without a word."""
    runs = Comparison.open([SAMPLES / "resnet50" / name for name in ("eager", "default")])
    tree = runs.pairs[0].divided.modules
    n_shared = 0
    for row in tree.rows[2:30]:
        made = dossier(runs, module_item(row.path))
        groups, kernels = relation(made, "became"), relation(made, "kernels")
        wholes = [sum(entry.times_ns[side] or 0.0 for entry in groups.entries) for side in (0, 1)]
        is_whole = all(
            isclose(time.time_ns or 0.0, whole, rel_tol=1e-3)
            for time, whole in zip(made.times, wholes, strict=True)
        )
        n_shared += not is_whole
        for what, each in (
            ("its fusion groups", groups),
            ("kernels of its fusion groups", kernels),
        ):
            whole = f"All {what} are listed, whole, which may work for other modules too."
            assert each.sentence == ("" if is_whole else whole)
        is_shared = any(side.shared_ns for side in row.sides)
        assert is_shared is any("its part of kernels that work for" in text for text in made.about)
    assert n_shared


def test_what_is_left_of_a_cut_trace_has_no_time_per_step(tmp_path: Path) -> None:
    plain = gzip.decompress((STACK / "trace.json.gz").read_bytes())
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(plain[: len(plain) * 3 // 5], compresslevel=1))
    made = dossier(Comparison.open([path]), module_item(BLOCK))
    assert made.answer == "" and made.times[0].unknown
    entries = [entry for each in made.relations for entry in each.entries]
    assert entries and not any(entry.most_ns for entry in entries)
    assert not any("calls" in entry.note for entry in entries)
    assert made.missing[0].startswith("What a step takes is not known")


@pytest.mark.parametrize("name", ["ddp", "customcnn", "resnet50", "bert"])
def test_the_lines_of_a_module_call_it(name: str) -> None:
    """71 of 126 of ResNet-50's had lines of the layers that their kernels are fused with, too."""
    comparison = Comparison.open([SAMPLES / name / variant for variant in ("eager", "default")])
    paths = [row.path for row in comparison.pairs[0].divided.modules.rows[1:]]
    leaves = [
        path
        for path in paths
        if not path.startswith("(") and not any(other.startswith(f"{path}.") for other in paths)
    ]
    assert leaves
    for path in leaves:
        attribute = next(part for part in reversed(path.split(".")) if not part.isdigit())
        sources = dossier(comparison, module_item(path)).sources
        assert sources, path
        for source in sources:
            # Transformers' activation is a module of its own code, which calls torch's.
            is_inside = source.label.startswith("activations.py:")
            assert is_inside or f"self.{attribute}(" in source.frame.code, (path, source.label)


@pytest.mark.parametrize(("run", "is_told"), [("alone", True), ("compiled_alone", False)])
def test_a_log_is_advised_only_where_no_run_has_one(run, is_told, request) -> None:
    """TORCH_TRACE was advised beside the log that it had written."""
    with pytest.raises(NothingToAnalyse) as error:
        dossier(request.getfixturevalue(run), module_item("a.module.of.another.run"))
    assert ("TORCH_TRACE" in error.value.remedy) is is_told
    assert "hoose the runs that the link was made for." in error.value.remedy


def test_a_compiled_backward_alone_is_said_to_be_the_model_s() -> None:
    """simplecnn alone: its convolutions took 33.7 µs, beside eager, with their gradients, 159."""
    folder = SAMPLES / "simplecnn-training"
    alone = Run.open(folder / "default").divided
    backward_ns = sum(
        group.candidate_step_ns
        for group in alone.ledger.groups
        if group.phase == "backward" and group.module == "(model)"
    )
    (note,) = (note for note in alone.ledger.notes if "by lines" in note)
    assert f"{format_duration(backward_ns)} per step of it count for (model)" in note
    pair = Comparison.open([folder / "eager", folder / "default"]).pairs[0]
    assert not any("by lines" in note for note in pair.ledger.notes)
    conv1 = [
        next(row.step_ns(1) for row in tree.rows if row.path == "conv1")
        for tree in (alone.modules, pair.divided.modules)
    ]
    assert 2 * conv1[0] < conv1[1]
