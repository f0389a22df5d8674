"""What this machine can capture: asked of `doctor` in a process of its own, never waited for.

The answer needs an interpreter that imports torch, which takes seconds; the page shows it when
it comes. One answer an interpreter and server.
"""

import threading
from html import escape

import msgspec
import streamlit as st

from profiler_core.analysis.wording.sentence import ended
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, check_may_capture
from profiler_core.door.interpreters import interpreter_for
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.typed import ready
from profiler_core.ui.sign_in.asker import asker
from profiler_core.ui.sign_in.guard import fragment
from profiler_core.worker.process import DidNotRun

_REFRESH_S = 1.0
_WITHIN_S = 360.0  # doctor gives up before, with a sentence of its own

# Keys of docs/json.md. Said about the machine whatever the workload; the rest only where
# something is missing.
_ALWAYS = ("gpu", "torch")
_REMEDY = "Name the folder of an environment that holds torch 2.1 or newer."

# What the version of torch gives to a capture (keys of docs/json.md).
_OFFERS = (
    "torch_compile",
    "trace",
    "compile_logs",
    "structured_log",
    "source_lines_of_kernels",
    "warm_compile_time",
    "memory",
    "several_ranks",
)
# Counters are said beside their own field, backends and workloads where they are chosen.
_LEFT_OUT = ("interpreter", "backends", "compile_logs", "hardware_counters")
_CHOSEN = ("backend_", "workload_")


class Finding(msgspec.Struct, frozen=True):
    """One line of `doctor`: a question, its answer, and what to do where that is not yes."""

    what: str
    state: str
    detail: str
    remedy: str | None = None
    key: str = ""


class TorchvisionFound(msgspec.Struct, frozen=True):
    """Its models by name, and why an installed one is of no use."""

    models: tuple[str, ...] = ()
    problem: str | None = None


class Facts(msgspec.Struct, frozen=True):
    """What the interpreter's probe found, as far as the form needs it."""

    gpus: tuple[dict[str, object], ...] = ()
    other_devices: dict[str, int] = {}
    torchvision: str | None = None  # its version
    torchvision_found: TorchvisionFound | None = None


class Machine(msgspec.Struct, frozen=True):
    """The answer of `doctor --json`, or why there is none."""

    can_capture: bool = False
    facts: Facts = Facts()
    findings: tuple[Finding, ...] = ()
    problem: str | None = None
    refusal: tuple[str, str] | None = None  # problem and remedy: it was not asked at all

    @property
    def devices(self) -> tuple[str, ...]:
        """Names for `--device`, beside auto and cpu."""
        numbers = {"cuda": len(self.facts.gpus), **self.facts.other_devices}
        return tuple(f"{kind}:{index}" for kind, n in numbers.items() for index in range(n))

    @property
    def unusable(self) -> BadInput | None:
        """Why no capture is possible with this interpreter; None: one is."""
        if self.refusal is not None:
            return BadInput(self.refusal[0], remedy=self.refusal[1])
        if self.can_capture or not self.findings:
            return None
        first = self.findings[0]
        # What doctor says of an interpreter to change it is for a shell.
        remedy = _REMEDY if first.key == "torch" else first.remedy or ""
        return BadInput(ended(first.detail), remedy=remedy)

    def missing_for(self, workload: str) -> BadInput | None:
        """What a built-in workload needs and this environment lacks; None: nothing."""
        for finding in self.findings:
            if finding.key == f"workload_{workload}" and finding.state != "yes":
                return BadInput(f"{workload}: {ended(finding.detail)}", remedy=finding.remedy or "")
        return None

    @property
    def no_torchvision(self) -> BadInput | None:
        """Why no model of torchvision can be captured; None: they can, or it is not known."""
        if not self.can_capture:
            return None
        if self.facts.torchvision is None:
            return BadInput(
                "torchvision is not installed in this environment.",
                remedy="Install it there: pip install torchvision.",
            )
        if self.facts.torchvision_found and self.facts.torchvision_found.problem:
            return BadInput(
                f"torchvision {self.facts.torchvision} cannot be imported in this environment: "
                f"{self.facts.torchvision_found.problem}.",
                remedy="Install the torchvision that fits its torch.",
            )
        return None

    @property
    def counters_missing(self) -> str | None:
        """Why no hardware counters can be measured, with what to do; None: they can."""
        for finding in self.findings:
            if finding.key == "hardware_counters" and finding.state != "yes":
                return f"{ended(finding.detail)} {finding.remedy or ''}".strip()
        return None


