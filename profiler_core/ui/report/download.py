"""A report of the chosen runs to download: the command `report` makes it, in a process of its own.

So the file is what the command line writes, and drawing all candidates' figures holds nobody up.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import streamlit as st

import profiler_core
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.report.pdf import find_browser
from profiler_core.ui.choice import Choice

_HTML, _PDF, _MARKDOWN = "HTML", "PDF", "Markdown"
_ENDING = {_HTML: ".html", _PDF: ".pdf", _MARKDOWN: ".md"}
_MIME = {_HTML: "text/html", _PDF: "application/pdf", _MARKDOWN: "text/markdown"}
_WHAT = {
    _HTML: "One file that opens in any browser without a network, with every chart.",
    _PDF: "The same on paper, its summary on the first page.",
    _MARKDOWN: "Verdict, numbers and first findings as a comment on a pull request.",
}
_TIMEOUT_S = 300.0


def offer_report(choice: Choice) -> None:
    """A small menu: the format, whether to leave names out, and the download."""
    if not choice.candidates:
        return
    with st.popover("Report", type="tertiary", icon=":material/description:", width="content"):
        formats = [_HTML, *([_PDF] if _can_print() else []), _MARKDOWN]
        form = st.segmented_control(
            "Format", formats, default=_HTML, required=True, key="report_format"
        )
        form = form if form in formats else _HTML
        st.caption(_WHAT[form])
        redact = st.checkbox("Leave out folders, host, user and source lines", key="report_redact")
        st.download_button(
            "Download the report",
            data=partial(_made, [e.path for e in choice.entries], _ENDING[form], redact=redact),
            file_name=f"{_file_name(choice)}{_ENDING[form]}",
            mime=_MIME[form],
            type="primary",
            on_click="ignore",
            key="report_download",
        )


def _can_print() -> bool:
    try:
        find_browser()
    except FusionscopeError:
        return False
    return True


def _file_name(choice: Choice) -> str:
    """The workload, as far as a file's name can hold it."""
    word = choice.baseline.run.workload or choice.baseline.run.name or "comparison"
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(word).name)
    return f"report-{kept.strip('-.')[:60] or 'comparison'}"


def _made(runs: Sequence[Path], ending: str, *, redact: bool) -> bytes:
    """The finished file. Streamlit calls this in a thread of its own, and logs what it raises."""
    with tempfile.TemporaryDirectory(prefix="fusionscope-report-") as folder:
        path = Path(folder, f"report{ending}")
        argv = [
            sys.executable,
            "-m",
            "profiler_core",
            "report",
            *(str(run.resolve()) for run in runs),
        ]
        argv += ["-o", str(path), *(["--redact"] if redact else [])]
        ended = subprocess.run(
            argv,
            cwd=Path(profiler_core.__file__).resolve().parents[1],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
        )
        if ended.returncode:
            said = ended.stderr.decode("utf-8", "replace").strip()
            raise BadInput(f"The report was not made: {said[-400:]}", remedy="Try another format.")
        return path.read_bytes()
