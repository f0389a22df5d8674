"""What is wrong in settings.toml: each key by itself, and all of them at once."""

import dataclasses
import difflib
import tomllib
from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from profiler_core.capture.python_path import python_at
from profiler_core.errors import BadInput, CaptureFailed
from profiler_core.jobs.runner import check_runner
from profiler_core.operate.channels import channel_faults
from profiler_core.operate.fault import Fault
from profiler_core.person import is_account
from profiler_core.settings import Jobs, SettingsFile, Team, settings_file, settings_of

_LONGEST = 80  # characters of a value that is repeated
_SHORTEST_TOKEN = 16
_KEYS = SettingsFile.__struct_fields__
_TABLES = {
    "team": tuple(field.name for field in dataclasses.fields(Team)),
    "jobs": Jobs.__struct_fields__,
}
_SECRETS = frozenset(
    {"database_url", "artifacts_url", "metrics_token", "webhook_url", "mail_password"}
)
# Names that belong to nobody (RFC 2606): they stand in the examples of deploy/.
_EXAMPLES = ("example.org", "example.com", "example.net")


def setting_faults(name: str) -> Iterator[Fault]:
    """Everything that is wrong in the file, or in a variable that stands for a key of it.

    Args:
        name: of the server, as people type it.
    """
    path = settings_file()
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        document = {}
    except OSError as error:
        yield Fault(str(path), "", "", f"It cannot be read: {error.strerror}.",
                    "Make it readable to the user who runs the server.")  # fmt: skip
        return
    except ValueError as error:
        yield Fault(str(path), "", "", f"It is no TOML: {error}.",
                    "Write it as deploy/settings.toml is.")  # fmt: skip
        return
    try:
        settings_of({}, path)
    except BadInput as error:  # nothing but the environment was asked
        yield Fault("environment", "FUSIONSCOPE_LOG", "", error.problem, error.remedy)
        return
    usable = dict(document)
    inner = [(table, key) for table in _TABLES for key in _table_in(document, table)]
    for names in [*((key,) for key in document), *inner]:
        fault = _of_key(path, document, names)
        if fault is not None:
            yield fault
            usable = _without(usable, names)
    yield from _of_team(path, usable, document, name)
    yield from _of_paths(path, usable)
    token = settings_of(usable, path).metrics_token
    if token is not None and len(token) < _SHORTEST_TOKEN:
        where = str(path) if "metrics_token" in usable else "environment"
        yield Fault(where, "metrics_token", f"({len(token)} characters)", "It can be guessed.",
                    f"Write {_SHORTEST_TOKEN} random characters or more.")  # fmt: skip
    yield from _of_channels(path, usable)


