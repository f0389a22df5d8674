"""What a dossier does not show at once is folded, and counted."""

from pathlib import Path

from profiler_core.analysis.item import kernel_item, operator_item
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html
from tests.reference import read_events

RUN = Path(__file__).resolve().parents[2] / "sample_traces" / "dynshape" / "eager"


def test_a_kernel_s_arguments_and_grids_beyond_the_first_four_are_counted() -> None:
    """Both stopped after four, and nothing said so."""
    (trace,) = RUN.glob("trace.json*")
    events = read_events(trace)
    given = {
        event["args"]["External id"]: (event["name"], str(event["args"]["Input Dims"]))
        for event in events
        if event.get("cat") == "cpu_op" and "Input Dims" in event["args"]
    }
    kernels = [e for e in events if e.get("cat") == "kernel" and "nchwToNhwc" in e["name"]]
    kinds = {given[event["args"]["External id"]] for event in kernels}
    grids = {str([event["args"]["grid"], event["args"]["block"]]) for event in kernels}
    made = dossier(Comparison.open([RUN]), kernel_item(kernels[0]["name"]))
    assert len(kinds) > 4
    assert len(grids) > 4
    assert len(made.arguments) == len(kinds)
    assert len(made.launches[0].grids) == len(grids)
    page = str(dossier_html(made))
    assert f"<summary>{len(kinds) - 4} more</summary>" in page
    assert f" and {len(grids) - 4} more</td>" in page
    assert all(entry.inputs in page for entry in made.arguments)


def test_inputs_that_the_log_tells_are_not_called_unknown() -> None:
    """Of a replayed kernel they were shown, and "not known" further down."""
    sample = RUN.parents[1] / "customcnn"
    pair = [sample / variant for variant in ("eager", "reduce-overhead")]
    comparison = Comparison.open(pair)
    names = [row.name for row in comparison.kernels if row.name.startswith("triton_")]
    made = [dossier(comparison, kernel_item(name)) for name in names]
    told = [each for each in made if each.arguments]
    assert told
    assert not [text for each in told for text in each.missing if "Inputs are not known" in text]


def test_an_operator_s_arguments_are_all_there() -> None:
    """They stopped after twelve."""
    made = dossier(Comparison.open([RUN]), operator_item("aten::conv2d"))
    assert len(made.arguments) > 12
    page = str(dossier_html(made))
    assert f"<summary>{len(made.arguments) - 4} more</summary>" in page
    assert all(entry.inputs in page for entry in made.arguments)
