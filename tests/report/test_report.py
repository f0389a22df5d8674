"""Each format of a report: what stands in it, what cannot get out of it, what is left out."""

import csv
import gzip
import io
import json
import re
import shutil
from collections import Counter
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.measures import measures
from profiler_core.analysis.wording.findings import (
    advice_text,
    amounts_text,
    stake_text,
    together_text,
)
from profiler_core.analysis.wording.measures import value_text
from profiler_core.cli.main import main
from profiler_core.errors import BadInput
from profiler_core.report import pdf as pdf_module
from profiler_core.report.contents import gather
from profiler_core.report.html.document import html_report
from profiler_core.report.markdown import MOST_LINES, markdown, plain
from profiler_core.report.redaction import redacted
from profiler_core.report.tables import tables, to_csv, to_parquet
from profiler_core.report.write import write_report
from profiler_core.session.comparison import Comparison
from tests.analysis.worded import worded
from tests.report import made_up
from tests.report.made_up import CODE, FOLDER, HOST, USER, hostile_contents

pytestmark = pytest.mark.usefixtures("home_of_module")

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_traces" / "breaky"
_LIBRARY = re.compile(r"<script>/\*\*.*?</script>", re.DOTALL)  # plotly.js itself


@pytest.fixture(scope="module")
def contents():
    paths = [SAMPLE / name for name in ("eager", "default", "reduce-overhead")]
    return gather(Comparison.open(paths), now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC))


@pytest.fixture(scope="module")
def html(contents):
    return html_report(contents)


@pytest.fixture(scope="module")
def hostile():
    return hostile_contents()


def without_library(html):
    text = _LIBRARY.sub("", html, count=1)
    assert len(text) < 1_500_000
    return text


class _Page(HTMLParser):
    """Text, tags and attributes as a browser takes them; scripts apart."""

    def __init__(self, html):
        super().__init__()
        self.text, self.scripts, self.links, self.tags = [], [], [], []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self._inside = tag
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        (self.scripts if self._inside == "script" else self.text).append(data)


def test_the_page_says_what_the_analysis_says(contents, html):
    page = _Page(html)
    text = " ".join(page.text)
    for candidate in contents.comparison.candidates:
        assert worded(candidate).grounds[1:] in text
    for measure in measures(contents.comparison):
        for run in range(len(contents.labels)):
            assert value_text(measure, run) in text
    for one in contents.explanations:
        for finding in one.findings:
            assert finding.title in text and advice_text(finding) in text
    for report in contents.compilations[1:]:
        assert all(one.advice in text for one in report.breaks)


def test_an_upper_bound_is_marked_as_one_in_every_format():
    """What a step of one replay leaves to the host can only be bounded."""
    folder = SAMPLE.parent / "customcnn"
    contents = gather(
        Comparison.open([folder / "eager", folder / "reduce-overhead"]),
        now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
    )
    bounds = [one for one in contents.explanations[0].findings if one.is_bound]
    assert bounds
    text, comment = " ".join(_Page(html_report(contents)).text), markdown(contents)
    for one in bounds:
        assert stake_text(one)[0].startswith("≤ ") and stake_text(one)[0] in text
    first = contents.explanations[contents.order[0]].findings[:3]
    assert all(stake_text(one)[0] in comment for one in first if one.is_bound)
    rows = tables(contents)["findings"].filter(pl.col("candidate") == contents.labels[1])
    assert set(rows.filter(pl.col("at_most"))["key"]) == {one.key for one in bounds}


def test_what_findings_come_to_together_stands_in_every_format():
    folder = SAMPLE.parent / "bert"
    contents = gather(
        Comparison.open([folder / "eager", folder / "reduce-overhead"]),
        now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
    )
    findings = contents.explanations[0].findings
    together = together_text(findings)
    assert together.startswith("Together ")
    assert together in " ".join(_Page(html_report(contents)).text)
    assert together_text(findings[:3]) in markdown(contents)


def test_a_comment_sums_up_the_findings_that_it_lists():
    """Of breaky "together 27.4 µs: done together they save more" below 25.5 µs alone."""
    folder = SAMPLE.parent / "breaky"
    contents = gather(Comparison.open([folder / "eager", folder / "default"]))
    findings = contents.explanations[0].findings
    told = markdown(contents).split("**What to do next")[1].split("**Graph breaks")[0]
    (sums,) = [line for line in told.splitlines() if line.endswith("HTML report.")]
    assert len(findings) > 3
    assert sums == (
        "“default is slower than eager” and “2 graph breaks in a step” overlap: the two do not add "
        f"up. {len(findings) - 3} more in the HTML report."
    )


