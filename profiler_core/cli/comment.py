"""`comment FILE…`: one comment on a pull request, written once and brought up to date from then on.

It speaks GitHub's API, with the token of the environment. The comment is found again by a line that
no reader sees, and by who wrote it: a token that may write may change anybody's comment, and who
wrote that could change the verdict again.

A job that holds the token runs no code of the pull request: that ran in another one, whose files it
is handed (`--untrusted`), and whose pull request GitHub names by the event `workflow_run`.
"""

import argparse
import errno
import http.client
import json
import os
import re
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from profiler_core.errors import BadInput
from profiler_core.markdown_text import document
from profiler_core.operate.addresses import is_loopback
from profiler_core.operate.channels import NoRedirect

_TOKEN, _API, _EVENT = "GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_EVENT_PATH"
_REPOSITORY = "GITHUB_REPOSITORY"
_LONGEST = 60_000  # characters; GitHub takes 65 536
_PAGE, _MOST_PAGES = 100, 50
_WITHIN_S = 60.0
_GONE = (403, 404, 422)  # or it may not be changed any more


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "comment",
        help="put a report on a pull request, as one comment that is updated",
        epilog=f"The token is {_TOKEN}, the address of the API {_API}. Prints the comment's URL.",
    )
    parser.add_argument(
        "file", type=Path, nargs="+", metavar="FILE", help="Markdown: of `report`, `gate --summary`"
    )
    parser.add_argument(
        "--pull-request", type=int, metavar="N",
        help=f"its number (default: of the event in ${_EVENT})",
    )  # fmt: skip
    parser.add_argument(
        "--repository", metavar="OWNER/NAME", help=f"where it is (default: ${_REPOSITORY})"
    )
    parser.add_argument(
        "--name", default="fusionscope", metavar="NAME",
        help="of the comment: each name has one of its own on a pull request",
    )  # fmt: skip
    parser.add_argument(
        "--untrusted", action="store_true",
        help="code of somebody else wrote the files: no link is followed, and of their text "
        "headings, lists, tables and emphasis are left; no HTML, image, link or mention",
    )  # fmt: skip
    parser.add_argument("--link", metavar="URL", help="where the comparison can be opened")


def run(arguments: argparse.Namespace) -> int:
    """Write the comment, or bring it up to date.

    Raises:
        BadInput: a file cannot be read, something is not named, or GitHub refuses.
    """
    if not re.fullmatch(r"[\w.-]{1,60}", arguments.name):
        raise BadInput(
            f"{arguments.name[:80]!r} cannot be the name of a comment.",
            remedy="Use letters, digits, dot, dash and underscore.",
        )
    repository = arguments.repository or os.environ.get(_REPOSITORY, "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise BadInput(
            f"{repository[:80]!r} is no repository.", remedy="Pass --repository OWNER/NAME."
        )
    marker = f"<!-- fusionscope: {arguments.name} -->"
    read = _untrusted if arguments.untrusted else _text
    body = _body(marker, [read(file) for file in arguments.file], arguments.link)
    address = _address()
    try:
        asked = _Repository(address, _token(), repository)
        number = arguments.pull_request or _number_of_event(asked)
        if number is None:
            print("The pull request was closed, or has a newer commit.", file=sys.stderr)
            return 0
        print(_Issue(asked, number).put(marker, body))
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{address} answers, but not as GitHub's API does.",
            remedy=f"Set {_API} to the address of the API, such as https://HOST/api/v3.",
        ) from error
    return 0


@dataclass(frozen=True)
class _Issue:
    """The comments of one pull request: to the API it is an issue."""

    repository: "_Repository"
    number: int

    def put(self, marker: str, body: str) -> str:
        """Update the token's own comment with this marker, or write it; returns its URL."""
        for comment in reversed(self._own(marker)):
            if comment.get("body") == body:
                return str(comment.get("html_url", ""))
            try:
                path = f"/issues/comments/{int(comment['id'])}"
                return str(self.repository.ask("PATCH", path, {"body": body})["html_url"])
            except _Refused as error:
                if error.status not in _GONE:
                    raise
        return str(self.repository.ask("POST", self._comments, {"body": body})["html_url"])

    @property
    def _comments(self) -> str:
        return f"/issues/{self.number}/comments"

    def _own(self, marker: str) -> list[Mapping[str, Any]]:
        """Comments that begin with the marker, written by whose the token is; the newest last."""
        matching = self._with(marker)
        if not matching:
            return []
        author = self.repository.login()
        return [c for c in matching if (c.get("user") or {}).get("login") == author]

    def _with(self, marker: str) -> list[Mapping[str, Any]]:
        matching: list[Mapping[str, Any]] = []
        for page in range(1, _MOST_PAGES + 1):
            comments = self.repository.ask("GET", f"{self._comments}?per_page={_PAGE}&page={page}")
            matching += [c for c in comments if str(c.get("body") or "").startswith(marker)]
            if len(comments) < _PAGE:
                break
        return matching


