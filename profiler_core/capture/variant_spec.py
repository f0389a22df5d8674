"""One way to run the same model: eager, a mode of torch.compile, a backend, TorchScript.

Written as `base+modifier+modifier`, for example `default+bf16-autocast+channels_last`. The base is
`eager`, `torchscript`, a mode of torch.compile, or `backend:NAME`; a backend's usual name may stand
alone (`aot_eager`), only dynamo's own `eager` backend needs the prefix. `+KEY=VALUE` is an option
of the backend (see backend_options): `openvino+config.INFERENCE_PRECISION_HINT=f32`.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from profiler_core.capture import backend_options as options_of
from profiler_core.capture.child.backends import BACKENDS
from profiler_core.errors import BadInput

Mode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
Precision = Literal["fp32", "tf32", "bf16-autocast", "fp16-autocast", "bf16", "fp16"]

MODES: tuple[Mode, ...] = get_args(Mode)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# What a variant begins with, beside the names of backends, in the terms of torch.compile's
# documentation.
BASES: dict[str, str] = {
    "eager": "runs without torch.compile",
    "default": "balances compile time and speed",
    "reduce-overhead": "adds CUDA graphs, for models whose launches cost more than their kernels",
    "max-autotune": "also tries several kernels for each matrix product and keeps the fastest, "
    "which compiles for minutes",
    "max-autotune-no-cudagraphs": "does that without CUDA graphs",
    "torchscript": "traces the model with torch.jit.trace",
}

# Names that people write without "backend:". Whether they are there is the target interpreter's
# business: the child answers with what to install.
COMMON_BACKENDS = tuple(name for backend in BACKENDS for name in backend.offered)

_PRECISION_ALIASES: dict[str, Precision] = {"amp": "bf16-autocast"}
_LAYOUT_ALIASES = ("channels_last", "channels-last", "cl")


@dataclass(frozen=True)
class VariantSpec:
    """How the model is run.

    `mode` and `backend` are None where they do not apply: eager and TorchScript have neither, a
    mode means the inductor backend, and another backend takes no mode.
    """

    compile: bool = False
    mode: Mode | None = None
    backend: str | None = None
    torchscript: bool = False
    dynamic: bool | None = None
    fullgraph: bool = False
    precision: Precision = "fp32"
    channels_last: bool = False
    backend_options: options_of.Options = ()  # in the order in which they were given

    @property
    def label(self) -> str:
        """The canonical text: `parse_variant(label)` gives an equal variant."""
        if self.torchscript:
            base = "torchscript"
        elif not self.compile:
            base = "eager"
        elif self.mode is not None:
            base = self.mode
        else:
            base = self.backend if self.backend in COMMON_BACKENDS else f"backend:{self.backend}"
        parts = [str(base), *(f"{key}={value}" for key, value in self.backend_options)]
        if self.dynamic is not None:
            parts.append("dynamic" if self.dynamic else "static")
        if self.fullgraph:
            parts.append("fullgraph")
        if self.precision != "fp32":
            parts.append(self.precision)
        if self.channels_last:
            parts.append("channels_last")
        return "+".join(parts)

    @property
    def slug(self) -> str:
        """The name of the run's folder: the label without characters that folders dislike."""
        return re.sub(r"[^A-Za-z0-9_.+-]+", "-", self.label)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `spec` in run.json; backend_options as torch.compile takes them."""
        options = options_of.nested(str(self.backend), self.backend_options)
        return {**asdict(self), "backend_options": options}


def parse_variant(text: str) -> VariantSpec:
    """Read `default+bf16-autocast+channels_last`.

    Raises:
        BadInput: a word is unknown, twice there, or does not go with the base.
    """
    base, *modifiers = (word.strip() for word in text.strip().split("+"))
    fields = _base_fields(base, text)
    options = tuple(options_of.parse_word(word, text) for word in modifiers if "=" in word)
    for word in modifiers:
        if "=" in word:
            continue
        name, value = _modifier(word, text)
        if name in fields and name != "compile":
            raise BadInput(f"Variant '{text}' says {name} twice.", remedy="Keep one of the two.")
        fields[name] = value
    variant = VariantSpec(**fields, backend_options=options)
    if options and not variant.compile:
        raise BadInput(
            f"Variant '{text}' gives options to {base}, which has no backend.",
            remedy="Give them to a mode of torch.compile or to a backend such as openvino.",
        )
    options_of.check(str(variant.backend), options, text)
    if not variant.compile and (variant.dynamic is not None or variant.fullgraph):
        raise BadInput(
            f"Variant '{text}' asks for dynamic, static or fullgraph without torch.compile.",
            remedy="Use these words with a mode such as default.",
        )
    return variant


def parse_variants(text: str) -> tuple[VariantSpec, ...]:
    """Read a comma-separated list; the first one is the baseline."""
    variants = tuple(parse_variant(part) for part in text.split(",") if part.strip())
    if not variants:
        raise BadInput("No variant is given.", remedy="Pass for example --variants eager,default.")
    labels = [variant.label for variant in variants]
    for label in labels:
        if labels.count(label) > 1:
            raise BadInput(f"Variant '{label}' is given twice.", remedy="Name each variant once.")
    return variants


def _base_fields(base: str, text: str) -> dict[str, Any]:
    if base == "eager":
        return {}
    if base == "torchscript":
        return {"torchscript": True}
    if base == "inductor":
        base = "default"
    if base in MODES:
        return {"compile": True, "mode": base, "backend": "inductor"}
    if base in COMMON_BACKENDS:
        return {"compile": True, "backend": base}
    if base.startswith("backend:") and re.fullmatch(r"[A-Za-z0-9_.-]+", base[8:]):
        return (
            _base_fields("default", text)
            if base[8:] == "inductor"
            else {
                "compile": True,
                "backend": base[8:],
            }
        )
    raise BadInput(
        f"Variant '{text}' begins with '{base}', which is neither a mode nor a backend.",
        remedy=f"Begin with eager, torchscript, {', '.join((*MODES, *COMMON_BACKENDS))} or "
        "backend:NAME.",
    )


def _modifier(word: str, text: str) -> tuple[str, Any]:
    if word in ("dynamic", "static"):
        return "dynamic", word == "dynamic"
    if word == "fullgraph":
        return "fullgraph", True
    if word in _LAYOUT_ALIASES:
        return "channels_last", True
    if word in _PRECISION_ALIASES:
        return "precision", _PRECISION_ALIASES[word]
    if word in PRECISIONS:
        return "precision", word
    raise BadInput(
        f"Variant '{text}' has the unknown word '{word}'.",
        remedy=f"Use dynamic, static, fullgraph, channels_last, {', '.join(PRECISIONS)}, or "
        "KEY=VALUE for an option of the backend.",
    )
