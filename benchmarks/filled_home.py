"""A home with something on every page that is not about a trace, made as its users make it.

    FUSIONSCOPE_HOME=HOME python -m benchmarks.filled_home

Captures of tiny models on this machine's CPU, as jobs: a finished, a failed, a running and a
waiting one, a sweep, an experiment; runs of five weeks with a regression, tags and a baseline;
reviews with owners, notes and signatures; deleted captures; traces that are broken or missing,
uploads that are no trace. The last two captures sleep for half an hour, or until somebody cancels
them; HOME/ids.json names what a link needs an id for. It takes some minutes.
"""

import gzip
import json
import shutil
import textwrap
import time
from pathlib import Path

from profiler_core import home
from profiler_core.capture.spec import CaptureSpec, parse_sweep, parse_variants
from profiler_core.door import deeds
from profiler_core.door.asker import Asker
from profiler_core.door.experimenting import Wish, start_experiment
from profiler_core.jobs import service as jobs
from profiler_core.store import history
from profiler_core.ui.choice import open_choice
from profiler_core.ui.review.data import gathered
from profiler_core.ui.sign_in.roles import ALLOWED
from tests.store.history.samples import SAMPLES, redated_copy

PERSON = "ada"
_ASKER = Asker(PERSON, ALLOWED["admin"], role="admin", is_own_machine=True)
_QUICK = {"device": "cpu", "rounds": 4, "round_steps": 3, "round_seconds": 0.02, "steps": 2}
_MODELS = """
    import time

    import torch

    class Breaks(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

        def forward(self, x):
            x = torch.nn.functional.gelu(self.first(x))
            return self.second(x * x.sum().item())

    def build(batch_size=16):
        return Breaks(), (torch.randn(batch_size, 64),)

    def no_weights():
        raise FileNotFoundError("checkpoints/resnet-large-finetuned-2026-11.safetensors")

    def slow():
        time.sleep(1800)
"""


def fill() -> None:
    """All of it, in the home that FUSIONSCOPE_HOME names."""
    models = home.home_directory() / "models" / "recommender_tower.py"
    models.parent.mkdir(parents=True, exist_ok=True)
    models.write_text(textwrap.dedent(_MODELS))
    _trends()
    _faulty()
    _trash()
    ids = {"review": _review(), **_captures(str(models))}
    (home.home_directory() / "ids.json").write_text(json.dumps(ids))


def _trends() -> None:
    for week in range(5):
        for variant in ("eager", "default", "reduce-overhead"):
            redated_copy(
                home.home_directory(), f"bert-nightly-{week}", sample="bert", variant=variant,
                created_at=f"2026-10-{1 + 6 * week:02}T02:30:00Z", whole=week > 2,
                environment={"git_commit": f"{week}abcdef0123", "git_branch": "main",
                             "torch": "2.10.0" if week < 2 else "2.11.0"},
                slower=1.09 if week == 4 and variant == "default" else 1 + 0.004 * (week % 2),
            )  # fmt: skip
        redated_copy(
            home.home_directory(), f"breaky-{week}", whole=week == 4,
            created_at=f"2026-10-{2 + 6 * week:02}T12:00:00Z",
        )  # fmt: skip
    sweep = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "sweeps"
    for folder in sweep.glob("*/*"):
        shutil.copytree(folder, home.runs_directory() / folder.name, dirs_exist_ok=True)
    history.reconcile()
    history.tag("bert-nightly-3.default", "nightly", "release-2.3", person=PERSON)
    history.set_baseline("bert-release-2.3", "bert-nightly-3.default", person=PERSON,
                         note="What ships since the end of October.")  # fmt: skip


