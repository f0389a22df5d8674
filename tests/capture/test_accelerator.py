"""Devices that are not here: XPU and MPS as torch has them, made up function by function."""

import importlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from profiler_core.capture.child import accelerator, passes, serve, timing
from profiler_core.capture.child.accelerator import Accelerator
from profiler_core.capture.child.failures import CannotRunError
from profiler_core.capture.context import Context
from profiler_core.capture.device_lock import lock_path
from profiler_core.capture.devices import check_device, device_of, devices_of
from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.telemetry.sampling import telemetry_of
from profiler_core.errors import BadInput, CaptureFailed
from tests.lazily import Lazily

torch = Lazily("torch")


class Event:
    """Says when it was recorded; 2 ms lie between two of them."""

    n = 0

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = Event.n = Event.n + 1

    def elapsed_time(self, later):
        return 2.0 * (later.at - self.at)


@pytest.fixture
def made_up(monkeypatch):
    """Both modules as torch 2.9 has them, and what was called on them."""
    calls = []

    def said(name):
        return lambda *given: calls.append((name, *map(str, given)))

    xpu = SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 2, is_initialized=lambda: True,
        set_device=said("set_device"), synchronize=said("synchronize"), Event=Event,
        empty_cache=said("empty_cache"), reset_peak_memory_stats=said("reset"),
        max_memory_allocated=lambda device: 3, max_memory_reserved=lambda device: 4,
        get_rng_state_all=lambda: [torch.tensor([1]), torch.tensor([2])],
        get_device_properties=lambda index: SimpleNamespace(name="Arc", total_memory=16),
    )  # fmt: skip
    mps = SimpleNamespace(
        synchronize=said("synchronize"), Event=Event, empty_cache=said("empty_cache"),
        get_rng_state=lambda: torch.tensor([3]), current_allocated_memory=lambda: 5,
    )  # fmt: skip
    real = importlib.import_module("torch")
    monkeypatch.setattr(real, "xpu", xpu)
    monkeypatch.setattr(real, "mps", mps)
    monkeypatch.setattr(real.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(real.backends.mps, "get_name", lambda: "Apple M3", raising=False)
    return calls


STEP = SimpleNamespace(reset_every=None, refresh=lambda: None, ready=lambda: None, n_shapes=1)


class Step(SimpleNamespace):
    def __call__(self, index):
        return index


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["xpu", "mps"])
def test_steps_are_timed_by_the_events_of_the_device(made_up, kind):
    clock = timing.Clock(torch.device(kind))
    timed = clock.round(Step(**vars(STEP)), 0, 3)
    assert timed["step_ns"] == [2_000_000] * 3
    assert {name for name, *_ in made_up} == {"synchronize"}
    assert made_up[0][1:] == (("xpu",) if kind == "xpu" else ())  # there is one mps


@pytest.mark.torch
def test_xpu_has_peaks_and_a_device_to_select(made_up):
    device = torch.device("xpu", 1)
    Accelerator(device).select()
    assert made_up == [("set_device", "xpu:1")]
    peaks = passes.peaks(Step(**vars(STEP)), timing.Clock(device), device)
    assert peaks == {"peak_allocated_bytes": 3, "peak_reserved_bytes": 4}
    assert ("reset", "xpu:1") in made_up
    assert ("empty_cache",) in made_up
    assert [activity.name for activity in Accelerator(device).activities()] == ["XPU"]
    assert Accelerator(device).lacks() == []
    assert Accelerator(device).has_fp64


@pytest.mark.torch
def test_what_mps_lacks_is_left_out_with_a_sentence(made_up):
    device = torch.device("mps")
    Accelerator(device).select()
    nothing = {"peak_allocated_bytes": None, "peak_reserved_bytes": None}
    assert passes.peaks(Step(**vars(STEP)), timing.Clock(device), device) == nothing
    assert made_up == []
    assert Accelerator(device).activities() == []
    assert not Accelerator(device).has_fp64
    kernels, peaks = Accelerator(device).lacks()
    assert "records no kernels of mps" in kernels
    assert peaks == "torch keeps no peak of memory for mps."


@pytest.mark.torch
def test_a_cpu_has_nothing_to_wait_for_and_lacks_nothing():
    cpu = Accelerator(torch.device("cpu"))
    cpu.select()
    cpu.synchronize()
    assert (cpu.has_events, cpu.has_peaks, cpu.activities(), cpu.lacks()) == (False, False, [], [])