def test_all_formats_say_the_same_of_the_amounts():
    """Of ddp the document said in one line that they do not add up, and that they add up."""
    folder = SAMPLE.parent / "ddp"
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    contents = gather(Comparison.open([folder / "eager", folder / "default"]), now=now)
    findings = contents.explanations[0].findings
    amounts = amounts_text(findings)
    assert amounts.endswith("Together at most 29.2 ms per step: what overlaps counts once.")
    text = " ".join(_Page(html_report(contents)).text)
    assert f"What stands out, the most important first. {amounts}" in text
    assert "they add up" not in text.split("What to do next in default")[1].split("Method")[0]
    assert together_text(findings) in markdown(contents)


def test_it_is_one_file_without_an_address(html):
    assert len(html.encode()) < 10_000_000
    links = [link for link in _Page(html).links if link]
    assert all(link.startswith("#") for link in links), links
    assert "default-src 'none'" in html


def test_equal_contents_give_an_equal_file(contents, html):
    assert html_report(contents) == html


def test_each_link_of_the_contents_leads_somewhere(html):
    targets = set(re.findall(r'id="([\w-]+)"', without_library(html)))
    links = {link[1:] for link in _Page(html).links if link}
    assert links and links <= targets


def test_columns_of_calls_are_called_so(html):
    """Heads "n eager" stood there, a word of the code."""
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", html)
    assert heads.count("calls, eager") == 2  # kernels, and their kinds
    assert not [head for head in heads if head.startswith("n ")]


def test_hostile_names_stay_text_in_html(hostile):
    html = html_report(hostile)
    page = _Page(html)
    assert page.tags.count("script") == html_report(hostile).count("<script")
    assert not any("alert(1)" in script and "<script>" in script for script in page.scripts[1:])
    assert "<script>alert(1)" not in without_library(html)
    assert "alert(1)" in "".join(page.text)  # it is shown, as text
    assert not any("evil.example" in (link or "") for link in page.links)


def test_hostile_names_stay_text_in_markdown(hostile):
    text = markdown(hostile)
    assert "<script>" not in text and "@all" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "http://" not in text and "#1" not in text.replace("&#1", "")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table}) == 1
    assert len(text.splitlines()) <= MOST_LINES


@pytest.mark.parametrize("ending", [".html", ".md"])
def test_a_file_that_a_terminal_shows_does_not_steer_it(ending, tmp_path, monkeypatch):
    monkeypatch.setattr(made_up, "EVIL", "a\x1b[31mb\x1b]8;;http://e\x07c\u202ed\x9b2J")
    path = tmp_path / f"report{ending}"
    write_report(hostile_contents(), path)
    text = path.read_text("utf-8")
    assert not set(text) & set("\x1b\x07\u202e\x9b")


def test_markdown_is_short_and_has_verdict_table_and_findings(contents):
    text = markdown(contents)
    assert len(text.splitlines()) <= MOST_LINES
    assert "| Step time |" in text and "What to do next" in text
    assert "models.py&#58;155: Unsupported Tensor.item()" in text  # each break with its own hint
    assert "Use torch.where or torch.cond, or decide before the compiled region" in text
    for candidate in contents.comparison.candidates:
        assert plain(worded(candidate).headline) in text


def test_markdown_cuts_no_sentence_of_a_verdict():
    """Of bert it ended in “Energy per step…”: all of them were cut as if they were one."""
    folder = SAMPLE.with_name("bert")
    comparison = Comparison.open([folder / "eager", folder / "reduce-overhead"])
    text = markdown(gather(comparison, now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC)))
    assert "the GPU at the same clocks for both." in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a&#124;b"),
        ("a\nb", "a b"),
        ("<b>", "&lt;b&gt;"),
        ("@me", "&#64;&#8203;me"),
        ("#12", "&#35;&#8203;12"),
        ("see GH-12", "see GH-&#8203;12"),
        ("gh-pages, high-12", "gh-pages, high-12"),
        ("http://x", "http&#58;//x"),
        ("is: 5", "is: 5"),
        (":tada:", "&#58;tada:"),
        ("www.x.y", "www&#46;x.y"),
        ("−1.2 ms", "−1.2 ms"),
    ],
)
def test_plain_markdown(text, shown):
    assert plain(text) == shown


def test_csv_holds_no_formula(hostile):
    for name, frame in tables(hostile).items():
        for row in csv.reader(io.StringIO(to_csv(frame).decode())):
            assert not [cell for cell in row if cell[:1] in ("=", "@", "\t", "\r")], name
    kernels = tables(hostile)["kernels"]
    assert kernels["kernel"].str.starts_with("=HYPERLINK").all()
    first = to_csv(kernels).decode().splitlines()[1]
    assert first.startswith("\"'=HYPERLINK")