class _Question:
    """One question to one interpreter, asked in a thread of the server."""

    def __init__(self, question: deeds.Question) -> None:
        self.answer: Machine | None = None
        threading.Thread(target=self._ask, args=(question,), daemon=True).start()

    def _ask(self, question: deeds.Question) -> None:
        try:
            self.answer = msgspec.json.decode(question.answer(_WITHIN_S), type=ready(Machine))
        except DidNotRun as error:
            self.answer = Machine(
                problem="The interpreter did not answer within six minutes."
                if error.took_too_long
                else f"The interpreter could not be asked what it has: {error}."
            )
        except (ValueError, RecursionError):
            self.answer = Machine(problem="The interpreter could not be asked what it has.")


# What begins with _ is not part of the key.
@st.cache_resource(max_entries=8, show_spinner=False, ttl="1h")
def _question(python: str | None, _who: Asker | None) -> _Question:
    return _Question(deeds.ask_interpreter(_who, python))


def machine(python: str | None) -> Machine | None:
    """The facts, or None while they are being found out; why not, where this may not be asked."""
    who = asker()
    try:
        interpreter_for(python, check_may_capture(who))  # what another asked is no right either
        return _question(python, who).answer
    except FusionscopeError as error:
        return Machine(refusal=(error.problem, error.remedy))


def machine_card(python: str | None) -> None:
    """Draw what this machine and this interpreter can do; fills itself in when the answer comes."""
    is_known = machine(python) is not None

    def follow() -> None:
        answer = machine(python)
        if not is_known and answer is not None:
            st.rerun()  # the form offers the devices now
        if answer is None:
            interpreter = python or "this server's own interpreter"
            st.html(f"<p class=fs-note>Asking {escape(interpreter)} what it has …</p>")
        elif answer.problem:
            st.html(f"<p class=fs-note>{escape(answer.problem)}</p>")
        else:
            st.html(_card(answer))

    fragment(follow, run_every=None if is_known else _REFRESH_S)()
    if is_known and st.button("Ask again", key="fs_c_ask_again", type="tertiary"):
        _question.clear(python, asker())
        st.rerun()


def _card(machine_answer: Machine) -> str:
    if machine_answer.unusable:
        return "<p class=fs-note>Nothing can be captured with it.</p>"
    always = [f for f in machine_answer.findings if f.key in _ALWAYS]
    offers = [f for f in machine_answer.findings if f.key in _OFFERS]
    complete = [f.what for f in offers if f.state == "yes"]
    lines = [_line(finding) for finding in always]
    if complete:
        lines.append(f"<p class=fs-note><b>offers</b> {escape(', '.join(complete))}</p>")
    lines += [_folded(finding) for finding in offers if finding.state != "yes"]
    lines += [
        _line(finding) for finding in _missing(machine_answer) if finding not in (*always, *offers)
    ]
    return "".join(lines)


def _missing(machine_answer: Machine) -> list[Finding]:
    """What else is not there; a workload says so where it is chosen, a backend likewise."""
    return [
        finding
        for finding in machine_answer.findings
        if finding.state != "yes"
        and finding.key not in _LEFT_OUT
        and not finding.key.startswith(_CHOSEN)
    ]


def _folded(finding: Finding) -> str:
    """A loss of this version: its name, and the sentence behind it."""
    word = "without" if finding.state == "no" else "in part:"
    text = f"{ended(finding.detail)} {finding.remedy or ''}"
    return (
        f"<details class='fs-note fs-lost'><summary>{word} <b>{escape(finding.what)}</b></summary>"
        f"{escape(text)}</details>"
    )


def _line(finding: Finding) -> str:
    text = f"{ended(finding.detail)} {finding.remedy or ''}"
    return f"<p class=fs-note><b>{escape(finding.what)}</b> {escape(text)}</p>"
