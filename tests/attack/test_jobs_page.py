"""Page Jobs: whose jobs it lists, what it says of each, and what it leads to."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from profiler_core import home
from profiler_core.door import deeds
from profiler_core.jobs import directory as files
from profiler_core.jobs import service as jobs
from profiler_core.owner_file import write_owner
from profiler_core.store import history, incoming
from profiler_core.store.uploads import Accepted
from profiler_core.ui.jobs import listing
from profiler_core.ui.sign_in.asker import asker
from profiler_core.worker.protocol import Progress, Result
from tests.attack.conftest import RUNNER, TEAM, VIEWER, Server
from tests.uploading import drop

ROOT = Path(__file__).resolve().parents[2]


def a_job(n: int, state: files.JobState, *, record: object = None, **more: Any) -> Path:
    """A job's folder as its supervisor leaves it; a live one is held by this process."""
    directory = home.jobs_directory() / f"20260102-030405-{n:06x}"
    directory.mkdir(parents=True)
    status = {key: more.pop(key) for key in ("error", "waiting_for", "n_ahead") if key in more}
    spec = {
        "kind": "ingest",
        "subject": incoming.new_upload_id(),
        "title": f"<b>trace</b> {n}",
        **more,
    }
    files.write(
        directory,
        files.JobSpec(
            job_id=directory.name, command=(), device="", submitted_at=time.time() + n, **spec
        ),
    )
    files.write(directory, files.JobStatus(state=state, started_at=1.0, ended_at=2.0, **status))
    if record is not None:
        (directory / files.ANSWER).write_bytes(msgspec.json.encode(record) + b"\n")
    if state in files.LIVE_STATES:
        files.mark_live(directory)
        files.hold_alive(directory)
    return directory


def opened(page: str = "jobs", **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / f"{page}.py"), default_timeout=300)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def html_of(app: AppTest) -> str:
    return " ".join(element.proto.body for element in app.get("html"))


def test_each_job_says_where_it_is_and_leads_to_what_it_made(server: Server) -> None:
    server.is_at("localhost")
    keys = ("upload/20260102-030405-00000000/1",)
    done = Result(msgspec.Raw(msgspec.json.encode(Accepted(keys, ()))))
    a_job(1, "finished", record=done)
    a_job(2, "running", record=Progress(1, 4, text="Reading trace 2"))
    a_job(3, "queued", waiting_for="Waits for 2 jobs ahead of it.", n_ahead=2)
    a_job(4, "failed", error="trace 4 is no trace.")
    a_job(5, "finished", kind="read")  # is in the cache, and no news
    (a_job(6, "finished", kind="report") / "report.html").write_text("<p>")
    app = opened()
    text = html_of(app)
    assert [f"trace&lt;/b&gt; {n}" in text for n in range(1, 7)] == [True] * 4 + [False, True]
    assert "Reading trace 2" in text
    assert "Waits for 2 jobs ahead of it. Place 3 in the queue." in text
    assert any("trace 4 is no trace" in element.value for element in app.markdown)
    assert "Open the runs" in f"{[link.proto for link in app.get('page_link')]}{text}"
    assert [button.proto.label for button in app.get("download_button")] == ["Download"]
    assert [button.label for button in app.button] == ["Cancel", "Cancel"]


def test_what_measures_leads_to_its_progress_before_it_has_ended(server: Server) -> None:
    server.is_at("localhost")
    a_job(1, "running", kind="capture")
    a_job(2, "queued", kind="try", subject="20260102-030405-try-tiny-0a1b2c3d")
    app = opened()
    text = f"{[link.proto for link in app.get('page_link')]}{html_of(app)}"
    assert (text.count("Open the capture"), text.count("Open the experiment")) == (1, 1)


def test_files_that_were_read_push_nothing_out_of_the_list(server: Server) -> None:
    server.is_at("localhost")
    a_job(1, "failed", error="trace 1 is no trace.")
    for n in range(2, 62):
        a_job(n, "finished", kind="read")
    assert "trace&lt;/b&gt; 1" in html_of(opened())


def test_a_click_cancels_and_the_audit_has_it(server: Server) -> None:
    server.is_at("localhost")
    directory = a_job(1, "running")
    (button,) = opened().button
    button.click().run()
    assert (directory / files.CANCEL).exists()

    assert history.entries()[0].action == "cancel"


