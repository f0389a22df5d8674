"""From the spec to a running job, and to the command line that does the same."""

import shlex

import streamlit as st

from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import deeds
from profiler_core.errors import CaptureFailed
from profiler_core.ui.sign_in.asker import asker


def start(spec: CaptureSpec | None, host: str) -> str:
    """Submit the capture as a job, on that machine where one is named; returns its id.

    Raises:
        FusionscopeError: this visitor may not start one, or it does not start (`door.deeds`).
    """
    if spec is None:  # the button is disabled then; a click may still be on its way
        raise CaptureFailed("The form is not complete.", remedy="Look at the form.")
    return deeds.start_capture(asker(), spec, host)


def command_line(spec: CaptureSpec | None, host: str) -> None:
    """Show the words that start the same capture from a shell."""
    if spec is None:
        return
    st.html("<h2 class=fs-h>The same from a shell</h2>")
    elsewhere = [f"--host={host}"] if host else []
    words = ["python", "-m", "profiler_core", "capture", *spec.to_argv(), *elsewhere]
    words += ["--out", "runs/"]
    st.code(shlex.join(words), language="bash", wrap_lines=True)
