"""Options of a backend, as words of a variant: `openvino+config.INFERENCE_PRECISION_HINT=f32`.

`+KEY=VALUE` follows the base. A dot in the key goes one level deeper, except for Inductor, whose
own names have dots (`default+triton.cudagraphs=true`). Values: true, false, none, numbers, text;
"torch.float16" is a dtype; a list is parted by colons, where the option is known to be one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from profiler_core.errors import BadInput

Options = tuple[tuple[str, str], ...]

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}


@dataclass(frozen=True)
class Option:
    """One option that a backend takes. A key that ends in `.` is a table of further ones."""

    key: str
    about: str
    example: str
    is_list: bool = False


# The ones worth offering. openvino reads these and no others, and says nothing of a misspelt one
# (openvino 2026.4, frontend/pytorch/torchdynamo/backend_utils.py); tensorrt's are the fields of
# torch_tensorrt.dynamo.CompilationSettings, onnxrt's those of torch.onnx._OrtBackendOptions (2.8).
OPTIONS: dict[str, tuple[Option, ...]] = {
    "openvino": (
        Option("device", "the plugin that runs it", "CPU"),
        Option("config.", "a property of the plugin", "f32"),
        Option("model_caching", "keep compiled models on disk", "true"),
        Option("cache_dir", "where they are kept", "path/to/cache"),
        Option("aot_autograd", "trace through AOTAutograd", "true"),
        Option("disabled_ops", "operators left to PyTorch", "aten.relu.default", is_list=True),
        Option("testing", "keep going where an operator is not supported", "true"),
    ),
    "tensorrt": (
        Option("enabled_precisions", "what a layer may compute in", "torch.float16", is_list=True),
        Option("use_explicit_typing", "keep the dtypes of the model", "true"),
        Option("workspace_size", "bytes that TensorRT may use, 0: its own choice", "1073741824"),
        Option("min_block_size", "least operators that become an engine", "5"),
        Option("optimization_level", "0 to 5: how long it looks for kernels", "3"),
        Option("truncate_double", "turn fp64 into fp32", "true"),
        Option("require_full_compilation", "leave nothing to PyTorch", "true"),
        Option("pass_through_build_failures", "raise where no engine can be built", "true"),
        Option("use_python_runtime", "run engines from Python", "true"),
        Option("torch_executed_ops", "operators left to PyTorch", "aten.add", is_list=True),
    ),
    "onnxrt": (
        Option(
            "preferred_execution_providers", "the first one that is there runs it",
            "CUDAExecutionProvider:CPUExecutionProvider", is_list=True,
        ),
        Option("infer_execution_providers", "choose it by the inputs' device", "true"),
        Option("default_execution_providers", "taken where nothing else fits",
               "CPUExecutionProvider", is_list=True),
        Option("use_aot_autograd", "trace through AOTAutograd", "true"),
        Option("preallocate_output", "let PyTorch allocate the results", "false"),
    ),
}  # fmt: skip
OPTIONS["torch_tensorrt"] = OPTIONS["tensorrt"]

# These take no other: a misspelt one would go unnoticed.
_CLOSED = ("openvino",)
# Their options have names with dots of their own.
_FLAT = ("inductor",)
# Dynamo's own and XLA's take none: torch.compile would raise a TypeError at the first call.
_WITHOUT = ("aot_eager", "aot_eager_decomp_partition", "eager", "eager_noexcept", "cudagraphs",
            "openxla", "openxla_eval")  # fmt: skip


def parse_word(word: str, text: str) -> tuple[str, str]:
    """Read `KEY=VALUE`.

    Args:
        word: with an equals sign.
        text: the whole variant, for the sentence.

    Raises:
        BadInput: the key is no name, or the value is empty.
    """
    key, _, value = (part.strip() for part in word.partition("="))
    if not _KEY.fullmatch(key) or not value:
        raise BadInput(
            f"Variant '{text}' has the option '{word}', which cannot be read.",
            remedy="Write it like openvino+config.INFERENCE_PRECISION_HINT=f32.",
        )
    return key, value


def check(backend: str, options: Options, text: str) -> None:
    """Refuse what the backend would not take, or would not notice.

    Raises:
        BadInput: with the keys that are known.
    """
    keys = [key for key, _ in options]
    for key in keys:
        if keys.count(key) > 1:
            raise BadInput(
                f"Variant '{text}' gives option {key} twice.",
                remedy="Keep one of the two; values of a list are parted by colons.",
            )
    if backend in _WITHOUT and options:
        raise BadInput(
            f"Variant '{text}' gives {keys[0]} to {backend}, which takes no options.",
            remedy="Leave the option out.",
        )
    for key in keys if backend in _CLOSED else ():
        if _known(backend, key) is None:
            known = ", ".join(
                f"{one.key}NAME" if one.key.endswith(".") else one.key for one in OPTIONS[backend]
            )
            raise BadInput(
                f"Variant '{text}' gives {backend} the option {key}, which it does not know.",
                remedy=f"Use one of: {known}.",
            )
    for place, key in enumerate(keys):
        if any(other.startswith(f"{key}.") for other in keys[place + 1 :] + keys[:place]):
            raise BadInput(
                f"Variant '{text}' gives {key} a value and parts of its own.",
                remedy="Keep one of the two.",
            )


def nested(backend: str, options: Options) -> dict[str, Any]:
    """Options as torch.compile(options=…) takes them, but for dtypes, which stay text."""
    built: dict[str, Any] = {}
    for key, text in options:
        option = _known(backend, key)
        is_list = option is not None and option.is_list
        value: Any = [_value(part) for part in text.split(":")] if is_list else _value(text)
        path: Sequence[str] = (key,) if backend in _FLAT else key.split(".")
        place = built
        for part in path[:-1]:
            place = place.setdefault(part, {})
        place[path[-1]] = value
    return built


def _known(backend: str, key: str) -> Option | None:
    for option in OPTIONS.get(backend, ()):
        if key == option.key or (option.key.endswith(".") and key.startswith(option.key)):
            return option
    return None


def _value(text: str) -> Any:
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word
