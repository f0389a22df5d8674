"""Telling people of runs that became slower: by the server's own processes, once by each channel.

Any number of servers may look at one history: whoever claims a notice sends it. What fails is
tried again with growing pauses, and stops nothing else.
"""

import hashlib
import logging
from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from profiler_core.errors import FusionscopeError
from profiler_core.operate.channels import Channel, Message, NotTold, mail_of, webhook_of
from profiler_core.settings import Settings, settings

if TYPE_CHECKING:
    from profiler_core.store.history import Regression
    from profiler_core.store.history.regressions import Channel as Name

LOOK_EVERY_S = 60.0

_log = logging.getLogger(__name__)


def look_after_notices(stopped: Event, every_s: float = LOOK_EVERY_S) -> None:
    """Tell what is to be told, again and again until `stopped`; a thread of each server does it."""
    while not stopped.wait(every_s):
        try:
            tell_regressions()
        except (FusionscopeError, OSError) as error:
            _log.warning("Nobody is told of regressions: %s", error)
        except Exception:  # such as a run that is deleted while it is told of
            _log.exception("Nobody is told of regressions; it is tried again")


def tell_regressions() -> int:
    """Send each notice that waits; how many were sent.

    Raises:
        FusionscopeError: the settings or the history cannot be used.
    """
    decisions = settings()
    channels = _channels(decisions)
    if not channels:
        return 0
    from profiler_core.store import history  # late: most servers tell nobody

    n_sent = 0
    for regression, name in history.waiting_notices(tuple(channels)):
        run_id = regression.run.run_id
        if not history.claim_notice(run_id, name):
            continue
        try:
            channels[name].send(_message(regression, decisions))
        except NotTold as error:
            _log.warning("%s is not told by %s: %s", run_id, name, error.problem)
            history.note_notice(run_id, name, error.problem)
        else:
            history.note_notice(run_id, name)
            n_sent += 1
    return n_sent


def _channels(decisions: Settings) -> "Mapping[Name, Channel]":
    channels: dict[Name, Channel] = {}
    webhook, mail = webhook_of(decisions), mail_of(decisions)
    if webhook is not None:
        channels["webhook"] = webhook
    if mail is not None:
        channels["mail"] = mail
    return channels


def _message(regression: "Regression", decisions: Settings) -> Message:
    # Late: a server is up before all this is imported.
    from profiler_core.analysis.trend import changes_between
    from profiler_core.analysis.wording.difference import regression_sentence

    run, difference = regression.run, regression.difference
    changes = changes_between(regression.before, run) if regression.before is not None else ()
    url = _url(regression, decisions)
    text = regression_sentence(run, difference, changes)
    return Message(
        message_id=hashlib.blake2b(run.run_id.encode(), digest_size=16).hexdigest(),
        subject=f"Slower: {run.workload} · {run.variant or run.name}",
        text="\n".join(filter(None, (text, url))),
        facts={
            "url": url or None,
            "regression": {
                "run_id": run.run_id,
                "before_run_id": difference.before_run_id,
                "workload": run.workload,
                "variant": run.variant,
                "gpu": run.gpu,
                "git_commit": run.git_commit,
                "created_at": run.created_at,
                "before_ns": difference.before_ns,
                "after_ns": difference.after_ns,
                "gained_ns": difference.gained_ns,
            },
        },
    )


def _url(regression: "Regression", decisions: Settings) -> str:
    if decisions.server_url is None:
        return ""
    from profiler_core.store.library import key_of_recorded

    runs = [run for run in (regression.before, regression.run) if run is not None]
    names = ("baseline", "candidate") if len(runs) > 1 else ("baseline",)
    query = urlencode(dict(zip(names, map(key_of_recorded, runs), strict=True)))
    return f"{decisions.server_url.rstrip('/')}/?{query}"