def test_an_upload_that_was_given_up_can_be_read_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.is_at("localhost")
    upload_id, _ = drop({"a.json": b"{}", "b.json": b"{}"})
    a_job(1, "failed", error="It was killed.", subject=upload_id)
    a_job(2, "failed", error="It was no trace.", subject=incoming.new_upload_id())
    started: list[object] = []
    monkeypatch.setattr(jobs, "submit", lambda words, **more: started.append(words))
    (button,) = [button for button in opened().button if button.label == "Read again"]
    button.click().run()
    assert [words[-4:-1] for words in started] == [[upload_id, "0", "1"]]  # type: ignore[index]


def test_an_upload_that_an_admin_has_read_again_stays_whose_it_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runs became the admin's: who had sent it could not delete them."""
    server.is_at("127.0.0.1", f'{TEAM}admins = ["root@example.org"]\n', RUNNER)
    sender = asker()
    assert sender is not None
    upload_id, _ = drop({"a.json": b"{}"})
    write_owner(incoming.incoming_directory(upload_id), sender.person)
    job = a_job(1, "failed", owner=sender.person, subject=upload_id)
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(jobs, "submit", lambda words, **more: started.append(tuple(words)))
    server.is_at("127.0.0.1", f'{TEAM}admins = ["root@example.org"]\n', "root@example.org")
    deeds.read_again(asker(), job.name)
    assert [words[-1] for words in started] == [f"--owner={sender.person}"]


def test_a_runner_sees_own_jobs_and_an_admin_all(server: Server) -> None:
    server.is_at("127.0.0.1", TEAM, RUNNER)

    who = asker()
    assert who is not None
    a_job(1, "running", owner=who.person)
    a_job(2, "running", owner="somebody else")
    text = html_of(opened(whose="Everybody's"))
    assert "trace&lt;/b&gt; 1" in text
    assert "trace&lt;/b&gt; 2" not in text
    assert [job.spec.owner for job in jobs.jobs(owner=who.person)] == [who.person]


@pytest.mark.parametrize("kind", ["ingest", "read", "report", "export", "try"])
def test_the_address_of_a_capture_shows_no_other_job(server: Server, kind: str) -> None:
    server.is_at("127.0.0.1", TEAM, VIEWER)
    job = a_job(1, "failed", kind=kind, owner="somebody else", error="secret.json is no trace.")
    (job / files.LOG).write_text("secret line")
    app = opened("capture", job=job.name)
    text = html_of(app) + " ".join(element.value for element in app.markdown)
    assert "There is no capture" in text.replace("\\", "")
    assert "trace&lt;/b&gt; 1" not in text
    assert "secret" not in text
    assert not app.get("download_button")


def test_an_admin_who_is_none_any_more_sees_own_jobs_on_the_open_page(server: Server) -> None:
    a_job(1, "running", owner="somebody else")
    server.is_at("127.0.0.1", f'{TEAM}admins = ["{RUNNER}"]\n', RUNNER)
    assert len(listing.listed_jobs(listing.ALL)) == 1
    server.is_at("127.0.0.1", TEAM, RUNNER)
    assert listing.listed_jobs(listing.ALL) == ()


@pytest.mark.parametrize("state", ["failed", "interrupted", "cancelled"])
def test_why_a_capture_failed_is_for_whose_it_is(server: Server, state: files.JobState) -> None:
    server.is_at("127.0.0.1", f'{TEAM}admins = ["root@example.org"]\n', RUNNER)
    who = asker()
    assert who is not None
    job = a_job(1, state, kind="capture", owner=who.person, error="secret.py is broken.")
    (job / files.LOG).write_text("secret line")
    seen = {}
    for person in (RUNNER, VIEWER, "root@example.org"):
        server.is_at("127.0.0.1", f'{TEAM}admins = ["root@example.org"]\n', person)
        app = opened("capture", job=job.name)
        text = html_of(app) + " ".join(element.value for element in app.markdown)
        assert "trace&lt;/b&gt; 1" in text
        seen[person] = ("secret" in text, bool(app.get("download_button")))
    assert seen == {RUNNER: (True, True), VIEWER: (False, False), "root@example.org": (True, True)}


def test_why_an_experiment_failed_is_for_whose_it_is(server: Server) -> None:
    experiment = "20260102-030405-try-a-b"
    server.is_at("127.0.0.1", TEAM, RUNNER)
    who = asker()
    assert who is not None
    a_job(1, "failed", kind="try", owner=who.person, subject=experiment, error="secret.py: no.")
    shown = []
    for person in (RUNNER, VIEWER):
        server.is_at("127.0.0.1", TEAM, person)
        app = opened("experiments", experiment=experiment)
        shown.append("secret" in " ".join(element.value for element in app.markdown))
    assert shown == [True, False]
