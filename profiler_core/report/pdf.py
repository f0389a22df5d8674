"""The HTML report on paper, printed by the Chrome or Chromium that is installed.

The browser gets a profile of its own that is deleted afterwards, and no network.
"""

import os
import shutil
import tempfile
from pathlib import Path

from profiler_core.errors import BadInput
from profiler_core.worker.process import DidNotRun, run_program

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_ELSEWHERE = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
# What Chromium says where the system gives it no namespaces.
_NO_SANDBOX = (b"No usable sandbox", b"Failed to move to new namespace")
_WITHOUT = "FUSIONSCOPE_PDF_WITHOUT_SANDBOX"
_TIMEOUT_S = 180.0  # a busy machine of two cores needs about ten seconds
_DRAWING_MS = 20_000  # of the page's own clock: charts are drawn before it is printed


def pdf(html: str) -> bytes:
    """The document as PDF, A4.

    Args:
        html: of a report.

    Raises:
        BadInput: there is no browser, or it did not print.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="fusionscope-print-") as folder:
        page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(html, encoding="utf-8")
        argv = [
            browser,
            "--headless=new",
            "--disable-gpu",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}/profile",
            f"--virtual-time-budget={_DRAWING_MS}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
            *_without_sandbox(),
            f"{page.as_uri()}#paper",  # charts are drawn in the width of the paper at once
        ]
        try:
            ended = run_program(*argv, within_s=_TIMEOUT_S)
        except DidNotRun as error:
            raise BadInput(
                f"{browser} did not print the report: {error}.",
                remedy="Write it as .html and print it from a browser.",
            ) from error
        if not printed.is_file() or not printed.stat().st_size:
            if any(sign in ended.stderr for sign in _NO_SANDBOX):
                raise BadInput(
                    f"{browser} may not build its sandbox here, as in most containers.",
                    remedy="Allow it user namespaces (docs/deploy.md), or set "
                    f"{_WITHOUT}=1 where the container is fence enough.",
                )
            log_lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
            raise BadInput(
                f"{browser} did not print the report (exit status {ended.returncode}"
                f"{': ' + log_lines[-1][:200] if log_lines else ''}).",
                remedy="Write it as .html and print it from a browser.",
            )
        return printed.read_bytes()


def find_browser() -> str:
    """Path of the browser: $CHROMIUM, or an installed one.

    Raises:
        BadInput: there is none.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        if Path(named).is_file():
            return named
        raise BadInput(f"CHROMIUM={named} is no file.", remedy="Unset it or name a browser.")
    for name in _NAMES:
        executable = shutil.which(name)
        if executable:
            return executable
    for path in _ELSEWHERE:
        if Path(path).is_file():
            return path
    raise BadInput(
        "A PDF needs Chrome or Chromium, and none is installed.",
        remedy="Install one, or write the report as .html and print it from your browser.",
    )


def _without_sandbox() -> tuple[str, ...]:
    """Chromium refuses to run as root with its sandbox on, as in most containers."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return ("--no-sandbox",) if is_root or os.environ.get(_WITHOUT) == "1" else ()
