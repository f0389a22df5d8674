"""The pages on runs of openvino and openxla: what they say, and what they do not make up."""

import shutil
from pathlib import Path

import pytest

from profiler_core.store import library
from tests.apps import opened, text_of

pytestmark = pytest.mark.usefixtures("unasked_machine", "quick_modules")

CAPTURES = Path(__file__).resolve().parent / "fixtures" / "captures"
PAIRS = {
    "openvino": "customcnn_openvino",
    "openxla": "simplecnn_openxla",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory, columns):
    place = tmp_path_factory.mktemp("engines")
    (place / "cache").symlink_to(columns)
    for engine, capture in PAIRS.items():
        for run in ("eager", engine):
            shutil.copytree(CAPTURES / f"{capture}.{run}", place / "runs" / engine / run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(place))
        patch.setattr(library, "sample_traces_directory", lambda: place / "samples")
        yield place


@pytest.fixture(scope="module")
def said(home):
    """What a page says about a pair; each opened once."""
    known = {}

    def say(page, engine):
        if (page, engine) not in known:
            pair = {"baseline": f"run/{engine}/eager", "candidate": f"run/{engine}/{engine}"}
            known[page, engine] = text_of(opened(page, **pair))
        return known[page, engine]

    return say


@pytest.mark.parametrize("engine", PAIRS)
@pytest.mark.parametrize("page", ["overview", "kernels", "fusion", "compilation", "memory"])
def test_every_page_opens_and_advises_no_mode_of_inductor(said, page, engine):
    text = said(page, engine)
    assert text
    assert "reduce-overhead" not in text
    assert "max-autotune" not in text


@pytest.mark.parametrize("engine", PAIRS)
def test_one_sentence_says_what_an_engine_hides(said, engine):
    assert f"runs in {engine}, whose calls are opaque" in said("fusion", engine)
    assert f"What {engine} does inside is not in the trace." in said("overview", engine)
    assert f"{engine} keeps its tensors in memory of its own" in said("memory", engine)


def test_the_log_is_not_taken_for_the_whole_compile_time(said):
    assert "openxla itself compiles when it is first called" in said("compilation", "openxla")
    assert "paid back after" not in said("compilation", "openxla")