def _faulty() -> None:
    """Captures whose candidate has a broken trace, or none; uploads that nobody can read."""
    for name in ("broken-trace", "no-trace"):
        for variant in ("eager", "default"):
            folder = home.runs_directory() / name / variant
            shutil.copytree(SAMPLES / "bert" / variant, folder)
            record = json.loads((folder / "run.json").read_text())
            record |= {"run_id": f"{name}.{variant}", "capture_id": name}
            (folder / "run.json").write_text(json.dumps(record))
        trace = folder / "trace.json.gz"
        packed = trace.read_bytes()
        trace.unlink()
        if name == "broken-trace":
            trace.write_bytes(gzip.compress(b'{"traceEvents": [{"ph": "X", oops' + packed[:4000]))
    for number, text in enumerate((b"", b"epoch,loss\n1,0.7\n", b'{"weights": [1, 2, 3]}'), 1):
        folder = home.home_directory() / "uploads" / "unreadable" / str(number)
        folder.mkdir(parents=True)
        (folder / "trace.json").write_bytes(text)


def _captures(models: str) -> dict[str, str]:
    """One after another, as the queue has them; the last ones still wait and run."""
    variants = parse_variants("eager,default,reduce-overhead")
    spec = CaptureSpec(f"{models}:build", variants=variants, **_QUICK)
    finished = deeds.start_capture(_ASKER, spec)
    failed = deeds.start_capture(_ASKER, CaptureSpec(f"{models}:no_weights", **_QUICK))
    sweep = deeds.start_capture(
        _ASKER, CaptureSpec(f"{models}:build", sweep=parse_sweep("batch-size=1,8,32"), **_QUICK)
    )
    tried = start_experiment(
        _ASKER,
        CaptureSpec(f"{models}:build", **_QUICK),
        Wish("3m", ("capture_scalar_outputs", "mode")),
    )
    for job_id in (finished, failed, sweep):
        _wait(job_id)
    while any(job.is_live for job in jobs.jobs()):
        time.sleep(1)
    running = [deeds.start_capture(_ASKER, CaptureSpec(f"{models}:slow", **_QUICK)) for _ in "12"]
    (failed_capture,) = home.runs_directory().glob("*-no-weights-*")
    return {
        "finished": finished, "failed": failed, "sweep": sweep, "tried": tried,
        "running": running[0], "failed_run": f"run/{failed_capture.name}/eager",
    }  # fmt: skip


def _wait(job_id: str) -> None:
    while jobs.job(job_id).is_live:
        time.sleep(0.5)


def _review() -> str:
    """One that is signed and half done, and one that nobody has worked on."""
    runs = tuple(f"run/bert-nightly-3/{name}" for name in ("eager", "default", "reduce-overhead"))
    sides, findings = gathered(open_choice(runs))
    history.begin_review(
        "Week 43: reduce-overhead against default",
        sides,
        findings,
        person="grace",
        template="weekly",
    )
    review = history.begin_review("Ship default in release 2.3?", sides, findings, person=PERSON)
    states = (("grace", "doing", "2026-11-02"), ("linus.of.the.kernel.team", "open", "2027-01-15"))
    for finding, (owner, state, due) in zip(findings, states, strict=False):
        history.assign_finding(
            review, finding.reference, 0, owner=owner, state=state, due=due, person=PERSON
        )
    first = findings[0]
    history.add_note(
        review, "TF32 is off on purpose: the ranking moves by 0.3 % with it.",
        person="grace", finding=first.key, position=first.position,
    )  # fmt: skip
    history.add_note(
        review, "Measured on the shared H200; power was capped to 600 W.", person=PERSON
    )
    history.change_review(
        review, 1, title="Ship default in release 2.3?", verdict="accept", person=PERSON,
        summary="Faster at equal results. The matrix products stay in fp32 until March.",
    )  # fmt: skip
    history.sign_off(review, "accept", person=PERSON)
    history.sign_off(review, "needs work", person="grace", note="Look at the memory first.")
    return review


def _trash() -> None:
    for name, variants in (("bert-nightly-0", 3), ("breaky-1", 1)):
        keys = [f"run/{name}/{variant}" for variant in ("default", "eager", "reduce-overhead")]
        history.delete_at(keys[:variants], f"run/{name}", name, person=PERSON)


if __name__ == "__main__":
    fill()
