"""What a variant sets in its process beside torch.compile: `+dynamo.KEY=VALUE`, `+threads=4`, ….

The words are declared in `capture/process_settings.py`, which says what each does.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from typing import Any, Callable, ContextManager, Dict, List, Mapping, Optional, Set

from . import targets
from .failures import CannotRunError

DYNAMO = "dynamo."
COMPILED_AUTOGRAD = DYNAMO + "compiled_autograd"
_MARKED: Set[Any] = set()
_WORDS: Dict[str, Any] = {"true": True, "false": False, "none": None}


def before_torch(settings: Mapping[str, str]) -> None:
    """Bind this process to CPUs: torch's threads are started with what the process has then.

    Raises:
        CannotRunError: this machine has no such CPU, or cannot bind processes.
    """
    text = settings.get("cpus")
    if text is None:
        return
    try:
        os.sched_setaffinity(0, cpus_of(text))
    except (AttributeError, OSError):  # not on a Mac; EINVAL: none of these CPUs is here
        raise CannotRunError(
            "This process cannot be bound to the CPUs {}.".format(text),
            "Leave cpus={} out, or name CPUs that this machine has.".format(text),
        ) from None


def cpus_of(text: str) -> Set[int]:
    """`0-3:8` -> {0, 1, 2, 3, 8}."""
    cpus: Set[int] = set()
    for part in text.split(":"):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def apply(settings: Mapping[str, str]) -> None:
    """Threads and torch._dynamo.config, for the whole process.

    Raises:
        CannotRunError: this torch has no such setting.
    """
    import torch

    if "threads" in settings:
        torch.set_num_threads(int(settings["threads"]))
    for key, text in settings.items():
        if key.startswith(DYNAMO):
            _set_dynamo(key[len(DYNAMO) :], text)


def _set_dynamo(key: str, text: str) -> None:
    import torch

    config: Any = importlib.import_module("torch._dynamo.config")
    if not hasattr(config, key):
        raise CannotRunError(
            "torch._dynamo.config of torch {} has no setting '{}'.".format(torch.__version__, key),
            "Leave dynamo.{}={} out.".format(key, text),
        )
    setattr(config, key, _value(text))


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    try:
        return int(text)
    except ValueError:
        return text


def autograd(
    settings: Mapping[str, str], wrap: Callable[[Any], Any], dynamic: Optional[bool]
) -> Callable[[], ContextManager[Any]]:
    """The context of a loop's backward pass: compiled where compiled autograd is asked for.

    torch's own setting reaches backward passes that run inside of a compiled function alone.

    Args:
        settings: of the variant.
        wrap: compiles the graph of a backward pass.
        dynamic: of torch.compile.
    """
    if _value(settings.get(COMPILED_AUTOGRAD, "false")) is not True:
        return contextlib.nullcontext
    module: Any = importlib.import_module("torch._dynamo.compiled_autograd")
    if not hasattr(module, "_enable"):  # before 2.6
        return lambda: module.enable(wrap)
    return lambda: module._enable(wrap, dynamic=bool(dynamic))


def attention(settings: Mapping[str, str]) -> Optional[Callable[[], ContextManager[Any]]]:
    """A context in which scaled_dot_product_attention has one backend; None: nobody asked.

    Raises:
        CannotRunError: this torch has no such backend.
    """
    name = settings.get("sdpa")
    if name is None:
        return None
    import torch

    try:
        module = importlib.import_module("torch.nn.attention")  # 2.3 on
        backend = getattr(module.SDPBackend, SDPA_BACKENDS[name])
    except (ImportError, AttributeError):
        raise CannotRunError(
            "torch {} has no attention backend '{}'.".format(torch.__version__, name),
            "Leave sdpa={} out.".format(name),
        ) from None
    return lambda: module.sdpa_kernel(backend)


SDPA_BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}


@contextlib.contextmanager
def _both(first: Callable[[], ContextManager[Any]], second: Callable[[], ContextManager[Any]]):  # type: ignore[no-untyped-def]
    with first(), second():
        yield


def within(
    context: Callable[[], ContextManager[Any]], settings: Mapping[str, str]
) -> Callable[[], ContextManager[Any]]:
    """What a call of the model stands in: the variant's autocast, and its attention backend."""
    around = attention(settings)
    return context if around is None else lambda: _both(around, context)


def mark_regions(model: Any, settings: Mapping[str, str]) -> None:
    """Let Dynamo compile each class of repeated blocks once (torch.compiler.nested_compile_region).

    Raises:
        CannotRunError: this torch cannot, or the model has no repeated blocks.
    """
    if settings.get("regions") != "nested":
        return
    import torch

    mark = getattr(torch.compiler, "nested_compile_region", None)  # 2.8 on
    if mark is None or model is None:
        raise CannotRunError(
            "torch {} cannot compile a region once for all of its calls.".format(torch.__version__)
            if mark is None
            else "regions=nested looks for repeated blocks in a model, and there is none.",
            "Leave regions=nested out.",
        )
    for path in regions_of(model, settings):
        kind: Any = type(model.get_submodule(path))
        if kind not in _MARKED:  # a model is built more than once in a process
            _MARKED.add(kind)
            kind.forward = mark(kind.forward)


def regions_of(model: Any, settings: Mapping[str, str]) -> List[str]:
    """The path of one block of each class that `mark_regions` marks.

    Raises:
        CannotRunError: the model has no repeated blocks.
    """
    if settings.get("regions") != "nested":
        return []
    blocks = reversed(targets.blocks_of(model))
    return list(reversed(list({type(block): path for path, block in blocks}.values())))


def refuse_optimizer(settings: Mapping[str, str]) -> None:
    """Of a step that shows no optimizer.

    Raises:
        CannotRunError: an implementation of one is asked for.
    """
    if "optimizer" in settings:
        word = "optimizer={}".format(settings["optimizer"])
        raise CannotRunError(
            "{} sets the optimizer of a training step, and this step shows none.".format(word),
            "Leave {} out, or train: --training or Training(model, batches, …).".format(word),
        )


def set_optimizer(optimizer: Any, settings: Mapping[str, str]) -> None:
    """Choose the implementation of an optimizer of torch.optim, as its constructor would.

    Raises:
        CannotRunError: this optimizer has no such implementation.
    """
    kind = settings.get("optimizer")
    if kind is None:
        return
    groups = getattr(optimizer, "param_groups", None)
    if not groups or any(kind not in group for group in groups):
        raise CannotRunError(
            "{} has no implementation '{}'.".format(type(optimizer).__name__, kind),
            "Leave optimizer={} out, or use an optimizer of torch.optim.".format(kind),
        )
    for group in groups:
        for name in ("fused", "foreach"):
            if name in group:
                group[name] = name == kind
