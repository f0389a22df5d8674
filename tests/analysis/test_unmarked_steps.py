"""A trace that marks no steps beside one that does: how many it holds nobody knows.

One of five steps, recorded without `profiler.step()`, was told as 3.6 times slower per step.
"""

import gzip
import json

import pytest

from profiler_core.analysis.measures import measures
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison
from tests.analysis.ledger.pairs import FIXTURES
from tests.apps import opened, text_of

WHY = "trace of bare marks no steps, so what one step takes is not known"


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The trace of resnet50.default without its marks."""
    trace = json.loads(
        gzip.decompress((FIXTURES / "resnet50.default" / "trace.json.gz").read_bytes())
    )
    kept = [e for e in trace["traceEvents"] if not str(e.get("name")).startswith("ProfilerStep")]
    assert len(kept) < len(trace["traceEvents"])
    path = tmp_path_factory.mktemp("unmarked") / "bare.json"
    path.write_text(json.dumps({**trace, "traceEvents": kept}))
    return path


@pytest.fixture(scope="module")
def marked():
    return FIXTURES / "resnet50.eager" / "trace.json.gz"


def test_nothing_of_it_is_compared_per_step(marked, bare):
    comparison = Comparison.open([marked, bare])
    pair = comparison.pairs[0]
    assert pair.numbers.verdict == "no_verdict"
    assert pair.numbers.unmarked_traces == ("bare.json",)
    assert pair.numbers.step_time.ratio is None
    assert pair.numbers.n_kernels[1] is None
    assert pair.numbers.device_time_ns[1] is None
    assert pair.not_explained is not None and "marks no steps" in pair.not_explained
    told = [row.label for row in measures(comparison.numbers) if row.values[1] is not None]
    assert all("memory" in name.lower() for name in told), told


def test_the_other_way_round_and_beside_a_third_run(marked, bare):
    comparison = Comparison.open([bare, marked, marked.parents[1] / "resnet50.default"])
    assert [c.unmarked_traces for c in comparison.numbers.candidates] == [("bare.json",)] * 2


def test_two_that_mark_none_are_compared_as_wholes(bare):
    pair = Comparison.open([bare, bare]).pairs[0]
    assert pair.numbers.unmarked_traces == ()
    assert pair.not_explained is None


def test_the_command_line_says_why(marked, bare, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    assert main(["compare", str(marked), str(bare)]) == 0
    text = capsys.readouterr().out
    assert "bare.json marks no steps, so what one step takes is not known." in text.split("\n")[0]
    assert "Device time per step" not in text


def test_the_pages_compare_nothing(marked, bare, columns, tmp_path, monkeypatch):
    (tmp_path / "cache").symlink_to(columns)
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    for name, trace in (("marked", marked), ("bare", bare)):
        folder = tmp_path / "runs" / "one" / name
        folder.mkdir(parents=True)
        (folder / f"trace.json{'.gz' if trace.suffix == '.gz' else ''}").write_bytes(
            trace.read_bytes()
        )
    chosen = {"baseline": "run/one/marked", "candidate": "run/one/bare"}
    for page in ("overview", "kernels", "fusion", "modules"):
        text = text_of(opened(page, **chosen)).replace("\\", "")
        assert WHY in text, page
    assert text_of(opened("overview", **chosen)).count(WHY) == 1, "the title says it"
    text = text_of(opened("kernels", **chosen))
    assert "Not compared:" in text and "Kernels in what there is" in text