@pytest.mark.torch
def test_the_run_says_which_device_it_had(made_up):
    from profiler_core.capture.child.environment import environment

    facts = environment(torch.device("xpu", 1))
    assert (facts["gpu"], facts["gpu_memory_bytes"], facts["device"]) == ("Arc", 16, "xpu:1")
    assert environment(torch.device("mps"))["gpu"] == "Apple M3"
    assert facts["gpu_count"] == 3


@pytest.mark.torch
def test_generators_of_each_device_are_watched(made_up):
    assert [state.tolist() for state in accelerator.generator_states()[1:]] == [[1], [2], [3]]


@pytest.mark.torch
def test_the_child_refuses_what_its_torch_does_not_see(made_up):
    real = importlib.import_module("torch")
    assert str(serve._device(real, "xpu")) == "xpu:0"
    assert str(serve._device(real, "mps")) == "mps:0"
    with pytest.raises(CannotRunError, match="only 2 XPU devices") as caught:
        serve._device(real, "xpu:2")
    assert caught.value.remedy == "Use xpu:0 to xpu:1."
    real.xpu.is_available = lambda: False
    with pytest.raises(CannotRunError, match="sees no XPU device"):
        serve._device(real, "xpu")


APPLE = Interpreter("python", {"gpus": [], "other_devices": {"xpu": 0, "mps": 1}})
INTEL = Interpreter("python", {"gpus": [], "other_devices": {"xpu": 2, "mps": 0}})
NEITHER = Interpreter("python", {"gpus": []})  # also what an older probe said


def _spec(device: str, **more) -> CaptureSpec:
    return CaptureSpec("customcnn", device=device, **more)


@pytest.mark.parametrize(
    ("device", "interpreter", "chosen"),
    [
        ("auto", APPLE, "mps"), ("mps:0", APPLE, "mps"), ("auto", INTEL, "xpu:0"),
        ("auto", NEITHER, "cpu"),
        ("mps", APPLE, "mps"), ("xpu", INTEL, "xpu:0"), ("xpu:1", INTEL, "xpu:1"),
        ("auto", Interpreter("python", {**INTEL.facts, "gpus": [{}]}), "cuda:0"),
    ],
)  # fmt: skip
def test_the_device_is_chosen_among_those_that_torch_sees(device, interpreter, chosen):
    check_device(_spec(device), interpreter)
    assert device_of(_spec(device), interpreter) == chosen


def test_a_device_that_is_not_there_is_refused_before_anything_starts():
    with pytest.raises(CaptureFailed, match="sees no MPS devices") as caught:
        check_device(_spec("mps"), INTEL)
    assert "Use --device xpu or cpu" in caught.value.remedy
    with pytest.raises(CaptureFailed, match="sees 2 XPU devices"):
        check_device(_spec("xpu:2"), INTEL)
    with pytest.raises(BadInput, match="Device 'tpu' is unknown"):
        _spec("tpu")
    with pytest.raises(CaptureFailed, match="ranks run on CUDA devices"):
        devices_of(_spec("xpu", ranks=2), "xpu:0", INTEL)


def test_what_knows_cuda_alone_stays_away_from_other_devices(tmp_path):
    context = Context(_spec("mps"), APPLE, "mps", *[None] * 4)  # type: ignore[arg-type]
    assert context.is_gpu
    assert not context.is_cuda
    assert not replace(context, device="cpu").is_gpu
    assert telemetry_of(["mps"], []).reason == "No library reads mps."
    assert [lock_path(tmp_path, device).name for device in ("mps", "xpu:1", "cuda:1", "cpu")] == [
        "mps0.lock", "xpu1.lock", "gpu1.lock", "cpu.lock",
    ]  # fmt: skip


def test_doctor_and_the_page_know_them():
    from profiler_core.capture.telemetry.sources import Gpus
    from profiler_core.cli.doctor import diagnose
    from profiler_core.ui.capture.machine import Facts, Machine
    from tests.cli.test_doctor import FACTS

    found = diagnose(Interpreter("python", {**FACTS, **APPLE.facts}), Gpus(reason="None."))
    gpu = next(finding for finding in found if finding.what == "GPU")
    assert (gpu.state, gpu.detail.partition(":")[0]) == ("partly", "1 MPS device")
    assert Machine(facts=Facts(other_devices={"xpu": 2, "mps": 0})).devices == ("xpu:0", "xpu:1")
