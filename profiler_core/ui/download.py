"""The button that hands out a file: only to who may have it at the moment of the click.

Streamlit makes the file of a clicked button in a thread of its own, without the page around it, as
often as the button of an open page is clicked.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from profiler_core.door import deeds
from profiler_core.door.asker import Refused
from profiler_core.jobs.service import Job
from profiler_core.ui.choice import keys_in_url
from profiler_core.ui.sign_in.asker import asker_of
from profiler_core.ui.sign_in.deeds import note_download
from profiler_core.ui.sign_in.visitor import visitor_later


def download_button(
    label: str,
    make: Callable[[], str | bytes],
    *,
    file_name: str,
    job: Job | None = None,
    **options: Any,
) -> bool:
    """Draw it; the audit has the download before the file is made.

    Args:
        label: of the button.
        make: the file's content; called with each click, in another thread.
        file_name: as the browser keeps it.
        job: that made the file, which not everybody may see; None: it is of the chosen runs.
        options: others of `st.download_button`.

    Returns:
        Was it clicked?
    """
    ask = visitor_later()
    subject = job.spec.title if job is not None else ", ".join(keys_in_url())

    def made() -> str | bytes:
        who = ask()
        may_have = who is not None and who.may("look")
        if who is None or not may_have or (job and not deeds.may_see(asker_of(who), job)):
            raise Refused("You may not have this file any more.", remedy="Reload the page.")
        note_download(who, subject, file_name)
        return make()

    return st.download_button(label, data=made, file_name=file_name, **options)
