"""/api/metrics: OpenMetrics as its own parser reads it, for who has the token; nobody's data."""

import dataclasses
import math
import re
import time

import pytest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from profiler_core.errors import BadInput
from profiler_core.jobs.state import EndedJobs
from profiler_core.page_specs import page_specs
from profiler_core.ui.metrics import counted, moment
from profiler_core.ui.own_machine.gate import OwnMachineGate
from profiler_core.ui.routes.metrics import PATH, ROUTES
from profiler_core.ui.routes.run_zip import ROUTES as RUN_ZIP
from tests.operate.queued import a_job

TOKEN = "0123456789abcdef-metrics"


@pytest.fixture
def client(home, monkeypatch) -> TestClient:
    monkeypatch.setenv("FUSIONSCOPE_METRICS_TOKEN", TOKEN)
    return TestClient(Starlette(routes=[*ROUTES, *RUN_ZIP]))


def numbers(client) -> dict[str, float]:
    """Sample with its labels -> value, as a monitor reads the answer."""
    answer = client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == CONTENT_TYPE_LATEST
    assert answer.text.endswith("# EOF\n")
    return {
        sample.name + "".join(f",{key}={sample.labels[key]}" for key in sorted(sample.labels)):
        sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }  # fmt: skip


def test_without_a_token_in_the_settings_there_is_no_such_address(client, monkeypatch):
    monkeypatch.delenv("FUSIONSCOPE_METRICS_TOKEN")
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {TOKEN}"}):
        assert client.get(PATH, headers=headers).status_code == 404


@pytest.mark.parametrize(
    "said", ["", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xff"]
)
def test_who_has_no_token_is_refused(client, said):
    headers = {"Authorization": said.encode("latin-1")} if said else {}
    answer = client.get(PATH, headers=headers)
    assert answer.status_code == 401
    assert "fusionscope_" not in answer.text


def test_the_token_of_the_settings_opens_it(client, home, monkeypatch):
    monkeypatch.delenv("FUSIONSCOPE_METRICS_TOKEN")
    home.mkdir(exist_ok=True)
    (home / "settings.toml").write_text(f'metrics_token = "{TOKEN}"')
    assert numbers(client)["fusionscope_database_up"] == 1


def test_the_gate_of_ones_own_machine_leaves_it_to_the_token(home):
    async def behind(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"behind"})

    assert TestClient(OwnMachineGate(behind, lambda: None)).get(PATH).text == "behind"


def test_numbers_of_this_moment(client, home):
    said = numbers(client)
    assert said["fusionscope_database_up"] == 1
    assert 0 < said["fusionscope_database_latency_seconds"] < 60
    assert said["fusionscope_history_runs"] == 0
    assert said["fusionscope_disk_free_bytes"] > 0
    assert said["fusionscope_cache_bytes"] == 0
    assert said["process_resident_memory_bytes"] > 10**7
    assert said["process_cpu_seconds_total"] > 0


def test_a_database_that_is_away_leaves_its_other_numbers_out(client, home, monkeypatch):
    home.mkdir()
    monkeypatch.setenv("FUSIONSCOPE_DATABASE_URL", "postgresql://fs:s3cret@127.0.0.1:1/fs")
    said = numbers(client)
    assert said["fusionscope_database_up"] == 0
    assert not any("latency" in name or "history_runs" in name for name in said)
    assert said["fusionscope_disk_free_bytes"] > 0


def test_jobs_that_run_or_wait_by_kind(client, home):
    with (
        a_job(home, "queued", supervised=True, kind="ingest", number=1),
        a_job(home, "queued", supervised=True, kind="ingest", number=2),
        a_job(home, "running", supervised=True, kind="capture", number=3),
        a_job(home, "queued", supervised=False, number=4),
    ):
        said = numbers(client)
    assert said["fusionscope_jobs,kind=ingest,state=queued"] == 2
    assert said["fusionscope_jobs,kind=capture,state=running"] == 1
    assert sum(value for name, value in said.items() if name.startswith("fusionscope_jobs,")) == 3
    assert 0 <= said["fusionscope_oldest_waiting_job_seconds"] < 60
    assert said["fusionscope_abandoned_jobs"] == 0


