"""A file to download, made by a verb of the command line as a job.

So the file is what the command line writes, and making it holds no other session up.
"""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType

import streamlit as st

from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.errors import BadInput, FusionscopeError
from profiler_core.jobs import service as jobs
from profiler_core.jobs.service import Job
from profiler_core.store.orders import Order
from profiler_core.ui.download import download_button
from profiler_core.ui.problem_card import problem_card
from profiler_core.ui.sign_in.asker import asker
from profiler_core.ui.sign_in.guard import fragment

_TIMEOUT_S = 300.0
_LOOK_EVERY_S = 0.2


@dataclass
class Making:
    """One order: Streamlit's thread makes it, and the script that offers it says how it ended."""

    order: Order
    who: Asker | None
    error: FusionscopeError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def make(self) -> bytes:
        """The finished file. Streamlit logs what it raises, and shows no word of it.

        Raises:
            FusionscopeError: this person may not have it, or with what the command said.
        """
        self.error = None
        self.ended.clear()
        try:
            return file_from_command(self.order, self.who)
        except FusionscopeError as error:
            self.error = error
            raise
        finally:
            self.ended.set()


@fragment
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
    making, who = st.session_state.get(f"{key}_making"), asker()
    if making is None or (making.order, making.who) != (order, who):
        making = st.session_state[f"{key}_making"] = Making(order, who)
    above = st.container()  # what is below the button lies outside of a popover in a low window
    clicked = download_button(
        label,
        making.make,
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


def file_from_command(order: Order, who: Asker | None) -> bytes:
    """The finished file, which a job makes.

    Raises:
        FusionscopeError: this person may not have it, or with what the command said; or it takes
            long, and is handed out on page Jobs.
    """
    job_id = deeds.make_file(who, order.verb, order.runs, order.ending, order.options)
    until = time.monotonic() + _TIMEOUT_S
    for _ in jobs.follow(job_id):
        if time.monotonic() > until:
            raise BadInput(
                f"The file is not ready after {_TIMEOUT_S:.0f} s.",
                remedy="It is being made on its own: page Jobs hands it out once it is there.",
            )
    jobs.result(job_id, NoneType)
    return made_file(jobs.job(job_id)).read_bytes()


def made_file(job: Job) -> Path:
    """The file that a finished job of `deeds.make_file` made."""
    return next(job.directory.glob(f"{job.spec.kind}.*"))


def file_name(what: str, workload: str) -> str:
    """`report-resnet50`: what it is and the workload, as far as a file's name can hold it."""
    safe_name = "".join(c if c.isalnum() or c in "-_." else "-" for c in Path(workload).name)
    return f"{what}-{safe_name.strip('-.')[:60] or 'comparison'}"
