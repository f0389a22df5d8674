"""The settings of this installation: `<home>/settings.toml`, every key optional.

    allow_capture = true                 # on a server that others can reach; sign-in is needed too
    interpreters = ["/opt/torch-2.7"]    # what captures may start beside the server's own Python
    capture_variables = ["HF_TOKEN"]     # secrets that captures get all the same
    runner_user = "fusionscope-runner"   # captures run as this user of the system
    runner_directory = "/scratch"        # where they work then; else the system's temporary folder
    open_below = ["/data/traces"]        # folders from which files may be opened by their path
    largest_upload_gb = 8.0
    largest_cache_gb = 20.0              # of what is kept of traces, so that they open at once
    database_url = "postgresql://…"      # of the history; SQLite in the home without it
    artifacts_url = "s3://bucket/runs"   # where run directories are kept for the whole team
    keep_captures = 50                   # of each workload, the newest; see docs/history.md
    keep_days = 90                       # files of older captures are deleted
    largest_ingest_events = 50_000_000   # of one trace; of logs, lines
    longest_ingest_seconds = 1800.0      # for reading one file
    upload_quota_gb = 50.0               # of each person's uploads, all together
    keep_uploads_days = 30               # files of older uploads are deleted
    keep_trash_days = 30                 # what was deleted can be put back for so long
    metrics_token = "…"                  # whoever sends it may read /api/metrics
    log_format = "json"                  # of the server's log; "text" without it
    webhook_url = "https://…"            # is sent each regression; see docs/reviews.md
    mail_server = "smtp.example.org:587" # through which regressions are mailed, by STARTTLS;
                                         # smtps://HOST for TLS from the start
    mail_from = "fusionscope@example.org"
    mail_to = ["team@example.org"]
    mail_user = "fusionscope"            # where the mail server asks for one
    mail_password = "…"
    server_url = "https://fusionscope.example.org"   # for links in what is sent

    [jobs]                               # what is read, captured and written: see docs/deploy.md
    at_once = 2                          # beside captures; else half of the cores, 2 to 8
    memory_gb = 48.0                     # of all at once; else 80 % of the machine's or container's
    per_person = 20                      # that run or wait
    in_all = 100                         # likewise
    keep_days = 30                       # then a job that has ended leaves the list

    [hosts.gpu-box]                      # another machine for captures: see docs/hosts.md
    ssh = "ada@gpu-box"                  # or a name of ~/.ssh/config; with a port, HOST:2222
    python = "/opt/torch/bin/python"     # there, with torch
    folder = "/scratch"                  # there, for what is sent; else its temporary folder
    slurm = true                         # as a job of the Slurm there; without ssh, of this machine
    slurm_options = ["--partition=gpu"]  # of sbatch
    # or, without ssh and slurm: kubernetes = true, image, namespace, context, gpus

    [servers.chat]                       # an inference server to be profiled: see docs/servers.md
    url = "http://gpu-box:8000"
    traces = "ada@gpu-box:/traces"       # where it writes them: a folder, USER@HOST:DIR, or a URL

    [team]                               # with this table nobody sees anything without signing in
    viewers = ["*@example.org"]          # see everything; write and sign reviews
    runners = ["group:performance"]      # capture and upload, too
    admins = ["ada@example.org"]         # delete what others made, and read the audit, too
    groups_claim = "groups"              # the claim in which the provider names groups
    trust_addresses = false              # of a provider that leaves email_verified out

FUSIONSCOPE_DATABASE_URL, FUSIONSCOPE_ARTIFACTS_URL, FUSIONSCOPE_METRICS_TOKEN,
FUSIONSCOPE_WEBHOOK_URL, FUSIONSCOPE_MAIL_PASSWORD and FUSIONSCOPE_LOG win over the file: a URL may
hold a password. A person's choices on a page are kept in the URL,
not here.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec

from profiler_core.errors import BadInput
from profiler_core.home import home_directory
from profiler_core.typed import ready

FILE = "settings.toml"
_GB = 10**9
_AT_LEAST_1 = (
    "keep_captures",
    "keep_days",
    "keep_uploads_days",
    "keep_trash_days",
    "largest_ingest_events",
    "longest_ingest_seconds",
)
_DATABASE, _ARTIFACTS = "FUSIONSCOPE_DATABASE_URL", "FUSIONSCOPE_ARTIFACTS_URL"
_METRICS, _LOG = "FUSIONSCOPE_METRICS_TOKEN", "FUSIONSCOPE_LOG"
_WEBHOOK, _MAIL = "FUSIONSCOPE_WEBHOOK_URL", "FUSIONSCOPE_MAIL_PASSWORD"

LogFormat = Literal["text", "json"]


@dataclass(frozen=True)
class Team:
    """Who has which role on a server where people sign in: addresses, patterns, `group:NAME`."""

    viewers: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    groups_claim: str = "groups"
    trust_addresses: bool = False  # where the provider does not say whether they are verified


class Jobs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of the queue."""

    at_once: int | None = None
    memory_gb: float | None = None
    per_person: int = 20
    in_all: int = 100
    keep_days: int = 30

    @property
    def memory_bytes(self) -> int | None:
        """Of the estimates of all jobs that run; None: most of what the machine has."""
        return None if self.memory_gb is None else int(self.memory_gb * _GB)


