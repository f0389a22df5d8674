"""What the verbs print with --json is what their records declare: every key, every type."""

import json
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from profiler_core.answers import (
    compare,
    counters,
    gate,
    history,
    logs,
    memory,
    ranks,
    summary,
    sweep,
    telemetry,
)
from profiler_core.answers.encoding import plain
from profiler_core.answers.record import Answer
from profiler_core.cli import audit, doctor, export
from profiler_core.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces"
FIXTURES = ROOT / "tests" / "fixtures"
CUSTOM, BREAKY = SAMPLES / "customcnn", SAMPLES / "breaky"
NCU = FIXTURES / "counters" / "resnet50_b32.eager.ncu.csv.gz"
LIMITS = ("--max-step-time", "+500%", "--max-kernels", "+5%")
ASKED = {
    "summary": (summary.SummaryAnswer, ("summary", CUSTOM / "default")),
    "summary of a CPU": (
        summary.SummaryAnswer,
        ("summary", FIXTURES / "captures" / "breaky.default"),
    ),
    "compare": (compare.ComparisonAnswer, ("compare", CUSTOM)),
    "compare on a CPU": (
        compare.ComparisonAnswer,
        ("compare", *(FIXTURES / "captures" / f"breaky.{v}" for v in ("eager", "default"))),
    ),
    "logs": (logs.LogsAnswer, ("logs", BREAKY / "default", "--baseline", BREAKY / "eager")),
    "memory": (memory.MemoryAnswer, ("memory", SAMPLES / "simplecnn-training/reduce-overhead")),
    "telemetry": (telemetry.TelemetryAnswer, ("telemetry", CUSTOM / "eager")),
    "counters": (counters.CountersAnswer, ("counters", NCU)),
    "ranks": (ranks.RanksAnswer, ("ranks", SAMPLES / "ddp")),
    "sweep": (sweep.SweepAnswer, ("sweep", FIXTURES / "sweeps" / "simplecnn_cpu")),
    "gate": (gate.GateAnswer, ("gate", CUSTOM / "eager", CUSTOM / "default", *LIMITS)),
    "export": (
        export.ExportAnswer,
        ("export", BREAKY / "eager", BREAKY / "default", "-o", "merged.json"),
    ),
    "import": (history.ImportAnswer, ("runs", "import", BREAKY / "eager")),
    "list": (history.RunsAnswer, ("runs", "list")),
    "baseline": (history.BaselinesAnswer, ("runs", "baseline")),
    "retention": (history.RetentionAnswer, ("runs", "retention", "--keep-captures", "1")),
    "reconcile": (history.ReconcileAnswer, ("runs", "reconcile")),
    "audit": (audit.AuditAnswer, ("audit",)),
    "doctor": (doctor.DoctorAnswer, ("doctor",)),
}


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory, quick_python):
    folder = tmp_path_factory.mktemp("records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUSIONSCOPE_HOME", str(folder / "home"))
        patch.chdir(folder)
        patch.setattr(sys, "executable", str(quick_python))  # asked by doctor
        for index, name in enumerate(("older", "newer")):  # what retention may take
            run = folder / "home" / "runs" / name / "eager"
            shutil.copytree(FIXTURES / "captures" / "breaky.eager", run)
            record = json.loads((run / "run.json").read_text())
            ids = {"run_id": f"{name}-eager", "capture_id": name, "baseline_run_id": None}
            record |= {**ids, "created_at": f"2026-11-{index + 1:02}T00:00:00Z"}
            (run / "run.json").write_text(json.dumps(record))
        assert main(["runs", "reconcile"]) == 0
        assert main(["runs", "baseline", "main", "newer-eager"]) == 0
        yield


@pytest.mark.parametrize("name", ASKED)
def test_the_answer_of_a_verb_is_its_record(name, capsys):
    """Read as the record and written again, it is the same: no key is missing, none is more."""
    kind, words = ASKED[name]
    capsys.readouterr()
    assert main([*map(str, words), "--json"]) in (0, 1, 3)
    answer = json.loads(capsys.readouterr().out)
    assert answer.pop("schema") == 1
    read = msgspec.convert(answer, kind, dec_hook=lambda _, value: Path(value))
    assert plain(read) == answer


def test_a_key_that_no_source_has_is_an_error():
    with pytest.raises(AttributeError, match="the rank of RankAnswer"):
        ranks.RankAnswer.of(object())


def test_what_is_given_goes_before_the_sources():
    class Pair(Answer, frozen=True):
        label: str
        n: int = 3

    assert Pair.of(Path("a"), label="given") == Pair("given", 3)
    assert plain(Pair.of(Pair("first", 1), Pair("second", 2))) == {"label": "first", "n": 1}
