"""`comment` against an API of our own: one comment, updated; and the steps of action.yml."""

import json
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from profiler_core.cli import comment as comment_verb
from profiler_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_traces" / "customcnn"
TOKEN = "s3cret-token-of-the-job"
MARKER = "<!-- fusionscope: fusionscope -->"
JOB = "github-actions[bot]"
OTHER = {"login": "other"}


class Api(ThreadingHTTPServer):
    """The comments of pull request 7, all of which the job may change."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.comments: list[dict[str, object]] = []
        self.asked: list[tuple[str, str]] = []
        self.redirect = ""
        self.has_graphql = True
        self.pulls: list[dict[str, object]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, body: str, user: str) -> dict[str, object]:
        number = len(self.comments) + 1
        self.comments.append({"id": number, "body": body, "user": {"login": user},
                              "html_url": f"https://github.test/c/{number}"})  # fmt: skip
        return self.comments[-1]


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/pulls"):
            self._answer(200, self.server.pulls)
            return
        if self.path.endswith("/user"):
            self._answer(200, {"login": JOB})
            return
        page = int(parse_qs(urlsplit(self.path).query)["page"][0])
        self._answer(200, self.server.comments[(page - 1) * 100 : page * 100])

    def do_POST(self) -> None:
        if self.path.endswith("/graphql") and self.server.has_graphql:
            self._answer(200, {"data": {"viewer": {"login": JOB}}})
        elif self.path.endswith("/graphql"):
            self._answer(404, {})
        else:
            self._answer(201, self.server.add(self._body(), JOB))

    def do_PATCH(self) -> None:
        """Whoever may write into a repository may change everybody's comments there."""
        comment = self.server.comments[int(self.path.rpartition("/")[2]) - 1]
        comment["body"] = self._body()
        self._answer(200, comment)

    def _body(self) -> str:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        return str(json.loads(text)["body"])

    def _answer(self, status: int, document: object) -> None:
        self.server.asked.append((self.command, self.path))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            status, document = 401, {}
        if self.server.redirect:
            self.send_response(307)
            self.send_header("Location", self.server.redirect)
            self.end_headers()
            return
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Api]:
    """It answers, and the environment is that of a job on the pull request 7."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        for name, value in environment_of(server, event).items():
            monkeypatch.setenv(name, value)
        yield server
        server.shutdown()
        thread.join(10)


def environment_of(server: Api, event: Path) -> Mapping[str, str]:
    return {
        "GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": server.url, "GITHUB_REPOSITORY": "acme/model",
        "GITHUB_EVENT_PATH": str(event),
    }  # fmt: skip


def test_it_is_written_once_and_updated_then(api, tmp_path, capsys):
    api.comments += [{"id": n, "body": f"words {n}", "user": OTHER} for n in range(1, 151)]
    report = tmp_path / "report.md"
    report.write_text("## Faster")
    assert main(["comment", str(report), "--link", "https://scope.test/?a=b c"]) == 0
    (url,) = capsys.readouterr().out.split()
    assert url == "https://github.test/c/151"
    body = api.comments[150]["body"]
    assert body.startswith(f"{MARKER}\n## Faster\n")
    assert "[Open in Fusionscope](https://scope.test/?a=b%20c)" in body
    report.write_text("## Slower")
    assert main(["comment", str(report)]) == 0
    assert main(["comment", str(report)]) == 0  # nothing to change
    assert len(api.comments) == 151 and "## Slower" in api.comments[150]["body"]
    writes = [(m, path) for m, path in api.asked if m != "GET" and path != "/graphql"]
    assert [method for method, _ in writes] == ["POST", "PATCH"]
    assert main(["comment", str(report), "--name", "other-model"]) == 0
    assert len(api.comments) == 152


@pytest.mark.parametrize("has_graphql", [True, False])
def test_the_marker_in_somebody_elses_comment_leads_to_one_of_our_own(api, tmp_path, has_graphql):
    api.has_graphql = has_graphql
    report = tmp_path / "report.md"
    report.write_text("## Faster")
    api.add(f"{MARKER}\nmine", "other")
    for _ in range(2):
        assert main(["comment", str(report)]) == 0
        report.write_text("## Slower")
    api.add(f"{MARKER}\nmine", "other")  # the newest
    assert main(["comment", str(report)]) == 0
    assert [comment["user"]["login"] for comment in api.comments] == ["other", JOB, "other"]
    assert "## Slower" in api.comments[1]["body"]
    assert api.comments[2]["body"] == f"{MARKER}\nmine"
    assert api.comments[0]["body"] == f"{MARKER}\nmine"


def test_what_is_too_long_is_cut(api, tmp_path):
    report = tmp_path / "report.md"
    report.write_text("a line of a report\n" * 5000)
    assert main(["comment", str(report)]) == 0
    assert len(api.comments[0]["body"]) < 65_536
    assert api.comments[0]["body"].endswith("*Cut here: the report has the rest.*\n")


@pytest.mark.parametrize(
    ("words", "variables", "sentence"),
    [
        ([], {"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        ([], {"GITHUB_TOKEN": "wrong"}, "(401)"),
        ([], {"GITHUB_API_URL": "http://api.example.org"}, "without TLS"),
        ([], {"GITHUB_API_URL": "http://127.0.0.1:1"}, "cannot be asked"),
        ([], {"GITHUB_REPOSITORY": "acme/../x/y"}, "is no repository"),
        ([], {"GITHUB_EVENT_PATH": ""}, "No pull request is named"),
        (["--name", "a --> b"], {}, "cannot be the name"),
        (["--link", "javascript:alert(1)"], {}, "is no link"),
        (["missing.md"], {}, "cannot be read"),
    ],
)
def test_what_cannot_be_is_a_sentence(
    api, tmp_path, monkeypatch, capsys, words, variables, sentence
):
    report = tmp_path / "report.md"
    report.write_text("x")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["comment", str(report), *words]) == 2
    refused = capsys.readouterr().err
    assert sentence in refused and TOKEN not in refused and "Traceback" not in refused


def test_the_token_follows_no_redirect(api, tmp_path, capsys):
    report = tmp_path / "report.md"
    report.write_text("x")
    with Api() as elsewhere:
        api.redirect = f"{elsewhere.url}/steal"
        assert main(["comment", str(report)]) == 2
        assert elsewhere.asked == []
    assert "(307)" in capsys.readouterr().err


# --- action.yml ---


def filled(text: str, values: Mapping[str, str]) -> str:
    """The expressions of a workflow, as the runner would fill them in."""
    return re.sub(r"\$\{\{ *(.+?) *\}\}", lambda match: values[match[1]], text)


def run_steps(
    folder: Path,
    server: Api,
    python: Path,
    captured: Path | None = None,
    event_name: str = "pull_request",
    **inputs: str,
) -> list[tuple[str, int]]:
    """The steps of action.yml with these inputs; (id, exit status) of each that ran.

    `captured`: what `fusionscope capture` says that it made; without it nothing is captured.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    command = folder / "bin" / "fusionscope"
    command.parent.mkdir(exist_ok=True)
    command.write_text(
        '#!/bin/sh\nif [ "$1" = capture ]; then printf "Measuring\\n%s\\n"'
        f" {shlex.quote(str(captured))}; exit; fi\n"
        f'exec {python} -m profiler_core "$@"\n'
    )
    command.chmod(0o755)
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    given = {name: str(entry.get("default", "")) for name, entry in action["inputs"].items()}
    given |= {"token": TOKEN, **{name.replace("_", "-"): text for name, text in inputs.items()}}
    values = {f"inputs.{name}": text for name, text in given.items()}
    values |= {"steps.capture.outputs.folder": "", "steps.gate.outputs.status": ""}
    values |= {"github.event_name": event_name}
    values |= {"inputs.against || format('origin/{0}', github.base_ref)": "origin/main"}
    ended: list[tuple[str, int]] = []
    for step in action["runs"]["steps"]:
        skipped = {"capture": captured is None, "comment": given["comment"] != "true"}
        if skipped.get(step["id"]):
            continue
        output = folder / "output.txt"
        output.write_text("")
        words = {name: filled(str(text), values) for name, text in step["env"].items()}
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={
                **os.environ, **environment_of(server, event), **words,
                "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
                "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
                "FUSIONSCOPE_HOME": str(folder / "home"),
            },
            capture_output=True,
            text=True,
        )  # fmt: skip
        ended.append((step["id"], process.returncode))
        if process.returncode:
            break
        for line in output.read_text().splitlines():
            name, _, text = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = text
    return ended


