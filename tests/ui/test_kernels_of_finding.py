"""The page of kernels, opened from a finding: the kernels that this one is about, and no other."""

from dataclasses import replace

import pytest

from profiler_core.resources import sample_traces_directory
from profiler_core.session.comparison import Comparison
from profiler_core.ui.kernels.table import kernel_frame
from profiler_core.ui.overview.findings import landing
from tests.apps import checked, opened, text_of

BERT = ("eager", "default")
VARIANTS = [f"{v}+bf16-autocast+channels_last" for v in ("eager", "default", "reduce-overhead")]
KEYS = {"baseline": "sample/bert/eager", "candidate": ["sample/bert/default"]}


@pytest.fixture(autouse=True)
def home(tmp_path, columns, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(columns)


def names(app):
    return set(app.dataframe[0].value["name"])


def test_the_page_shows_all_kernels_of_the_finding_that_led_to_it():
    """Those of its kind stood there, of which the finding may mean few, and one was opened."""
    comparison = Comparison.open([sample_traces_directory() / "bert" / v for v in BERT])
    (finding,) = (f for f in comparison.pairs[0].findings if f.key == "tf32_off")
    assert len(finding.items) == 4
    query = landing(finding, 1, KEYS)
    assert query == {**KEYS, "finding": ["1.tf32_off"], "item": "finding:1.tf32_off"}
    app = opened("kernels", **query)
    assert len(names(app)) == 4
    assert "The 4 kernels of “Matrix products run in plain fp32" in text_of(app)
    (button,) = (button for button in app.button if button.label == "Show all kernels")
    everything = checked(button.click().run())
    assert "finding" not in everything.query_params
    assert len(names(everything)) > 12


def test_a_finding_about_one_kernel_opens_its_dossier():
    comparison = Comparison.open([sample_traces_directory() / "bert" / v for v in BERT])
    (finding,) = (f for f in comparison.pairs[0].findings if f.key == "tf32_off")
    one = replace(finding, items=finding.items[:1])
    assert landing(one, 1, KEYS)["item"] == finding.items[0].text


@pytest.mark.parametrize("key", ["1.slower", "7.tf32_off", "tf32_off", "1.", "x" * 900])
def test_a_finding_that_these_runs_lack_hides_nothing(key):
    assert len(names(opened("kernels", **KEYS, finding=key))) > 12


@pytest.mark.parametrize("query", ["multi_tensor", "memset"])
def test_kernels_that_one_candidate_does_not_run_are_drawn(query):
    """ "This page stopped: TypeError": its column of changes was of nothing but None."""
    runs = ["sample/resnet50-bf16/" + v for v in VARIANTS]
    app = opened("kernels", baseline=runs[0], candidate=runs[1:], q=query)
    assert names(app)


def test_changes_of_nothing_are_numbers_too():
    frame = kernel_frame(["a"], {"d1": [None], "d2": [1.5], "category": ["GEMM"], "whole": ["a"]})
    assert [str(frame[name].dtype) for name in ("d1", "d2")] == ["float64", "float64"]
