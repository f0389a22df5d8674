"""Turns that share a core, on made-up cores and on this machine's own."""

import os
import threading
from types import SimpleNamespace

import pytest

from profiler_core.capture import cores, launcher
from profiler_core.capture.child.held import held_to
from profiler_core.capture.cores import SharedCores, first_threads, shared_cores
from profiler_core.capture.spec import CaptureSpec, parse_variant

from .test_compile_targets import bench_of, variant

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system binds no threads"
)


@pytest.mark.parametrize("n_cores", [2, 3, 8, 16])
def test_each_core_is_met_in_turns_of_both_directions(n_cores):
    shared = SharedCores(tuple(range(n_cores)))
    met = {(shared.cpu_of(turn), turn % 2) for turn in range(2 * n_cores)}
    assert met == {(cpu, way) for cpu in range(n_cores) for way in (0, 1)}


def test_no_core_is_met_twice_before_all_were():
    assert [SharedCores((4, 5, 6)).cpu_of(turn) for turn in range(5)] == [4, 5, 6, 4, 5]
    assert [SharedCores((4, 5)).cpu_of(turn) for turn in range(5)] == [4, 5, 5, 4, 4]
    assert SharedCores().cpu_of(3) is None


@pytest.mark.parametrize(
    ("settings", "n_ranks", "can_be_held", "cpus"),
    [
        ([(), ()], 1, True, (0, 2)),
        ([(), (("threads", "4"),)], 1, True, (0, 2)),
        ([()], 1, True, ()),  # nobody to share with
        ([(), (("cpus", "0-3"),)], 1, True, ()),  # bound by its words
        ([(), ()], 2, True, ()),  # ranks run at the same time
        ([(), ()], 1, False, ()),  # a step that may start workers
    ],
)
def test_when_turns_share_cores(monkeypatch, settings, n_ranks, can_be_held, cpus):
    monkeypatch.setattr(cores, "first_threads", lambda: (0, 2))
    assert shared_cores(settings, n_ranks=n_ranks, can_be_held=can_be_held).cpus == cpus


def test_one_core_alone_is_shared_anyway(monkeypatch):
    monkeypatch.setattr(cores, "first_threads", lambda: (3,))
    assert shared_cores([(), ()], n_ranks=1, can_be_held=True) == SharedCores()


def test_a_core_with_two_threads_is_one(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2")):
        (tmp_path / f"cpu{cpu}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}/topology/thread_siblings_list").write_text(siblings + "\n")
    assert first_threads(tmp_path) == (0, 1, 3)  # of 3 nothing is known: a core of its own


def test_a_system_without_affinity_has_no_cores(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert first_threads() == ()
    with held_to(0) as cpu:
        assert cpu is None


@needs_affinity
def test_the_launching_thread_alone_is_held_and_let_go():
    before = os.sched_getaffinity(0)
    cpu, done, started = min(before), threading.Event(), threading.Event()
    earlier, later = [], []

    def wait(seen):
        started.set()
        done.wait()
        seen.append(os.sched_getaffinity(0))

    old = threading.Thread(target=wait, args=(earlier,))
    old.start()
    started.wait()
    with held_to(cpu) as held:
        assert held == cpu
        assert os.sched_getaffinity(0) == {cpu}
        assert os.sched_getaffinity(old.native_id) == before
        young = threading.Thread(target=wait, args=(later,))
        young.start()  # as a library starts one in the middle of a step
    done.set()
    old.join()
    young.join()
    assert os.sched_getaffinity(0) == before
    assert (earlier, later) == ([before], [before])


@needs_affinity
def test_a_step_that_fails_lets_the_thread_go():
    before = os.sched_getaffinity(0)
    with pytest.raises(ValueError), held_to(min(before)):
        raise ValueError
    assert os.sched_getaffinity(0) == before


@needs_affinity
def test_a_cpu_that_is_not_there_holds_nobody(monkeypatch):
    def refused(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    with held_to(0) as cpu:
        assert cpu is None
    with held_to(None) as cpu:
        assert cpu is None


def rounds_of(finished):
    return [run.record["measurement"]["rounds"] for run in finished.runs]


@needs_affinity
@pytest.mark.torch
def test_the_turns_of_a_capture_share_cores(monkeypatch, capture_tiny):
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    # The rule is of GPUs: a step on the CPU has threads of its own, which need all cores.
    assert {r["cpu"] for rounds in rounds_of(capture_tiny("model", "eager,eager+threads=1"))
            for r in rounds} == {None}  # fmt: skip
    monkeypatch.setattr(launcher, "_cores_of", lambda runs, _: SharedCores(cpus))
    finished = capture_tiny("model", "eager,eager+threads=1")
    for rounds in rounds_of(finished):
        assert [r["cpu"] for r in rounds] == [SharedCores(cpus).cpu_of(r["index"]) for r in rounds]
    assert [[r["order"] for r in rounds] for rounds in rounds_of(finished)] == [[0, 1], [1, 0]]


@needs_affinity
@pytest.mark.parametrize(("device", "n"), [("cuda:0", 2), ("cpu", 0)])
def test_cores_are_shared_on_a_gpu_alone(monkeypatch, device, n):
    monkeypatch.setattr(cores, "first_threads", lambda: (0, 2))
    run = SimpleNamespace(variant=parse_variant("eager"), can_be_held=True)
    context = SimpleNamespace(is_gpu=device != "cpu", spec=CaptureSpec("customcnn"))
    assert len(launcher._cores_of([run, run], context).cpus) == n


@pytest.mark.torch
@pytest.mark.parametrize(
    ("function", "options", "can_be_held"),
    [
        ("training", {}, False),  # its backward pass runs in another thread
        ("step_and_model", {}, False),
        ("decoding", {}, True),
        ("net", {}, True),
    ],
)
def test_a_step_of_several_threads_is_not_held(function, options, can_be_held):
    step = bench_of(function, **options).step(variant("eager"))
    assert step.can_be_held is can_be_held
