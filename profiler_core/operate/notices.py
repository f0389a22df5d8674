"""Telling people of runs that became slower: by the server's own processes, once by each channel.

Any number of servers may look at one history: whoever claims a notice sends it. What fails is
tried again with growing pauses, and stops nothing else. Whoever makes many runs slower fills no
channel: a few messages an hour, the last of them for all others.
"""

import hashlib
import logging
from collections.abc import Mapping, Sequence
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
    """Send each notice that waits; of how many runs was told.

    Raises:
        FusionscopeError: the settings or the history cannot be used.
    """
    decisions = settings()
    channels = _channels(decisions)
    if not channels:
        return 0
    from profiler_core.store import history  # late: most servers tell nobody
    from profiler_core.store.history.regressions import MOST_AN_HOUR

    waiting: dict[tuple[Name, str], list[Regression]] = {}
    for regression, name in history.waiting_notices(tuple(channels)):
        waiting.setdefault((name, regression.run.person), []).append(regression)
    recent = {name: history.recent_notices(name) for name in {name for name, _ in waiting}}
    n_sent = 0
    for (name, person), slower in waiting.items():
        n_left = MOST_AN_HOUR - recent[name][person]
        n_alone = n_left if len(slower) <= n_left else max(0, n_left - 1)
        messages = [[regression] for regression in slower[:n_alone]] + [slower[n_alone:]]
        n_sent += sum(_tell(several, name, channels[name], decisions) for several in messages)
    return n_sent


def _tell(
    slower: "Sequence[Regression]", name: "Name", channel: Channel, decisions: Settings
) -> int:
    """Send one message for all of these; how many of them it tells."""
    from profiler_core.store import history

    claimed = [each for each in slower if history.claim_notice(each.run.run_id, name)]
    if not claimed:
        return 0
    try:
        channel.send(_message(claimed[0], decisions, len(claimed) - 1))
    except NotTold as error:
        problem = error.problem
        _log.warning("%s is not told by %s: %s", claimed[0].run.run_id, name, problem)
    else:
        problem = ""
    for regression in claimed:
        history.note_notice(regression.run.run_id, name, problem)
    return 0 if problem else len(claimed)


def _channels(decisions: Settings) -> "Mapping[Name, Channel]":
    channels: dict[Name, Channel] = {}
    webhook, mail = webhook_of(decisions), mail_of(decisions)
    if webhook is not None:
        channels["webhook"] = webhook
    if mail is not None:
        channels["mail"] = mail
    return channels


def _message(regression: "Regression", decisions: Settings, n_more: int) -> Message:
    """Of a regression, and of how many more of the same person's runs."""
    # Late: a server is up before all this is imported.
    from profiler_core.analysis.trend import changes_between
    from profiler_core.analysis.wording.difference import regression_sentence
    from profiler_core.analysis.wording.sentence import counted

    run, difference = regression.run, regression.difference
    changes = changes_between(regression.before, run) if regression.before is not None else ()
    url = _url(regression, decisions)
    text = regression_sentence(run, difference, changes)
    more = f"And {counted(n_more, 'more run')} of the same person became slower." if n_more else ""
    return Message(
        message_id=hashlib.blake2b(run.run_id.encode(), digest_size=16).hexdigest(),
        subject=f"Slower: {run.workload} · {run.variant or run.name}",
        text="\n".join(filter(None, (text, more, url))),
        facts={
            "url": url or None,
            "n_more": n_more,
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