@dataclass(frozen=True)
class _Repository:
    """The API below one repository."""

    api: str
    token: str = field(repr=False)
    name: str

    def login(self) -> str:
        """Who writes with this token.

        Of the token of a job only GraphQL tells (`github-actions[bot]`), which lies beside `v3` on
        a server of one's own; what speaks only the other API tells it of a person's.

        Raises:
            BadInput: neither does.
        """
        try:
            wish = {"query": "{ viewer { login } }"}
            viewer = self._asked("POST", f"{self.api.removesuffix('/v3')}/graphql", wish)
            return str(viewer["data"]["viewer"]["login"])
        except _Refused:
            return str(self._asked("GET", f"{self.api}/user")["login"])

    def ask(self, method: str, path: str, wish: Mapping[str, str] | None = None) -> Any:
        """What it answers; `path` begins behind the repository.

        Raises:
            BadInput: it refuses, or does not answer.
        """
        return self._asked(method, f"{self.api}/repos/{self.name}{path}", wish)

    def _asked(self, method: str, url: str, wish: Mapping[str, str] | None = None) -> Any:
        data = None if wish is None else json.dumps(wish).encode()
        request = urllib.request.Request(url, data, method=method)  # noqa: S310
        request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        request.add_header("Accept", "application/vnd.github+json")
        request.add_header("Content-Type", "application/json")
        try:
            with _OPENER.open(request, timeout=_WITHIN_S) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                raise _Refused(
                    f"{self.api} refuses {method} of the comment ({error.code}).",
                    remedy=_REMEDIES.get(error.code, "Check the address and the repository."),
                    status=error.code,
                ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "reason", None) or error
            raise BadInput(
                f"{self.api} cannot be asked: {getattr(why, 'strerror', None) or why}.",
                remedy=f"Check the network, and {_API}.",
            ) from error


class _Refused(BadInput):
    def __init__(self, problem: str, remedy: str, status: int) -> None:
        super().__init__(problem, remedy=remedy)
        self.status = status


_REMEDIES = {
    401: f"Set {_TOKEN} to a token that is valid.",
    403: "Give the job `permissions: pull-requests: write`; of a fork its token may not write.",
    404: "Check --repository and --pull-request, and that the token may read it.",
}
_OPENER = urllib.request.build_opener(NoRedirect)


def _body(marker: str, texts: list[str], link: str | None) -> str:
    body = "\n".join([marker, *texts])
    if len(body) > _LONGEST:
        body = body[:_LONGEST].rpartition("\n")[0] + "\n\n*Cut here: the report has the rest.*"
    if link:
        if not link.startswith(("http://", "https://")):
            raise BadInput(f"{link[:100]!r} is no link.", remedy="Pass one that begins https://.")
        body += f"\n\n[Open in Fusionscope]({quote(link, safe=':/?&=%#-_.~')})"
    return f"{body.rstrip()}\n"


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip() + "\n"
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadInput(f"{file} cannot be read: {why}.", remedy="Pass a Markdown file.") from error


def _untrusted(file: Path) -> str:
    """As `_text`, of a file that somebody else's code wrote."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as source:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "it is no plain file")
            text = source.read(4 * _LONGEST).decode("utf-8", "replace")
    except OSError as error:
        raise BadInput(
            f"{file} cannot be read: {error.strerror}.", remedy="Pass a Markdown file."
        ) from error
    return document(text).strip() + "\n"


def _number_of_event(repository: _Repository) -> int | None:
    """Of the pull request that the job is about; None: it is closed, or has a newer commit."""
    path = os.environ.get(_EVENT, "")
    try:
        event = json.loads(Path(path).read_text("utf-8")) if path else {}
        if "workflow_run" in event:
            return _number_of_head(repository, event["workflow_run"])
        return int((event.get("pull_request") or event["issue"])["number"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            "No pull request is named, and this job was not started by one.",
            remedy="Pass --pull-request N.",
        ) from error


def _number_of_head(repository: _Repository, run: Mapping[str, Any]) -> int | None:
    """Of the open pull request whose newest commit the run of a workflow was about.

    GitHub says what ran; nothing of what the run left behind names the pull request.
    """
    head, owner = str(run["head_sha"]), str(run["head_repository"]["owner"]["login"])
    query = urlencode({"state": "open", "head": f"{owner}:{run['head_branch']}", "per_page": _PAGE})
    pulls = repository.ask("GET", f"/pulls?{query}")
    numbers = [int(pull["number"]) for pull in pulls if pull["head"]["sha"] == head]
    if len(numbers) > 1:
        raise BadInput(
            f"The commit {head[:12]} is the newest of several pull requests.",
            remedy="Pass --pull-request N.",
        )
    return numbers[0] if numbers else None


def _token() -> str:
    token = os.environ.get(_TOKEN, "").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise BadInput(f"{_TOKEN} is not set.", remedy="Set it from where secrets are kept.")
    return token


def _address() -> str:
    address = os.environ.get(_API, "").strip() or "https://api.github.com"
    try:
        url = urlsplit(address)
        host, _ = url.hostname, url.port
    except ValueError:
        url, host = urlsplit(""), None
    if not host or (url.scheme != "https" and not (url.scheme == "http" and is_loopback(host))):
        raise BadInput(
            f"{_API} is {address[:100]!r}: the token would be sent without TLS, or nowhere.",
            remedy="Write it as https://HOST.",
        )
    return address.rstrip("/")
