"""What the audit knows of people who sign in: when they came and went, and what they looked at.

Only where people sign in; a person alone on a machine leaves no traces of looking.
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from profiler_core.ui.sign_in.visitor import Visitor

_MOST = 20_000  # sign-ins and looks that this process remembers to have recorded
_LONGEST = 300

_recorded: OrderedDict[tuple[str, ...], None] = OrderedDict()
_lock = Lock()


def note_sign_in(who: Visitor) -> None:
    """Record that this person came, once for each sign-in, and what the provider calls them.

    Raises:
        history.NotRecorded: it can be recorded nowhere.
    """
    if who.account is None or not _is_new("sign in", who.holder):
        return
    from profiler_core.store import history  # late: it brings the database along

    # Another process over the same database, or this one before a restart, may have seen it.
    sign_in = f"sign-in/{who.holder[:12]}"
    try:
        history.remember_person(
            who.person,
            issuer=who.account.issuer,
            subject=who.account.subject,
            address=who.account.address,
            name=who.account.name,
            groups=who.account.groups,
        )
        if history.entries(1, person=who.person, action="sign in", subject=sign_in):
            return
    except history.HistoryUnavailable:
        _forget("sign in", who.holder)  # the name is remembered once the database is back
    history.note_or_keep(who.person, "sign in", sign_in, role=who.role or "none")


def note_sign_out(who: Visitor) -> None:
    """Record that this person leaves.

    Raises:
        history.NotRecorded: it can be recorded nowhere.
    """
    from profiler_core.store import history

    history.note_or_keep(who.person, "sign out", f"sign-in/{who.holder[:12]}")


def note_look(who: Visitor | None, keys: Sequence[str]) -> None:
    """Record which runs this person looks at, once for each sign-in and comparison.

    Raises:
        history.NotRecorded: it can be recorded nowhere.
    """
    subject = ", ".join(keys)[:_LONGEST]
    if who is None or who.account is None or not _is_new("look", who.holder, subject):
        return
    from profiler_core.store import history

    try:
        history.note_or_keep(who.person, "look", subject)
    except history.NotRecorded:
        _forget("look", who.holder, subject)  # the next time it must be recorded first, too
        raise


def note_download(who: Visitor, subject: str, file_name: str) -> None:
    """Record that this person takes a file away.

    Raises:
        history.NotRecorded: it can be recorded nowhere.
    """
    if who.account is None:
        return
    from profiler_core.store import history

    history.note_or_keep(who.person, "download", subject[:_LONGEST], file=file_name[:_LONGEST])


def _is_new(*deed: str) -> bool:
    with _lock:
        if deed in _recorded:
            _recorded.move_to_end(deed)
            return False
        _recorded[deed] = None
        while len(_recorded) > _MOST:
            _recorded.popitem(last=False)
        return True


def _forget(*deed: str) -> None:
    with _lock:
        _recorded.pop(deed, None)
