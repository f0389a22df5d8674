"""A variant that is still compiled when the time of a search is over is left out, alone."""

from types import SimpleNamespace

import pytest

from profiler_core.capture.context import Context
from profiler_core.capture.process import ChildFailure
from profiler_core.capture.run_writer import RunWriter
from profiler_core.capture.selection import Selection
from profiler_core.capture.variant_run import VariantRun
from profiler_core.capture.variant_spec import parse_variant

BUILT = {"n_shapes": 1, "labels": [""]}
CALLED = {
    "first_call_ns": 1, "settings": {}, "facts": {}, "trains": False, "can_be_held": True
}  # fmt: skip
WARM = {
    "compiled_by_script": None,
    "tracing": None,
    "step_ns": [1],
    "ended_by": "steady",
    "typical_step_ns": 1,
}


class MadeUpChild:
    """Answers what `prepare` asks; looks while it compiles, as one does that waits."""

    def __init__(self, look):
        self._look = look
        self.asked = []
        self.is_killed = False

    def ask(self, command, *_, **__):
        self.asked.append(command)
        if command == "first_call":
            self._look()
        return {"build": BUILT, "first_call": CALLED, "warm_up": WARM}[command]

    def kill(self):
        self.is_killed = True


def prepared(tmp_path, label, is_late):
    context = Context(
        SimpleNamespace(title="bert", n_ranks=1, round_steps=1, round_seconds=0.0), None, "cpu",
        None, SimpleNamespace(say=lambda *_: None), tmp_path, lambda: None,
        selection=Selection(tmp_path, lambda *_: (), is_late=is_late),
    )  # fmt: skip
    run = VariantRun(parse_variant(label), RunWriter(tmp_path / label, {"spec": {}}))
    run.attach(context)
    child = MadeUpChild(run._context.look)
    run._child = child
    run.prepare()
    return run, child


@pytest.mark.parametrize("late", ["default", "max-autotune"])
def test_only_the_variant_that_is_late_is_left_out(tmp_path, late):
    for label in ("default", "max-autotune"):
        run, child = prepared(tmp_path, label, lambda asked: asked == late)
        assert run.is_alive == (label != late)
        assert child.is_killed == (label == late)
        assert child.asked[-1] == ("first_call" if label == late else "warm_up")
    record = prepared(tmp_path, late, lambda asked: asked == late)[0].writer.record
    assert (record["status"], record["error_kind"]) == ("cancelled", None)
    assert record["error"] == "It was not compiled in the time that was left. Give a larger budget."


def test_what_is_ready_is_not_left_out_while_it_is_timed(tmp_path):
    times = []
    run, _ = prepared(tmp_path, "default", lambda _: bool(times))
    times.append("over")
    run._context.look()
    assert run.is_alive


def test_a_failure_of_the_compiler_is_one(tmp_path):
    run, child = prepared(tmp_path, "default", lambda _: False)
    child.ask = lambda *_, **__: (_ for _ in ()).throw(ChildFailure("compile", "No.", ""))
    run.prepare()
    assert run.writer.record["status"] == "failed"
