"""What this machine can capture: asked of `doctor` in a process of its own, never waited for.

The answer needs an interpreter that imports torch, which takes seconds; the page shows it when
it comes. One answer an interpreter and server.
"""

import subprocess
import sys
import threading
from html import escape

import msgspec
import streamlit as st

from profiler_core.capture import jobs

_REFRESH_S = 1.0
_WITHIN_S = 120.0  # a cold disk and a large torch

_COUNTERS = "hardware counters"  # said beside its own field
# Said about the machine whatever the workload; the rest only where something is missing.
_ALWAYS = ("GPU", "torch")
_LEFT_OUT = ("interpreter", "backends", "compile logs", _COUNTERS)


class Finding(msgspec.Struct, frozen=True):
    """One line of `doctor`: a question, its answer, and what to do where that is not yes."""

    what: str
    state: str
    detail: str
    remedy: str | None = None


class Facts(msgspec.Struct, frozen=True):
    """What the interpreter's probe found, as far as the form needs it."""

    gpus: tuple[dict[str, object], ...] = ()


class Machine(msgspec.Struct, frozen=True):
    """The answer of `doctor --json`, or why there is none."""

    can_capture: bool = False
    facts: Facts = Facts()
    findings: tuple[Finding, ...] = ()
    problem: str | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Names for `--device`, beside auto and cpu."""
        return tuple(f"cuda:{index}" for index in range(len(self.facts.gpus)))

    @property
    def counters_missing(self) -> str | None:
        """Why no hardware counters can be measured, with what to do; None: they can."""
        for finding in self.findings:
            if finding.what == _COUNTERS and finding.state != "yes":
                return f"{finding.detail}. {finding.remedy or ''}".strip()
        return None


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
                timeout=_WITHIN_S,
            )
            self.answer = msgspec.json.decode(said.stdout, type=Machine)
        except subprocess.TimeoutExpired:
            self.answer = Machine(problem="The interpreter did not answer within two minutes.")
        except (OSError, msgspec.MsgspecError):
            self.answer = Machine(problem="The interpreter could not be asked what it has.")


@st.cache_resource(max_entries=8, show_spinner=False, ttl="1h")
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
        if found is None:
            st.html("<p class=fs-note>Asking the interpreter what it has …</p>")
        elif found.problem:
            st.html(f"<p class=fs-note>{escape(found.problem)}</p>")
        else:
            st.html("".join(_line(finding) for finding in _worth_saying(found)))

    st.fragment(follow, run_every=None if is_known else _REFRESH_S)()


def _worth_saying(found: Machine) -> list[Finding]:
    said = [f for f in found.findings if f.what in _ALWAYS]
    missing = [f for f in found.findings if f.state != "yes" and f not in said]
    # A backend that is not installed is nothing that a capture lacks: choosing it says so.
    return said + [
        f for f in missing if f.what not in _LEFT_OUT and not f.what.startswith("backend ")
    ]


def _line(finding: Finding) -> str:
    text = f"{finding.detail}. {finding.remedy or ''}"
    return f"<p class=fs-note><b>{escape(finding.what)}</b> {escape(text)}</p>"