def test_tables_hold_the_same_numbers(contents):
    made = tables(contents)
    assert set(made) == {
        "measures", "rounds", "waterfall", "fusion_groups", "findings", "kernels", "categories",
        "graph_breaks", "recompiles", "environment",
    }  # fmt: skip
    rows = made["waterfall"].filter(pl.col("candidate") == "default")
    time = contents.comparison.candidates[0].step_time
    assert rows["candidate_ns"].sum() == time.candidate_ns
    assert rows["delta_ns"].sum() == time.candidate_ns - time.baseline_ns
    assert made["rounds"].height == 60
    back = pl.read_parquet(io.BytesIO(to_parquet(made["kernels"])))
    assert back.equals(made["kernels"])


def everything(contents):
    """All formats as one text."""
    parts = [without_library(html_report(contents)), markdown(contents)]
    parts += [to_csv(frame).decode() for frame in tables(contents).values()]
    return "\n".join(parts)


def test_without_redaction_the_secrets_are_there(hostile):
    """Else the next test would find nothing whatever the code did."""
    text = everything(hostile)
    for secret in (HOST, USER, FOLDER, CODE):
        assert secret in text, secret


def test_redaction_leaves_no_path_host_user_or_source_in_any_format(hostile):
    safe = redacted(hostile)
    text = everything(safe)
    for secret in (HOST, USER, FOLDER, "projects", CODE):
        assert secret not in text, secret
    assert "model.py:12" in text  # the file's own name and line stay
    assert "are left out" in text
    shown = [m.label for m in measures(safe.comparison)]
    assert shown == [m.label for m in measures(hostile.comparison)]


def test_redaction_of_a_real_capture(contents):
    text = everything(redacted(contents))
    record = json.loads((SAMPLE / "default" / "run.json").read_text())
    assert record["environment"]["gpu_uuid"] not in text
    assert record["environment"]["python_executable"] not in text
    assert str(SAMPLE) not in text and "/tmp/" not in text and "/home/" not in text
    values = [
        [measure.values for measure in measures(one.comparison)]
        for one in (contents, redacted(contents))
    ]
    assert values[0] == values[1]


def test_the_command_writes_what_it_is_asked_for(tmp_path, capsys):
    outputs = [tmp_path / "a.html", tmp_path / "deep" / "a.md"]
    words = ["report", str(SAMPLE), *(w for path in outputs for w in ("-o", str(path)))]
    assert main([*words, "--tables", str(tmp_path / "t"), "--format", "parquet"]) == 0
    assert all(path.stat().st_size > 1000 for path in outputs)
    assert (tmp_path / "t" / "kernels.parquet").is_file()
    assert str(outputs[0]) in capsys.readouterr().out
    assert not list(tmp_path.glob(".*"))  # nothing half-written is left


@pytest.mark.parametrize("words", [[], ["-o", "report.docx"]])
def test_what_cannot_be_written_is_said_before_any_work(words, capsys):
    assert main(["report", "does-not-exist", *words]) == 2
    said = capsys.readouterr().err
    assert "report" in said and "Traceback" not in said


def test_without_a_browser_a_pdf_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(pdf_module, "_ELSEWHERE", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="needs Chrome or Chromium"):
        pdf_module.pdf("<p>x</p>")


@pytest.fixture(scope="module")
def alone():
    return gather(Comparison.open([SAMPLE / "default"]))


def test_a_run_alone_has_a_title_of_its_own(alone):
    assert "breaky: default" in re.findall("<title>(.*?)</title>", html_report(alone))
    assert markdown(alone).startswith("## breaky: default\n")