def test_a_job_that_ended_is_counted_once(client, home):
    def said() -> list[float]:
        labels = ",kind=ingest,outcome=failed"
        names = ("job_seconds_count", "job_seconds_sum", "job_input_bytes_total")
        of_all = numbers(client)
        return [of_all.get(f"fusionscope_{name}{labels}", 0.0) for name in names]

    before = said()
    with a_job(home, "failed", supervised=False, kind="ingest", ran_s=4.0, input_bytes=1000):
        first, second = said(), said()
    assert first == second
    assert first == pytest.approx([before[0] + 1, before[1] + 4.0, before[2] + 1000])


def test_jobs_that_ended_before_the_server_began_are_not_its_own(home):
    with a_job(home, "finished", supervised=False):
        assert list(EndedJobs(time.time() + 60).new()) == []
        (record,) = EndedJobs(0.0).new()
    assert record[1].state == "finished"


def test_page_runs_are_counted_by_how_they_ended(client):
    def n(outcome: str) -> float:
        name = "fusionscope_page_run_seconds_count,outcome={},page=Kernels"
        return numbers(client).get(name.format(outcome), 0)

    before = [n("ok"), n("problem"), n("failed")]
    with counted.counted_page_run("Kernels"):
        pass
    with counted.counted_page_run("Kernels") as run:
        run.outcome = "problem"
    with pytest.raises(ValueError), counted.counted_page_run("Kernels"):
        raise ValueError
    with pytest.raises(KeyboardInterrupt), counted.counted_page_run("Kernels"):
        raise KeyboardInterrupt  # as a click that ends a script early
    assert [n("ok"), n("problem"), n("failed")] == [before[0] + 2, before[1] + 1, before[2] + 1]


def test_a_page_says_how_it_ended(client, monkeypatch):
    from profiler_core.ui import page

    shown = []
    monkeypatch.setattr(page, "problem_card", lambda *words: shown.append(words))
    monkeypatch.setattr(page, "let_in", lambda: None)
    spec = dataclasses.replace(page_specs()[0], name="", for_admins=False)  # as its file has it
    name = f"fusionscope_page_run_seconds_count,outcome=problem,page={spec.title}"
    before = numbers(client).get(name, 0)
    with page.page(spec):
        raise BadInput("x is empty.", remedy="Fill it.")
    assert numbers(client)[name] == before + 1
    assert shown == [("x is empty.", "Fill it.")]


def test_refusals_are_counted_by_their_reason(client):
    name = "fusionscope_refused_requests_total,reason=token"
    before = numbers(client).get(name, 0)
    assert client.get("/api/runs/export").status_code == 401
    assert client.get("/api/runs/export?token=x").status_code == 401
    assert client.get(PATH).status_code == 401
    assert numbers(client)[name] == before + 3


def test_each_family_is_declared_once_with_its_unit():
    names = [metric.name for metric in (*counted.COUNTED, *moment.ASKED)]
    assert len(names) == len(set(names))
    for metric in (*counted.COUNTED, *moment.ASKED):
        assert re.fullmatch(r"fusionscope_[a-z_]+[a-z]", metric.name)
        assert not metric.name.endswith("_total")  # the format adds it


def test_no_label_can_hold_a_person_or_a_run(client):
    allowed = {"page", "outcome", "reason", "le", "kind", "state"}
    # The page of tests/test_page_specs.py was run by this process where both are one worker's.
    pages = {"Made up", *(spec.title for spec in page_specs())}
    answer = client.get(PATH, headers={"Authorization": f"Bearer {TOKEN}"})
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            assert set(sample.labels) <= allowed
            assert sample.labels.get("page", "Overview") in pages
            assert math.isfinite(sample.value)
