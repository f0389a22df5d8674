"""Files that hold neither kernels nor operators: each page says what they are, and what to do."""

import json
from html import unescape

import pytest

from profiler_core.analysis.wording.without_work import RECORD_IT
from profiler_core.page_specs import page_spec
from profiler_core.store import library
from tests.apps import opened, text_of
from tests.uploading import accept


def events(category, n, name="work"):
    return [
        {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5,
         "args": {}}
        for i in range(n)
    ]  # fmt: skip


FILES = {
    "chrome": {"traceEvents": events("toplevel", 4) + events("blink", 2)},
    "empty": {"traceEvents": []},
    "python": {"traceEvents": events("python_function", 3, "net.py(3): forward")},
    "cpu": {"traceEvents": events("cpu_op", 3, "aten::linear")},
}
SAID = {
    "chrome": "no profile of PyTorch: it holds 6 events of another program (4 of toplevel and 2 of",
    "empty": "holds no events.",
    "python": "holds neither a kernel nor an operator that computes, only 3 Python calls.",
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """The key of each of these files, uploaded."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(home))
        patch.setattr(library, "sample_traces_directory", lambda: home / "samples")
        yield {
            name: accept({f"{name}.json": json.dumps(document).encode()}).keys[0]
            for name, document in FILES.items()
        }


def read(page, **query):
    app = opened(page, **query)
    return app, unescape(text_of(app)).replace("\\", "")


@pytest.mark.parametrize("page", ["overview", "kernels", "modules", "timeline"])
@pytest.mark.parametrize("name", list(SAID))
def test_a_page_says_what_the_file_is_and_what_to_do(keys, name, page):
    app, text = read(page, baseline=keys[name])
    assert text.count(SAID[name]) == 1
    assert text.count(RECORD_IT) == 1
    # Neither an empty chart, a table of no rows, a download of none, nor a question left open.
    assert not app.get("plotly_chart")
    assert not app.dataframe
    assert not app.get("download_button") or (name, page) == ("python", "timeline")
    assert page == "overview" or page_spec(page).question not in text
    for contradiction in ("Below are operators", "numbers are for the whole", "Measured on the CPU",
                          "CPU is busy", "These numbers"):  # fmt: skip
        assert contradiction not in text


def test_beside_a_run_with_operators_its_kernels_are_shown_alone(keys):
    app, text = read("kernels", baseline=keys["cpu"], candidate=keys["chrome"])
    assert text.count(SAID["chrome"]) == 1
    assert "→ 0 kernels" not in text
    assert list(app.dataframe[0].value.columns) == ["name", "t0", "category", "n0", "whole"]
    _, text = read("kernels", baseline=keys["chrome"], candidate=keys["cpu"])
    assert text.count(SAID["chrome"]) == 1
    assert "3 kernels in the trace" in text  # which marks no steps


@pytest.mark.parametrize("page", ["modules", "fusion"])
def test_beside_a_run_with_operators_nothing_is_called_a_kernel_of_a_gpu(keys, page):
    _, text = read(page, baseline=keys["cpu"], candidate=keys["chrome"])
    assert "the trace of chrome holds neither kernels nor operators" in text
    assert "kernels of a GPU" not in text


def test_what_another_page_can_show_is_drawn_below_the_card(keys):
    measured = "Hold Shift and drag over the timeline"
    assert measured in read("timeline", baseline=keys["python"])[1]
    assert measured not in read("timeline", baseline=keys["chrome"])[1]
