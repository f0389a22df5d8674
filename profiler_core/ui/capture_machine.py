"""What this machine can capture: asked of `doctor` in a process of its own, never waited for.

The answer needs an interpreter that imports torch, which takes seconds; the page shows it when
it comes. One answer an interpreter and server.
"""

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from profiler_core.capture import jobs

_REFRESH_S = 1.0
_WITHIN_S = 120.0  # a cold disk and a large torch


@dataclass(frozen=True)
class Machine:
    """Facts as `doctor` gives them, or why there are none."""

    facts: dict[str, Any]
    problem: str | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Names for `--device`, beside auto and cpu."""
        return tuple(f"cuda:{index}" for index in range(len(self.facts.get("gpus") or ())))


class _Asked:
    """One question to one interpreter, asked in a thread of the server."""

    def __init__(self, python: str | None) -> None:
        self.answer: Machine | None = None
        self._python = python
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        command = [sys.executable, "-m", "profiler_core", "doctor", "--json"]
        command += ["--python", self._python] if self._python else []
        try:
            said = subprocess.run(
                command,
                cwd=jobs.working_directory(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_WITHIN_S,
            )
            self.answer = Machine(json.loads(said.stdout))
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            self.answer = Machine({}, f"This machine could not be asked: {type(error).__name__}.")


@st.cache_resource(max_entries=8, show_spinner=False, ttl="10m")
def _asked(python: str | None) -> _Asked:
    return _Asked(python)


def machine(python: str | None) -> Machine | None:
    """The facts, or None while they are being found out."""
    return _asked(python).answer


def machine_card(python: str | None) -> None:
    """Draw what this machine can do; fills itself in when the answer comes."""
    is_known = machine(python) is not None

    def follow() -> None:
        found = machine(python)
        if not is_known and found is not None:
            st.rerun()  # the form offers the devices now
        st.html("<h2 class=fs-h>This machine</h2>")
        if found is None:
            st.html("<p class=fs-note>Asking the interpreter what it has …</p>")
        elif found.problem:
            st.html(f"<p class=fs-note>{escape(found.problem)}</p>")
        else:
            st.html(_facts(found.facts))

    st.fragment(follow, run_every=None if is_known else _REFRESH_S)()


def _facts(facts: dict[str, Any]) -> str:
    lines = [f"<p class=fs-note>{json.dumps(facts)[:300]}</p>"]
    return "".join(lines)
