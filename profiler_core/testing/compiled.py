"""A model compiled anew in this process, and short recordings of it."""

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from profiler_core.errors import FusionscopeError
from profiler_core.record import Recorder

WORKLOAD = "test"
# A recording only shows what was compiled and where the time goes: times are judged elsewhere.
_PLAN: dict[str, Any] = {
    "training": False, "rounds": 5, "round_steps": 3, "round_seconds": 0, "telemetry_seconds": 0,
    "warm_up_floor": 1, "warm_up_ceiling": 8, "steps": 3,
}  # fmt: skip


class LeftOutError(Exception):
    """Something that a check needs cannot be had here; the sentence says what."""


def uncompiled(model: Any) -> Any:
    """The module or function that was given to torch.compile; itself where it was not."""
    module = getattr(model, "_orig_mod", model)
    return getattr(module, "_torchdynamo_orig_callable", module)


def compiled_anew(model: Any, **options: Any) -> Any:
    """The model compiled, with nothing left of what was compiled in this process before.

    Args:
        model: as it was given to a check.
        options: of torch.compile.
    """
    torch._dynamo.reset()
    return torch.compile(uncompiled(model), **options)


def n_compilations() -> int:
    """How many frames Dynamo has compiled or tried to in this process."""
    from torch._dynamo.utils import counters

    return int(sum(counters["frames"].values()))


def recorded(call: Callable[[], object], folder: Path, variant: str, **options: Any) -> Path:
    """The run directory of a short recording of this call, again and again.

    Raises:
        LeftOutError: it could not be recorded.
    """
    with (
        quiet(),
        Recorder(folder, workload=WORKLOAD, variant=variant, **{**_PLAN, **options}) as recorder,
    ):
        while not recorder.is_done:
            call()
            recorder.step()
    if recorder.directory is None:
        raise LeftOutError("nothing was recorded.")
    return recorder.directory


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the Recorder tells a user of a script is no news in a test."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


def told(error: Exception) -> str:
    """An error in one line."""
    if isinstance(error, FusionscopeError):
        return f"{error.problem} {error.remedy}"
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