class Host(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another machine for captures, as the owner names it; `capture/elsewhere/host.py` checks it.

    python: the interpreter there, with torch. folder: there, for what is sent. gpus: of the pod.
    """

    ssh: str | None = None
    python: str | None = None
    folder: str | None = None
    slurm: bool = False
    slurm_options: tuple[str, ...] = ()
    kubernetes: bool = False
    image: str | None = None
    namespace: str | None = None
    context: str | None = None
    gpus: int = 1


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An inference server whose profiler may be started. traces: where it writes them."""

    url: str
    traces: str


@dataclass(frozen=True)
class Settings:
    """The settings, with their defaults."""

    allow_capture: bool = False
    interpreters: tuple[str, ...] | None = None  # files, or folders of environments
    capture_variables: tuple[str, ...] = ()
    runner_user: str | None = None  # None: captures run as the server does
    runner_directory: Path | None = None
    open_below: tuple[Path, ...] | None = None  # None: the user's home, on a local server only
    largest_upload_bytes: int = 8 * _GB
    largest_cache_bytes: int | None = None  # None: 20 GB, or half of the room on a smaller disk
    database_url: str | None = None  # None: SQLite in the home
    artifacts_url: str | None = None  # None: run directories stay where they are
    keep_captures: int | None = None  # None: this rule does not hold
    keep_days: int | None = None
    largest_ingest_events: int = 50_000_000
    longest_ingest_seconds: float = 1800.0
    upload_quota_bytes: int | None = None  # None: as much as the disk holds
    keep_uploads_days: int | None = None  # None: uploads stay
    keep_trash_days: int = 30
    metrics_token: str | None = None  # None: there are no metrics
    log_format: LogFormat = "text"
    webhook_url: str | None = None  # None: none is told
    mail_server: str | None = None  # None: nothing is mailed
    mail_from: str = ""
    mail_to: tuple[str, ...] = ()
    mail_user: str | None = None
    mail_password: str | None = None
    server_url: str | None = None  # None: what is sent has no link
    jobs: Jobs = field(default_factory=Jobs)
    hosts: Mapping[str, Host] = field(default_factory=dict)
    servers: Mapping[str, Server] = field(default_factory=dict)
    team: Team | None = None  # None: nobody signs in


class SettingsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of the file, in the units in which they are written."""

    allow_capture: bool = False
    interpreters: tuple[str, ...] | None = None
    capture_variables: tuple[str, ...] = ()
    runner_user: str | None = None
    runner_directory: str | None = None
    open_below: list[str] | None = None
    largest_upload_gb: float = 8.0
    largest_cache_gb: float | None = None
    database_url: str | None = None
    artifacts_url: str | None = None
    keep_captures: int | None = None
    keep_days: int | None = None
    largest_ingest_events: int = 50_000_000
    longest_ingest_seconds: float = 1800.0
    upload_quota_gb: float | None = None
    keep_uploads_days: int | None = None
    keep_trash_days: int = 30
    metrics_token: str | None = None
    log_format: LogFormat = "text"
    webhook_url: str | None = None
    mail_server: str | None = None
    mail_from: str = ""
    mail_to: tuple[str, ...] = ()
    mail_user: str | None = None
    mail_password: str | None = None
    server_url: str | None = None
    jobs: Jobs = Jobs()
    hosts: dict[str, Host] = {}
    servers: dict[str, Server] = {}
    team: Team | None = None


def settings() -> Settings:
    """The settings, read from the file at each call, so that a change needs no restart.

    Raises:
        BadInput: it cannot be read or has an unknown key. No default is used then, since some
            settings are about safety.
    """
    path = settings_file()
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        document = {}
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from error
    return settings_of(document, path)


def settings_file() -> Path:
    """Where the owner's decisions stand, whether or not the file is there."""
    return home_directory() / FILE


def settings_of(document: Mapping[str, Any], path: Path) -> Settings:
    """What the keys of the file decide, and the environment, which wins.

    Raises:
        BadInput: a key that there is not, or a value that it does not take.
    """
    try:
        decisions = msgspec.convert(document, ready(SettingsFile))
    except ValueError as error:
        raise _unusable(path, error) from error
    numbers = {
        **{name: getattr(decisions, name) for name in _AT_LEAST_1},
        **{f"jobs.{name}": getattr(decisions.jobs, name) for name in Jobs.__struct_fields__},
    }
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise BadInput(
                f"{path} cannot be used: {name} is {number}.", remedy="Write 1 or more, or nothing."
            )
    below, scratch = decisions.open_below, decisions.runner_directory
    return Settings(
        allow_capture=decisions.allow_capture,
        interpreters=decisions.interpreters,
        capture_variables=decisions.capture_variables,
        runner_user=decisions.runner_user,
        runner_directory=None if scratch is None else Path(scratch).expanduser(),
        open_below=None if below is None else tuple(Path(p).expanduser() for p in below),
        largest_upload_bytes=int(decisions.largest_upload_gb * _GB),
        largest_cache_bytes=(
            None if decisions.largest_cache_gb is None else int(decisions.largest_cache_gb * _GB)
        ),
        database_url=os.environ.get(_DATABASE) or decisions.database_url,
        artifacts_url=os.environ.get(_ARTIFACTS) or decisions.artifacts_url,
        keep_captures=decisions.keep_captures,
        keep_days=decisions.keep_days,
        largest_ingest_events=decisions.largest_ingest_events,
        longest_ingest_seconds=decisions.longest_ingest_seconds,
        upload_quota_bytes=(
            None if decisions.upload_quota_gb is None else int(decisions.upload_quota_gb * _GB)
        ),
        keep_uploads_days=decisions.keep_uploads_days,
        keep_trash_days=decisions.keep_trash_days,
        metrics_token=_over(decisions.metrics_token, _METRICS),
        log_format=_log_format() or decisions.log_format,
        webhook_url=_over(decisions.webhook_url, _WEBHOOK),
        mail_server=_over(decisions.mail_server),
        mail_from=decisions.mail_from,
        mail_to=decisions.mail_to,
        mail_user=_over(decisions.mail_user),
        mail_password=_over(decisions.mail_password, _MAIL),
        server_url=_over(decisions.server_url),
        jobs=decisions.jobs,
        hosts=decisions.hosts,
        servers=decisions.servers,
        team=decisions.team,
    )


def _over(value: str | None, variable: str = "") -> str | None:
    """What the variable of the environment says, else the file; None for an empty text."""
    return os.environ.get(variable) or value or None


def _log_format() -> LogFormat | None:
    """Of the environment.

    Raises:
        BadInput: there is no such format.
    """
    name = os.environ.get(_LOG, "").strip().lower()
    if name in get_args(LogFormat):
        return cast(LogFormat, name)
    if name:
        raise BadInput(f"{_LOG} is {name!r}.", remedy="Write text or json.")
    return None


def _unusable(path: Path, error: Exception) -> BadInput:
    return BadInput(
        f"{path} cannot be used: {error}.",
        remedy=f"Correct it; it may hold {', '.join(SettingsFile.__struct_fields__)}.",
    )
