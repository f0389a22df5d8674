"""`import fusionscope`: what it opens, shows and writes are the command line's own answers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import fusionscope
from profiler_core.cli.main import main
from profiler_core.report.named_figures import FIGURES
from profiler_core.report.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "tests" / "fixtures" / "captures"
BREAKY = (CAPTURES / "breaky.eager", CAPTURES / "breaky.default")


@pytest.fixture(scope="module")
def breaky() -> fusionscope.Comparison:
    return fusionscope.compare(*BREAKY)


@pytest.fixture(scope="module")
def customcnn() -> fusionscope.Comparison:
    """With logs, samples of its GPU and modules."""
    return fusionscope.compare(fusionscope.sample("customcnn"))


def _answered(capsys, *words) -> str:
    assert main([*map(str, words), "--json"]) == 0
    return capsys.readouterr().out


def test_the_json_is_that_of_the_command_line(breaky, capsys):
    assert breaky.to_json() + "\n" == _answered(capsys, "compare", *BREAKY)
    run = fusionscope.open(BREAKY[1])
    assert run.to_json() + "\n" == _answered(capsys, "summary", BREAKY[1])
    entry = {key: value for key, value in breaky[0].to_dict().items() if key != "schema"}
    assert entry == breaky.to_dict()["candidates"][0]


def test_a_folder_of_several_runs_opens_as_their_comparison():
    opened = fusionscope.open(fusionscope.sample("customcnn"))
    assert isinstance(opened, fusionscope.Comparison)
    assert opened.labels[0] == "eager"
    assert [run.label for run in opened.runs] == list(opened.labels)
    assert opened["default"] is opened.pairs[opened.labels.index("default") - 1]
    assert len(opened) == len(list(opened)) == len(opened.labels) - 1


def test_a_run_and_its_path_compare_alike(breaky):
    runs = [fusionscope.open(path) for path in BREAKY]
    assert fusionscope.compare(*runs).to_dict() == breaky.to_dict()


def test_a_url_is_fetched(tmp_path):
    run = fusionscope.open(f"file://{BREAKY[1]}")
    assert run.summary == fusionscope.open(BREAKY[1]).summary
    with pytest.raises(fusionscope.FusionscopeError, match="cannot be read"):
        fusionscope.open(f"file://{tmp_path}/nothing")


def test_records_are_the_engines(breaky):
    pair = breaky.leading
    assert pair is not None
    assert pair.step_time is pair.numbers.step_time
    assert pair.waterfall.baseline_ns > 0
    assert sum(row.delta_ns for row in pair.waterfall.rows) == (
        pair.waterfall.candidate_ns - pair.waterfall.baseline_ns
    )
    assert pair.headline.startswith(breaky.headline.rstrip("."))
    assert breaky.runs[1].compilation is None  # it has no logs


def test_a_repr_is_one_short_line(breaky):
    for shown in (breaky, breaky[0], breaky.runs[0]):
        assert re.fullmatch(r"<(Comparison|Pair|Run)[ :].+>", repr(shown))
        assert len(repr(shown)) < 250
    assert breaky.headline in repr(breaky)


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_draws_in_both_looks(customcnn, name):
    light, dark = customcnn.figure(name), customcnn.figure(name, dark=True)
    assert len(light.data) > 0
    assert light.to_json() != dark.to_json()


def test_a_figure_without_its_data_says_so(breaky):
    with pytest.raises(fusionscope.FusionscopeError, match="nothing to draw as telemetry"):
        breaky.figure("telemetry")


def test_a_run_alone_has_no_waterfall(customcnn):
    run = customcnn.runs[1]
    with pytest.raises(fusionscope.FusionscopeError, match="needs a baseline and a candidate"):
        run.figure("waterfall")
    assert len(run.figure("steps").data) > 0
    assert [trace.name for trace in run.figure("modules").data] == [run.label]
    assert len(customcnn.figure("modules").data) == 2


def test_unknown_names_are_answered_with_those_that_exist(breaky):
    for ask, names in ((breaky.figure, FIGURES), (breaky.table, TABLES)):
        with pytest.raises(fusionscope.FusionscopeError) as caught:
            ask("nonsense")
        assert all(name in caught.value.remedy for name in names)
    with pytest.raises(fusionscope.FusionscopeError, match="default"):
        breaky["nonsense"]
    with pytest.raises(fusionscope.FusionscopeError, match="resnet50"):
        fusionscope.sample("nonsense")


def test_docstrings_name_all_figures_and_tables():
    assert all(f'"{name}"' in fusionscope.Run.figure.__doc__ for name in FIGURES)
    assert all(f'"{name}"' in fusionscope.Run.table.__doc__ for name in TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_a_frame(breaky, name):
    frame = breaky.table(name)
    assert isinstance(frame, pl.DataFrame)
    if name == "kernels":
        assert frame.to_pandas().shape == frame.shape
        assert frame.height == len(set(frame.select("kernel", "run").iter_rows()))


def test_a_report_is_written(breaky, tmp_path):
    path = breaky.report(tmp_path / "x.html")
    assert breaky.headline.split(" is ")[0] in path.read_text("utf-8")
    assert fusionscope.open(BREAKY[0]).report(tmp_path / "run.md").read_text("utf-8")
    with pytest.raises(fusionscope.FusionscopeError, match="ending"):
        breaky.report(tmp_path / "x.docx")


def test_the_html_of_a_comparison_needs_nothing_from_elsewhere(breaky):
    html = breaky._repr_html_()
    assert "<script" not in html
    assert not re.search(r"https?://|url\(|@import|<link", html)
    assert html.count("class=fs-bars") == 2  # in either look
    assert html.count("class=fs-map") == 2
    assert "<h" not in html  # of its own headings a notebook makes a table of contents
    assert len(html) < 200_000
    assert "#15181E" in html
    assert "#E8EAEE" in html


def test_the_html_of_a_run_alone_has_its_step_and_findings(breaky):
    html = breaky.runs[1]._repr_html_()
    assert "fs-steps" in html
    assert "class=fs-bars" not in html
    assert "What to do next" in html


def test_names_of_a_trace_are_escaped_in_the_html():
    comparison = fusionscope.compare(*BREAKY)._comparison
    shown = type(comparison)(comparison.runs, ["<img src=x onerror=alert(1)>", "b"])
    assert "<img" not in fusionscope.Comparison(shown)._repr_html_()


def test_import_brings_neither_torch_nor_polars():
    code = "import sys, fusionscope; dir(fusionscope); print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    modules = {name.partition(".")[0] for name in ended.stdout.split()}
    heavy = {"torch", "polars", "numpy", "plotly", "msgspec", "IPython", "pandas", "fsspec"}
    assert not heavy & modules
    ours = {name for name in ended.stdout.split() if name.startswith(("fusionscope", "profiler_"))}
    assert ours == {"fusionscope", "profiler_core"}


def test_every_name_of_the_package_leads_somewhere():
    assert all(hasattr(fusionscope, name) for name in fusionscope.__all__)
    assert set(fusionscope.__all__) <= set(dir(fusionscope))
    with pytest.raises(AttributeError, match="nonsense"):
        fusionscope.nonsense  # noqa: B018


def test_python_dash_m_is_the_command():
    for module in ("fusionscope", "profiler_core"):
        ended = subprocess.run(
            [sys.executable, "-m", module, "--version"], cwd=ROOT, capture_output=True, text=True
        )
        assert ended.stdout == f"fusionscope {fusionscope.__version__}\n", ended.stderr


def test_the_json_of_to_dict_is_plain(customcnn):
    assert json.loads(customcnn.to_json()) == customcnn.to_dict()