def test_the_steps_of_the_action_judge_report_and_comment_once(api, tmp_path, quick_python):
    runs = {"baseline": str(SAMPLE / "eager"), "candidate": str(SAMPLE / "default")}
    passed = run_steps(
        tmp_path, api, quick_python, **runs, limits="--max-step-time +80%", comment="true"
    )
    assert passed == [("allowed", 0), ("gate", 0), ("comment", 0), ("end", 0)]
    (comment,) = api.comments
    assert "The gate is passed" in comment["body"] and "customcnn" in comment["body"]
    assert "The gate is passed" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "fusionscope-runs" / "report.html").stat().st_size > 10_000
    failed = run_steps(
        tmp_path, api, quick_python, **runs, limits="--max-kernels 1", link="https://scope.test/x",
        comment="true",
    )  # fmt: skip
    assert failed == [("allowed", 0), ("gate", 0), ("comment", 0), ("end", 1)]
    (comment,) = api.comments
    assert "Regression" in comment["body"] and "(https://scope.test/x)" in comment["body"]


@pytest.mark.parametrize("name", ["20260101-000000-a", "99991231-235959-z"])
def test_the_capture_of_this_job_is_judged_whatever_else_lies_there(
    api, tmp_path, name, quick_python
):
    """Of an earlier job, or committed by the pull request, which would judge itself."""
    runs = tmp_path / "fusionscope-runs"
    captured = runs / "20260102-000000-b"
    for capture, variant in ((runs / name, "eager"), (captured, "default")):
        shutil.copytree(SAMPLE / variant, capture / variant)
    (runs / name / "eager" / "run.json").write_text("[")
    victim = tmp_path / "keys"
    victim.write_text("mine")
    (runs / "gate.xml").symlink_to(victim)
    steps = run_steps(
        tmp_path, api, quick_python, captured, workload="model.py:build",
        baseline=str(SAMPLE / "eager"), limits="--max-step-time +80%",
    )  # fmt: skip
    assert steps == [("allowed", 0), ("capture", 0), ("gate", 0), ("end", 0)]
    assert api.asked == []  # no comment by itself: the token is not this job's to have
    assert victim.read_text() == "mine"


