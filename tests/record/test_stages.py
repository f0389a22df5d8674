"""Warm-up, rounds and peaks on a made-up GPU: what is read, and when anything waits for it."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import passes
from profiler_core.capture.child.warmup import Limits
from profiler_core.capture.round_plan import RoundPlan
from profiler_core.record.stages import profiled
from profiler_core.record.stages.profiled import Profiled
from profiler_core.record.stages.steady import Memory, Telemetry
from profiler_core.record.stages.timing import Timing
from profiler_core.record.stages.warm_up import WarmUp


class Gpu:
    """Each step takes `step_ms` on the device; the host is `lag` steps ahead of it."""

    def __init__(self, step_ms=2.0, lag=3):
        self.n_waits = 0
        self.n_recorded = 0
        self.n_done = 0
        self.step_ms, self.lag = step_ms, lag
        self.cuda = SimpleNamespace(
            Event=lambda enable_timing: Event(self), empty_cache=lambda: None
        )

    def synchronize(self):
        self.n_waits += 1
        self.n_done = self.n_recorded


class Event:
    def __init__(self, gpu):
        self.gpu = gpu

    def record(self):
        self.number = self.gpu.n_recorded = self.gpu.n_recorded + 1
        self.gpu.n_done = max(self.gpu.n_done, self.number - self.gpu.lag)

    def query(self):
        return self.number <= self.gpu.n_done

    def elapsed_time(self, later):
        assert self.query()
        assert later.query(), "the time of an event that has not come to pass"
        return (later.number - self.number) * self.gpu.step_ms


@pytest.fixture
def gpu():
    return Gpu()


@pytest.fixture
def recording(gpu, tmp_path):
    diary = []
    found = SimpleNamespace(
        torch=gpu,
        device=SimpleNamespace(type="cuda"),
        is_cuda=True,
        clock=gpu,
        directory=Path(tmp_path),
        measurement={},
        typical_step_ns=1,
        save=lambda: diary.append("saved"),
        is_profiled=lambda: False,
        diary=diary,
    )

    @contextlib.contextmanager
    def sampling(period_s):
        diary.append(f"samples every {period_s} s")
        yield
        diary.append("samples no more")

    found.sampling = sampling
    return found


def run(stage, recording, most=10_000):
    assert stage.begin(recording)
    for n in range(1, most + 1):
        if stage.step():
            return n
    raise AssertionError("the stage does not end")


def test_a_warm_up_waits_for_the_device_once_at_its_end(gpu, recording):
    n = run(WarmUp(Limits(10, 200, 10**12)), recording)
    assert gpu.n_waits == 1
    assert n == 10 + gpu.lag  # ten are needed, and were seen when the host was three ahead
    assert recording.measurement["warmup_ended_by"] == "steady"
    assert recording.measurement["warmup_step_ns"] == [2_000_000] * n
    assert recording.typical_step_ns == 2_000_000


def test_a_warm_up_of_ranks_ends_at_its_step_whatever_the_times(gpu, recording):
    gpu.lag = 1_000  # nothing is known before the end
    assert run(WarmUp(Limits(20, 20, 0)), recording) == 20
    assert recording.measurement["warmup_step_ns"] == [2_000_000] * 20


def test_a_warm_up_that_is_cut_off_keeps_what_it_knows(gpu, recording):
    stage = WarmUp(Limits(10, 200, 10**12))
    stage.begin(recording)
    for _ in range(5):
        assert not stage.step()
    stage.abandon()
    assert gpu.n_waits == 0
    assert recording.measurement["warmup_step_ns"] == [2_000_000] * (5 - gpu.lag)
    assert recording.measurement["warmup_ended_by"] is None


def test_a_round_waits_at_its_two_ends_and_nowhere_else(gpu, recording):
    recording.typical_step_ns = 2_000_000
    n = run(Timing(RoundPlan(4), 10, 0.1, None), recording)
    assert n == 4 * 50  # 0.1 s of steps of 2 ms
    assert gpu.n_waits == 4 * 2
    assert [r["n_steps"] for r in recording.measurement["rounds"]] == [50] * 4
    assert recording.measurement["step_event_ns"] == [2_000_000] * 200
    assert recording.measurement["interleaved"] is False
    assert recording.diary == ["saved"] * 3  # the last is saved with what comes next


def test_rounds_of_ranks_are_as_long_as_asked_and_sampled(recording):
    n = run(Timing(RoundPlan(3, float("inf")), 7, 0.0, 0.1), recording)
    assert n == 21
    assert recording.diary[0] == "samples every 0.1 s"
    assert recording.diary[-1] == "samples no more"


def test_a_round_that_is_cut_off_is_not_kept_and_ends_its_sampling(recording):
    stage = Timing(RoundPlan(3), 5, 0.0, 0.1)
    stage.begin(recording)
    for _ in range(8):
        assert not stage.step()
    stage.abandon()
    assert len(recording.measurement["rounds"]) == 1
    assert recording.diary[-1] == "samples no more"


def test_peaks_are_of_three_steps(monkeypatch, recording):
    monkeypatch.setattr(passes, "reset_peaks", lambda device: recording.diary.append("reset"))
    monkeypatch.setattr(passes, "peaks_since", lambda device: {"peak_reserved_bytes": 7})
    assert run(Memory(), recording) == 3
    assert recording.diary == ["reset"]
    assert recording.measurement == {"peak_reserved_bytes": 7}


def test_telemetry_counts_its_steps_and_can_be_left_out(recording):
    n = run(Telemetry(1e-9, 0.05), recording)
    assert recording.measurement["telemetry"]["n_steps"] == n
    assert recording.diary == ["samples every 0.05 s", "samples no more"]
    assert not Telemetry(0.0, 0.05).begin(recording)


def _stepped(stage, n_steps):
    """Whether the stage was over after one of so many steps."""
    return True in [stage.step() for _ in range(n_steps)]


def evaluate(gpu):
    """What a loop does between two steps: the device is busy with it."""
    gpu.n_recorded += 1_000


def test_a_pause_ends_the_round_and_the_next_one_begins_after_it(gpu, recording):
    stage = Timing(RoundPlan(3), 10, 0.0, None)
    stage.begin(recording)
    assert not _stepped(stage, 4)
    stage.pause()
    evaluate(gpu)
    assert stage.resume()
    assert [stage.step() for _ in range(20)] == [False] * 19 + [True]
    assert [r["n_steps"] for r in recording.measurement["rounds"]] == [4, 10, 10]
    assert recording.measurement["step_event_ns"] == [2_000_000] * 24


def test_a_pause_before_the_first_step_of_a_round_keeps_none(gpu, recording):
    stage = Timing(RoundPlan(2), 10, 0.0, None)
    stage.begin(recording)
    stage.pause()
    assert stage.resume()
    assert recording.measurement["rounds"] == []


def test_a_pause_in_the_last_round_ends_the_rounds(gpu, recording):
    stage = Timing(RoundPlan(1), 10, 0.0, None)
    stage.begin(recording)
    assert not stage.step()
    stage.pause()
    assert not stage.resume()
    assert [r["n_steps"] for r in recording.measurement["rounds"]] == [1]


def test_rounds_on_a_cpu_leave_a_pause_out(recording, monkeypatch):
    now = iter(range(0, 10_000, 7))
    monkeypatch.setattr(
        "profiler_core.record.stages.timing.time.perf_counter_ns", lambda: next(now)
    )
    recording.is_cuda = False
    stage = Timing(RoundPlan(2), 3, 0.0, None)
    stage.begin(recording)
    stage.step()
    stage.pause()
    for _ in range(100):
        next(now)
    stage.resume()
    assert [stage.step() for _ in range(3)] == [False, False, True]
    assert recording.measurement["step_event_ns"] == [7] * 4
    assert [r["wall_ns"] for r in recording.measurement["rounds"]] == [7, 21]


def test_a_warm_up_goes_on_after_a_pause_and_does_not_time_it(gpu, recording):
    stage = WarmUp(Limits(10, 200, 10**12))
    stage.begin(recording)
    assert not _stepped(stage, 6)
    stage.pause()
    evaluate(gpu)
    assert stage.resume()
    assert [stage.step() for _ in range(4 + gpu.lag)][-1]
    assert set(recording.measurement["warmup_step_ns"]) == {2_000_000}


def test_peaks_are_the_highest_of_both_sides_of_a_pause(monkeypatch, recording):
    peaks = iter([9, 4])
    monkeypatch.setattr(passes, "reset_peaks", lambda device: recording.diary.append("reset"))
    monkeypatch.setattr(passes, "peaks_since", lambda device: {"peak_reserved_bytes": next(peaks)})
    stage = Memory()
    stage.begin(recording)
    stage.step()
    stage.pause()
    assert stage.resume()
    assert [stage.step(), stage.step()] == [False, True]
    assert recording.diary == ["reset", "reset"]
    assert recording.measurement == {"peak_reserved_bytes": 9}


def test_telemetry_ends_with_the_steps_that_it_has(recording):
    stage = Telemetry(1e9, 0.05)
    stage.begin(recording)
    stage.pause()
    assert stage.resume()  # none yet: it began anew
    stage.step()
    stage.pause()
    assert not stage.resume()
    assert recording.measurement["telemetry"]["n_steps"] == 1
    assert recording.diary == ["samples every 0.05 s", "samples no more"] * 2


class Pass:
    def __init__(self, device, path, schedule, stacks):
        self.diary = []

    def start(self):
        PASSES.append(self.diary)

    def stepped(self):
        self.diary.append("step")
        return len(self.diary) == 3

    def drop(self):
        self.diary.append("dropped")

    def result(self):
        return dict.fromkeys(
            (
                "started_ns",
                "wall_ns",
                "n_active_steps",
                "peak_allocated_bytes",
                "peak_reserved_bytes",
            )
        )


PASSES: list[list[str]] = []


@pytest.fixture
def profiled_steps(monkeypatch):
    monkeypatch.setattr(profiled.passes, "ProfiledPass", Pass)
    PASSES.clear()
    return Profiled("trace.json.gz", {}, False, 0.05)


def test_a_trace_that_a_pause_would_lie_in_is_made_anew(profiled_steps, recording):
    profiled_steps.begin(recording)
    profiled_steps.step()
    profiled_steps.pause()
    assert profiled_steps.resume()
    assert [profiled_steps.step() for _ in range(3)] == [False, False, True]
    assert PASSES == [["step", "dropped"], ["step"] * 3]
    assert "notes" not in recording.measurement


def test_profiled_steps_that_do_not_fit_between_pauses_are_left_out(profiled_steps, recording):
    notes = []
    recording.note = notes.append
    profiled_steps.begin(recording)
    resumed = []
    for _ in range(6):
        profiled_steps.step()
        profiled_steps.pause()
        resumed.append(profiled_steps.resume())
    assert resumed == [True] * 5 + [False]
    assert notes == [
        "The loop was paused 6 times within the profiled steps, so they were left out: pass fewer "
        "steps=, or pause less often."
    ]