def test_a_cut_trace_alone_has_no_tables_without_rows_and_is_not_called_none(tmp_path):
    """It said that the run has no trace, above the kernels of that trace."""
    captures = Path(__file__).parents[1] / "fixtures" / "captures"
    data = gzip.decompress((captures / "smallcnn_cpu.eager" / "trace.json.gz").read_bytes())
    (tmp_path / "broken.json").write_bytes(data[: len(data) // 2])
    made = gather(Comparison.open([tmp_path / "broken.json"]))
    html = html_report(made)
    assert "The run has no whole trace, so where the time went is unknown." in html
    assert "What is left of a cut trace has no number of a whole step." in html
    assert "By what they do" not in html
    assert "</tr></thead><tbody>\n</tbody>" not in html
    assert "broken.json" in markdown(made)


def test_kernels_of_a_cut_trace_are_of_what_is_left_of_it(tmp_path):
    """They were of "a step", which no number of a cut trace is; the pages said it already."""
    captures = Path(__file__).parents[1] / "fixtures" / "captures"
    whole = captures / "customcnn_b1.reduce-overhead" / "trace.json.gz"
    data = gzip.decompress((captures / "customcnn_b1.eager" / "trace.json.gz").read_bytes())
    left = data[: len(data) * 9 // 10]
    (tmp_path / "cut.json").write_bytes(left)
    names = Counter(
        json.loads(name)
        for name in re.findall(rb'"cat": "kernel", "name": ("(?:[^"\\]|\\.)*")', left)
    )
    alone = gather(Comparison.open([tmp_path / "cut.json"]))
    chapter = html_report(alone).partition('<section id="kernels">')[2].partition("</section>")[0]
    assert "Calls and time of each kernel, in the trace." in chapter
    assert "time in the trace, " in chapter
    assert "step" not in re.sub("_step_|[a-z_]+step[a-z_]+", "", chapter)
    # No kernel is left out: those of the steps that are left are all.
    assert sum(row.n(0) for row in alone.kernels) == sum(names.values())
    assert {row.name: row.n(0) for row in alone.kernels} == names
    both = gather(Comparison.open([tmp_path / "cut.json", whole]))
    rows = tables(both)["kernels"]
    cut = rows.filter(pl.col("run").str.starts_with("cut"))
    assert cut["n_per_step"].null_count() == cut.height > 0
    others = rows.filter(~pl.col("run").str.starts_with("cut"))
    per_step = tables(gather(Comparison.open([whole])))["kernels"]
    assert dict(others.select("kernel", "n_per_step").iter_rows()) == dict(
        per_step.select("kernel", "n_per_step").iter_rows()
    )
    assert set(tables(both)["categories"]["run"]) == set(others["run"])


def test_two_files_without_a_workload_are_titled_by_both(tmp_path):
    """Their report was "eager.json.gz: compiled against eager", as if the first were the model."""
    captures = Path(__file__).parents[1] / "fixtures" / "captures"
    for name, variant in (("eager", "eager"), ("compiled", "default")):
        shutil.copy(captures / f"breaky.{variant}" / "trace.json.gz", tmp_path / f"{name}.json.gz")
    files = [tmp_path / "eager.json.gz", tmp_path / "compiled.json.gz"]
    contents = gather(Comparison.open(files))
    assert contents.title == "compiled.json.gz against eager.json.gz"
    assert markdown(contents).startswith("## eager.json.gz and compiled.json.gz: ")


@pytest.mark.parametrize("form", [html_report, markdown])
def test_a_run_alone_says_what_holds_it_back(alone, form):
    text = form(alone)
    finding = alone.alone.findings[0]
    assert "What to do next in default" in text
    assert finding.title in text.replace("\\", "")
    assert "against" not in without_library(text).partition("What each number means")[0]


def test_the_tables_of_a_run_alone_hold_its_findings(alone):
    assert tables(alone)["findings"]["title"].to_list() == [f.title for f in alone.alone.findings]


def test_a_run_alone_is_redacted(alone):
    text = html_report(redacted(alone))
    code = [frame.code for f in alone.alone.findings for frame in f.locations if frame.code]
    assert code and not any(line in without_library(text) for line in code)


def test_report_writes_a_run_alone(tmp_path):
    file = tmp_path / "one.html"
    assert main(["report", str(SAMPLE / "default"), "-o", str(file)]) == 0
    assert "What to do next in default" in file.read_text("utf-8")


def test_the_tables_of_a_job_hold_each_group_on_each_rank():
    job = ROOT / "sample_traces" / "ddp"
    made = tables(gather(Comparison.open([job / "eager", job / "default"])))["groups_over_ranks"]
    assert set(made["rank"]) == {0, 1}
    totals = made.group_by("run", "rank").agg(pl.col("time_ns").sum())
    # On every rank the groups' times sum to its device time, so both runs have all groups.
    assert totals.height == 4
    assert totals["time_ns"].min() > 1e6


def test_markdown_names_the_candidate_whose_difference_it_tells():
    """Under a table of two candidates stood "+49.9 µs" of one of them."""
    runs = ROOT / "sample_traces" / "breaky"
    three = [runs / variant for variant in ("eager", "default", "reduce-overhead")]
    text = markdown(gather(Comparison.open(three)))
    told = re.findall(r"\*\*Where the difference comes from(.*?):\*\*", text)
    assert told and set(told) <= {" in default", " in reduce-overhead"}
    pair = markdown(gather(Comparison.open(three[:2])))
    assert "**Where the difference comes from:**" in pair