def _table_in(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = document.get(name)
    return table if isinstance(table, Mapping) else {}


def _of_key(path: Path, document: Mapping[str, Any], names: tuple[str, ...]) -> Fault | None:
    """What is wrong with one key: its name, or its value alone."""
    *tables, key = names
    if not tables and key in _TABLES and _table_in(document, key):
        return None  # its keys one by one
    holder: Any = document[tables[0]] if tables else document
    dotted, value = ".".join(names), holder[key]
    valid_names = _TABLES[tables[0]] if tables else _KEYS
    if key not in valid_names:
        return _unknown(path, dotted, value, [".".join([*tables, name]) for name in valid_names])
    try:
        settings_of({tables[0]: {key: value}} if tables else {key: value}, path)
    except BadInput as error:
        cause = error.__cause__
        why = error.problem if cause is None else f"{str(cause).partition(' - at')[0]}."
        remedy = error.remedy if cause is None else "Write it as deploy/settings.toml does."
        return Fault(str(path), dotted, _shown(dotted, value), why, remedy)
    return None


def _without(document: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = names
    if not rest:
        return {key: value for key, value in document.items() if key != first}
    return {**document, first: _without(document[first], tuple(rest))}


def _unknown(path: Path, key: str, value: object, names: Collection[str]) -> Fault:
    (near,) = difflib.get_close_matches(key, names, n=1) or ("",)
    remedy = f"Write {near}, or remove it." if near else "Remove it; docs/deploy.md has all keys."
    return Fault(str(path), key, _shown(key, value), "There is no such setting.", remedy)


def _of_team(
    path: Path, usable: Mapping[str, Any], document: Mapping[str, Any], name: str
) -> Iterator[Fault]:
    team = settings_of(usable, path).team
    if team is None:
        if "team" not in document:  # else it is no table, which has been said
            yield Fault(str(path), "[team]", "", "It is missing, so nobody has a role here.",
                        "Write it as deploy/settings.toml does.")  # fmt: skip
        return
    roles = {"viewers": team.viewers, "runners": team.runners, "admins": team.admins}
    if not any(_table_in(document, "team").get(role) for role in roles):
        yield Fault(str(path), "[team]", "", "Nobody has a role: all three lists are empty.",
                    'Name people: viewers = ["*@your-company.com"].')  # fmt: skip
    elif not team.admins:
        yield Fault(
            str(path), "team.admins", "[]",
            "Nobody has this role: nobody reads the audit or deletes what others made.",
            "Name the addresses of those who run the server.", stops=False,
        )  # fmt: skip
    for role, rules in roles.items():
        for rule in rules:
            why = _why_nobody(rule, team, name)
            if why:
                yield Fault(
                    str(path), f"team.{role}", repr(rule), why,
                    "Write an address, a pattern (*@your-company.com), group:NAME, or an account "
                    "(oidc:ISSUER#SUBJECT).",
                )  # fmt: skip


def _why_nobody(rule: str, team: Team, name: str) -> str | None:
    """Why no account can ever have the role by this rule."""
    if is_account(rule):
        return None if "#" in rule else "No account is written like this, so nobody has the role."
    if rule.startswith("group:"):
        if not team.groups_claim:
            return "groups_claim is empty, so nobody is known as a member."
        return None if rule.removeprefix("group:").strip() else "It names no group."
    if not any(sign in rule for sign in "@*?"):
        return "No address is written like this, so nobody has the role."
    if rule.endswith(_EXAMPLES) and not name.endswith(_EXAMPLES):
        return "The domain belongs to nobody: it stands in the example."
    return None


def _of_paths(path: Path, usable: Mapping[str, Any]) -> Iterator[Fault]:
    decisions = settings_of(usable, path)
    for listed in decisions.interpreters or ():
        try:
            python_at(listed)
        except CaptureFailed as error:
            yield Fault(str(path), "interpreters", repr(listed), error.problem,
                        "Name an environment that is there, or remove it.")  # fmt: skip
    if decisions.allow_capture:
        try:
            check_runner(decisions.runner_user)
        except BadInput as error:
            runner = repr(decisions.runner_user)
            yield Fault(str(path), "runner_user", runner, error.problem, error.remedy)
    if decisions.allow_capture and not decisions.interpreters and find_spec("torch") is None:
        yield Fault(
            str(path), "allow_capture", "true",
            "No capture could run: interpreters lists none, and the server's own Python has no "
            "torch.",
            'Write interpreters = ["/path/to/an/environment"], or allow_capture = false.',
        )  # fmt: skip
    for folder in decisions.open_below or ():
        if not folder.is_dir():
            yield Fault(str(path), "open_below", str(folder), "There is no such folder.",
                        "Name one that is there, or remove it.")  # fmt: skip


def _of_channels(path: Path, usable: Mapping[str, Any]) -> Iterator[Fault]:
    for key, error in channel_faults(settings_of(usable, path)):
        yield Fault(str(path), key, "", error.problem, error.remedy)


def _shown(key: str, value: object) -> str:
    if key in _SECRETS:
        return f"({len(str(value))} characters)"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
