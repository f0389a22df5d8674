"""A file to download, made by a verb of the command line in a process of its own.

So the file is what the command line writes, and making it holds no other session up.
"""

import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

import profiler_core
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.ui.problem_card import problem_card

_TIMEOUT_S = 300.0
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True)
class Order:
    """Which file: `verb RUN… -o FILE options`, the file with this ending."""

    verb: str
    runs: tuple[Path, ...]
    ending: str
    options: tuple[str, ...] = ()


@dataclass
class Making:
    """One order: Streamlit's thread makes it, and the script that offers it says how it ended."""

    order: Order
    error: FusionscopeError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def make(self) -> bytes:
        """The finished file. Streamlit logs what it raises, and shows no word of it.

        Raises:
            BadInput: with what the command said.
        """
        self.error = None
        self.ended.clear()
        try:
            return file_from_command(self.order)
        except FusionscopeError as error:
            self.error = error
            raise
        finally:
            self.ended.set()


@st.fragment
def offer_file(
    label: str, order: Order, *, name: str, mime: str, key: str, is_first: bool = True
) -> None:
    """A button that makes the file and hands it out; where that fails, problem and remedy.

    Args:
        label: of the button.
        order: which file.
        name: of the file, without its ending.
        mime: its type.
        key: of the button; unique on the page.
        is_first: what most people want here, and drawn so.
    """
    making = st.session_state.get(f"{key}_making")
    if making is None or making.order != order:
        making = st.session_state[f"{key}_making"] = Making(order)
    above = st.container()  # what is below the button lies outside of a popover in a low window
    clicked = st.download_button(
        label,
        data=making.make,
        file_name=f"{name}{order.ending}",
        mime=mime,
        type="primary" if is_first else "secondary",
        key=key,
    )
    if clicked:
        _wait(making)
    if making.error is not None:
        with above:
            problem_card(making.error.problem, making.error.remedy)


def _wait(making: Making) -> None:
    """Until it ended; each look lets Streamlit end this run when something else is clicked."""
    spot = st.empty()
    until = time.monotonic() + _TIMEOUT_S
    while not making.ended.wait(_LOOK_EVERY_S) and time.monotonic() < until:
        spot.caption("Making the file")
    spot.empty()


def file_from_command(order: Order) -> bytes:
    """The finished file.

    Raises:
        BadInput: with what the command said.
    """
    verb = order.verb
    with tempfile.TemporaryDirectory(prefix=f"fusionscope-{verb}-") as folder:
        path = Path(folder, f"{verb}{order.ending}")
        runs = (str(run.resolve()) for run in order.runs)
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "profiler_core", verb, *runs, "-o", str(path),
                 *order.options],
                cwd=Path(profiler_core.__file__).resolve().parents[1],
                check=False,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise BadInput(
                f"The file was not made within {_TIMEOUT_S:.0f} s.",
                remedy=f"Run `{verb}` on the command line, which has no such limit.",
            ) from error
        if ended.returncode:
            raise _failure(verb, ended.stderr.decode("utf-8", "replace"))
        return path.read_bytes()


def _failure(verb: str, said: str) -> BadInput:
    """The problem and the remedy that a verb prints as its last two lines (cli/main.py)."""
    problem, _, remedy = said.strip().rpartition("\n")
    if not problem or "Traceback" in problem:
        return BadInput(
            f"The file was not made: {(remedy or 'no word why')[-400:]}",
            remedy=f"Run `{verb}` on the command line to see why.",
        )
    return BadInput(problem.splitlines()[-1][-400:], remedy=remedy[-400:])


def file_name(what: str, workload: str) -> str:
    """`report-resnet50`: what it is and the workload, as far as a file's name can hold it."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(workload).name)
    return f"{what}-{kept.strip('-.')[:60] or 'comparison'}"
