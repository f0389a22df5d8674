"""Real captures, each made once: a child takes seconds to import torch."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from profiler_core.capture import launcher
from profiler_core.capture.interpreter import probe
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.capture.variant_run import VariantRun
from tests.quick_python import QUICK_COMPILER, is_quick_compiler

TINY = Path(__file__).resolve().parent / "workloads" / "tiny.py"
PLANTED = TINY.with_name("planted.py")

# As short as a capture can be; tests switch on what they look at.
SHORT = {
    "device": "cpu",
    "rounds": 2,
    "round_steps": 2,
    "round_seconds": 0.0,
    "steps": 2,
    "profile": False,
    "numerics": False,
    "warm_compile": False,
}


@pytest.fixture(scope="session")
def interpreter(quick_python):
    """What the interpreter of the tests can capture, asked once.

    Of one that has imported torch; tests/capture/test_capture_cli.py asks a new one.
    """
    return replace(probe(str(quick_python)), executable=sys.executable)


@pytest.fixture(scope="session")
def capture_tiny(tmp_path_factory, interpreter, quick_python):
    """`capture_tiny(function, variants, is_cancelled=…, listener=…, **spec)` -> FinishedCapture.

    The children are forked from a process that has imported torch.
    """
    home = tmp_path_factory.mktemp("home")
    quick = replace(interpreter, executable=str(quick_python))
    return _captures_of_tiny(tmp_path_factory, home, quick)


@pytest.fixture(scope="session")
def capture_tiny_alone(tmp_path_factory, interpreter):
    """The same with children as users have them, for what a forked one cannot show."""
    return _captures_of_tiny(tmp_path_factory, tmp_path_factory.mktemp("home"), interpreter)


def _captures_of_tiny(tmp_path_factory, home, interpreter):
    def capture(function, variants="eager", *, path=TINY, listener=None, is_cancelled=None, **more):
        spec = CaptureSpec(
            f"{path}:{function}", variants=parse_variants(variants), **{**SHORT, **more}
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FUSIONSCOPE_HOME", str(home))
            for name, value in QUICK_COMPILER.items():
                patch.setenv(name, value)
            if interpreter.executable == sys.executable and is_quick_compiler():
                patch.delenv("CXX")  # what it takes cold is asked too
            patch.setattr(launcher, "probe", lambda python, look: interpreter)
            return launcher.run_capture(
                spec,
                tmp_path_factory.mktemp("out"),
                listener=listener,
                is_cancelled=is_cancelled or (lambda: False),
            )

    capture.home = home  # stands in the environment of each child
    return capture


@pytest.fixture(scope="session")
def full(capture_tiny_alone, logs_of_second):
    """Everything on: eager and inductor, with children as users have them."""
    with pytest.MonkeyPatch.context() as patch:
        end = VariantRun.end_check

        def end_and_keep(run: VariantRun) -> None:
            end(run)
            log = run._work / "torch_trace"
            if log.is_dir():  # goes away with the capture
                shutil.copytree(log, logs_of_second / run.label)

        patch.setattr(VariantRun, "end_check", end_and_keep)
        return capture_tiny_alone(
            "model",
            "eager,default",
            profile=True,
            stacks=True,
            numerics=True,
            warm_compile=True,
            rounds=3,
            options=(("width", "16"),),
            batch_size=2,
        )


@pytest.fixture(scope="session")
def logs_of_second(tmp_path_factory):
    """Structured logs of the second processes of `full`, in a folder for each variant."""
    return tmp_path_factory.mktemp("second")


@pytest.fixture(scope="session")
def planted(capture_tiny):
    """A compiler that cannot compile, and after it one that answers wrong."""
    variants = "eager,backend:planted_broken,backend:planted_wrong"
    return capture_tiny("model", variants, path=PLANTED, numerics=True)


def processes_with(text):
    """Processes of this machine whose environment holds the text (Linux)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
