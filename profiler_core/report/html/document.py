"""Puts the chapters into one HTML file that needs no network, and may not use one."""

from html import escape

from profiler_core import __version__
from profiler_core.report.contents import Contents
from profiler_core.report.html.candidate import candidate_chapters
from profiler_core.report.html.charts import Charts, plotly_script, print_script
from profiler_core.report.html.compilation import compilation_chapter
from profiler_core.report.html.kernels import kernels_chapter
from profiler_core.report.html.method import environment_chapter, method_chapter
from profiler_core.report.html.review import review_chapter
from profiler_core.report.html.style import style_sheet
from profiler_core.report.html.summary import summary_page

# The browser itself refuses every request, whatever a name in a trace might smuggle in.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def html_report(contents: Contents) -> str:
    """The whole report. Equal contents give an equal file."""
    charts = Charts()
    chapters = [
        summary_page(contents, charts),
        _contents_list(contents),
        review_chapter(contents),
        *(candidate_chapters(contents, number, charts) for number in contents.order),
        compilation_chapter(contents, charts),
        kernels_chapter(contents, charts),
        environment_chapter(contents),
        method_chapter(contents),
    ]
    title = report_title(contents)
    left_out = (
        " · paths, host, user and source excerpts are left out" if contents.is_redacted else ""
    )
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style_sheet()}</style>{plotly_script()}</head>"
        f"<body><main><header class=top><b>{escape(title)}</b>"
        f"<span>{escape(_date(contents.made_at))}</span></header>{''.join(chapters)}"
        f"<footer>Made by Fusionscope {escape(__version__)} on {escape(_date(contents.made_at))}"
        f"{left_out}.</footer></main>{print_script()}</body></html>\n"
    )


def report_title(contents: Contents) -> str:
    """What was compared, in a few words."""
    record = contents.comparison.baseline.run.record
    subject = record.workload or record.name or "Comparison"
    return f"{subject}: {' against '.join((', '.join(contents.labels[1:]), contents.labels[0]))}"


def _contents_list(contents: Contents) -> str:
    entries = [("review", "What the team says")] if contents.review else []
    entries += [
        (f"candidate-{n}", f"{contents.labels[n + 1]} against {contents.labels[0]}")
        for n in contents.order
    ]
    if any(contents.compilations):
        entries.append(("compilation", "What the compiler did"))
    if contents.kernels:
        entries.append(("kernels", "Kernels"))
    entries += [("environment", "Where it was measured"), ("method", "How it was measured")]
    links = "".join(f'<a href="#{key}">{escape(title)}</a>' for key, title in entries)
    return f"<nav>{links}</nav>"


def _date(iso: str) -> str:
    return iso[:16].replace("T", ", ") + " UTC"