def test_what_lies_in_the_folder_of_runs_is_no_candidate(api, tmp_path, quick_python):
    """Without a capture of this job nothing of the pull request's own files is judged."""
    shutil.copytree(SAMPLE / "default", tmp_path / "fusionscope-runs" / "99991231-0" / "default")
    steps = run_steps(tmp_path, api, quick_python, baseline=str(SAMPLE / "eager"))
    assert steps == [("allowed", 0), ("gate", 2)]


def test_a_server_that_is_no_github_is_told_so(api, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(comment_verb._Repository, "ask", lambda *_: {"message": "hello"})
    (tmp_path / "x.md").write_text("x")
    for name, text in environment_of(api, tmp_path / "none").items():
        monkeypatch.setenv(name, text)
    words = ["comment", str(tmp_path / "x.md"), "--pull-request", "7", "--repository", "a/b"]
    assert main(words) == 2
    assert "answers, but not as GitHub's API does" in capsys.readouterr().err
    assert main([*words, "--link", "http://[broken"]) == 2


def test_no_input_stands_in_a_script_of_the_action():
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert [step["id"] for step in action["runs"]["steps"] if "${{" in step["run"]] == []


def test_the_action_refuses_an_event_that_brings_the_secrets(api, tmp_path, quick_python):
    steps = run_steps(
        tmp_path, api, quick_python, tmp_path, event_name="pull_request_target", workload="m.py:f"
    )
    assert steps == [("allowed", 2)]


# --- the two workflows of deploy/github ---

MEASURES, COMMENTS = (
    yaml.safe_load((ROOT / "deploy" / "github" / name).read_text())
    for name in ("performance.yml", "performance-comment.yml")
)
ON = True  # how YAML 1.1 reads the key `on`


def test_what_runs_the_pull_requests_code_may_only_read():
    assert MEASURES["permissions"] == {"contents": "read"}
    assert MEASURES[ON] == "pull_request"
    (job,) = MEASURES["jobs"].values()
    assert "permissions" not in job
    assert "secrets." not in str(job) and "token" not in str(job)
    checkout = job["steps"][0]
    assert checkout["with"]["persist-credentials"] is False
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["inputs"]["comment"]["default"] == "false"


def test_what_may_write_runs_nothing_of_the_pull_request():
    assert COMMENTS[ON] == {"workflow_run": {"workflows": ["performance"], "types": ["completed"]}}
    assert MEASURES["name"] == "performance"
    assert COMMENTS["permissions"] == {"actions": "read", "pull-requests": "write"}
    (job,) = COMMENTS["jobs"].values()
    assert "self-hosted" not in str(job["runs-on"])
    uses = [step["uses"] for step in job["steps"] if "uses" in step]
    assert uses == ["actions/download-artifact@v4"]
    assert [step for step in job["steps"] if "${{" in step.get("run", "")] == []


@pytest.fixture
def after_a_run(api, tmp_path, monkeypatch):
    """The event of the second workflow, and what the first one left."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "gate.md").write_text("### Passed")
    (files / "report.md").write_text("**Faster** says @everybody ![x](//evil.test/p)")
    run = {"head_sha": "a" * 40, "head_branch": "tune & test",
           "head_repository": {"owner": {"login": "fork"}}}  # fmt: skip
    (tmp_path / "event.json").write_text(json.dumps({"workflow_run": run}))
    api.pulls = [
        {"number": 6, "head": {"sha": "b" * 40}},
        {"number": 7, "head": {"sha": "a" * 40}},
    ]
    return files


def post(files: Path, folder: Path, python: Path) -> subprocess.CompletedProcess[str]:
    """The last step of the second workflow."""
    step = COMMENTS["jobs"]["comment"]["steps"][-1]
    command = folder / "bin" / "fusionscope"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec {python} -m profiler_core "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "FILES": str(files)}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env=variables, capture_output=True, text=True,
    )  # fmt: skip


def test_what_the_first_workflow_left_is_posted_as_data(api, tmp_path, after_a_run, quick_python):
    process = post(after_a_run, tmp_path, quick_python)
    assert process.returncode == 0, process.stderr
    (comment,) = api.comments
    assert comment["body"].startswith(f"{MARKER}\n### Passed\n\n**Faster** says &#64;&#8203;every")
    assert "![x]&#8203;(" in comment["body"]
    assert ("GET", "/repos/acme/model/pulls?state=open&head=fork%3Atune+%26+test&per_page=100") in (
        api.asked
    )
    api.pulls.pop()  # somebody pushed meanwhile: that push has a run of its own
    (after_a_run / "gate.md").write_text("### Failed")
    process = post(after_a_run, tmp_path, quick_python)
    assert (process.returncode, len(api.comments)) == (0, 1)
    assert "newer commit" in process.stderr
    assert "Passed" in api.comments[0]["body"]


def test_one_commit_of_two_pull_requests_is_a_sentence(api, after_a_run, capsys):
    api.pulls[0]["head"]["sha"] = "a" * 40
    assert main(["comment", str(after_a_run / "gate.md")]) == 2
    assert "several pull requests" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_no_file_of_the_runner_is_posted(api, tmp_path, after_a_run, capsys, kind):
    secret, gate = tmp_path / "secret", after_a_run / "gate.md"
    secret.write_text("s3cret")
    gate.unlink()
    {"link": lambda: gate.symlink_to(secret), "pipe": lambda: os.mkfifo(gate),
     "folder": gate.mkdir}[kind]()  # fmt: skip
    assert main(["comment", "--untrusted", str(gate)]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert api.comments == []
