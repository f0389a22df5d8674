"""One way to run the same model: eager, a mode of torch.compile, a backend, TorchScript.

Written as `base+modifier+modifier`, for example `default+bf16-autocast+channels_last`. The base is
`eager`, `torchscript`, a mode of torch.compile, or `backend:NAME`; a backend's usual name may stand
alone (`aot_eager`), only dynamo's own `eager` backend needs the prefix. `+KEY=VALUE` is an option
of the backend (see backend_options): `openvino+config.INFERENCE_PRECISION_HINT=f32`.
`+target=…` says what is compiled (see compile_target), several targets separated by colons;
`as-is` is `default+target=as-is`. `+threads=4` and `+dynamo.KEY=VALUE` are set in the process
(see process_settings).
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from profiler_core.capture import backend_options as options_of
from profiler_core.capture import process_settings
from profiler_core.capture.child.backends import BACKENDS, BY_NAME
from profiler_core.capture.compile_target import parse_targets
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
    "as-is": "compiles what the script compiles itself; every other variant of the capture then "
    "leaves the script's own torch.compile out",
}

# Names that people write without "backend:". Whether they are there is the target interpreter's
# business: the child answers with what to install.
COMMON_BACKENDS = tuple(name for backend in BACKENDS for name in backend.offered)


@dataclass(frozen=True)
class Modifier:
    """What a word after the base sets, declared beside the field of VariantSpec that holds it.

    words: word -> value; the first of a value is the one that a label has.
    """

    label: str
    help: str
    words: Mapping[str, Any]
    only_compiled: bool = False


def _modifier_field(default: Any, label: str, **about: Any) -> Any:
    return field(default=default, metadata={"modifier": Modifier(label, **about)})


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
    dynamic: bool | None = _modifier_field(
        None,
        "Dynamic shapes",
        help="torch.compile's dynamic=None, True, False: whether a size is compiled in",
        words={"dynamic": True, "static": False},
        only_compiled=True,
    )
    fullgraph: bool = _modifier_field(
        False,
        "fullgraph",
        help="a graph break becomes an error",
        words={"fullgraph": True},
        only_compiled=True,
    )
    precision: Precision = _modifier_field(
        "fp32",
        "Precision",
        help="tf32 lets matrix products round to 10 bits; autocast runs them in half precision and "
        "keeps the weights; bf16 and fp16 convert the weights",
        words={**{name: name for name in PRECISIONS}, "amp": "bf16-autocast"},
    )
    channels_last: bool = _modifier_field(
        False,
        "channels_last",
        help="memory format for convolutions",
        words=dict.fromkeys(("channels_last", "channels-last", "cl"), True),
    )
    backend_options: options_of.Options = ()  # in the order in which they were given
    settings: process_settings.Settings = ()  # of its process, likewise
    # What is compiled, in the words of compile_target; empty: what the workload's function compiles
    # by its argument `compile`, else the whole model.
    target: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The canonical text: `parse_variant(label)` gives an equal variant."""
        if self.torchscript:
            base = "torchscript"
        elif self.is_as_is and self.mode == "default":
            base = "as-is"
        elif not self.compile:
            base = "eager"
        elif self.mode is not None:
            base = self.mode
        else:
            base = self.backend if self.backend in COMMON_BACKENDS else f"backend:{self.backend}"
        parts = [str(base), *(f"{key}={value}" for key, value in self.backend_options)]
        parts += process_settings.words(self.settings)
        parts += filter(None, (modifier_word(name, getattr(self, name)) for name in MODIFIERS))
        if self.target and base != "as-is":
            parts.append(_TARGET + ":".join(self.target))
        return "+".join(parts)

    @property
    def is_as_is(self) -> bool:
        """Whether only the script itself compiles."""
        return "as-is" in self.target

    @property
    def slug(self) -> str:
        """The name of the run's folder: the label without characters that folders dislike."""
        return re.sub(r"[^A-Za-z0-9_.+-]+", "-", self.label)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `spec` in run.json; backend_options as torch.compile takes them."""
        options = options_of.nested(str(self.backend), self.backend_options)
        return {**asdict(self), "backend_options": options, "settings": dict(self.settings)}


_TARGET = "target="

# In the order in which a label has them.
MODIFIERS: dict[str, Modifier] = {
    entry.name: entry.metadata["modifier"] for entry in fields(VariantSpec) if entry.metadata
}


def modifier_word(name: str, value: Any) -> str:
    """The word that gives this value to the field; "" for its default."""
    if value == getattr(VariantSpec(), name):
        return ""
    return next(word for word, meant in MODIFIERS[name].words.items() if meant == value)


def modifier_words() -> tuple[str, ...]:
    """Each word that a label may have."""
    return tuple(
        word
        for name, modifier in MODIFIERS.items()
        for word, value in modifier.words.items()
        if modifier_word(name, value) == word
    )


def parse_variant(text: str) -> VariantSpec:
    """Read `default+bf16-autocast+channels_last`.

    Raises:
        BadInput: a word is unknown, twice there, or does not go with the base.
    """
    base, *modifiers = (word.strip() for word in text.strip().split("+"))
    fields = _base_fields(base, text)
    for word in [word for word in modifiers if word.startswith(_TARGET)]:
        if fields.get("target"):
            raise BadInput(f"Variant '{text}' sets target twice.", remedy="Separate by colons.")
        fields["target"] = parse_targets(word[len(_TARGET) :], ":")
        modifiers.remove(word)
    settings, options = process_settings.parted(
        options_of.parse_word(word, text) for word in modifiers if "=" in word
    )
    for word in [word for word in modifiers if "=" not in word]:
        name, value = _modifier(word, text)
        if name in fields and name != "compile":
            raise BadInput(f"Variant '{text}' sets {name} twice.", remedy="Keep one of the two.")
        fields[name] = value
    variant = VariantSpec(**fields, backend_options=options, settings=settings)
    process_settings.check(settings, text, is_compiled=variant.compile)
    if options and not variant.compile:
        raise BadInput(
            f"Variant '{text}' gives options to {base}, which has no backend.",
            remedy="Give them to a mode of torch.compile or to a backend such as openvino.",
        )
    options_of.check(str(variant.backend), options, text)
    _check_target(variant, text)
    _check_only_compiled(variant, text)
    return variant


def _check_only_compiled(variant: VariantSpec, text: str) -> None:
    for name, modifier in MODIFIERS.items():
        word = modifier_word(name, getattr(variant, name))
        if modifier.only_compiled and word and not variant.compile:
            raise BadInput(
                f"Variant '{text}' asks for {word} without torch.compile.",
                remedy="Use this word with a mode such as default.",
            )


def _check_target(variant: VariantSpec, text: str) -> None:
    if variant.target and not variant.compile:
        raise BadInput(
            f"Variant '{text}' has a compile target, and {variant.label.partition('+')[0]} "
            + ("traces the whole model." if variant.torchscript else "compiles nothing."),
            remedy="Give the target to a mode of torch.compile or to a backend.",
        )
    backend = BY_NAME.get(str(variant.backend))
    if "optimizer" in variant.target and backend is not None and backend.package is not None:
        raise BadInput(
            f"Variant '{text}' compiles the optimizer's step by {backend.name}, which compiles "
            "models only.",
            remedy="Leave optimizer out of the target.",
        )


def aimed(variants: tuple[VariantSpec, ...], targets: tuple[str, ...]) -> tuple[VariantSpec, ...]:
    """The variants with these compile targets, where one compiles and has none of its own.

    Raises:
        BadInput: two of them are the same then, or a backend cannot compile it.
    """
    labels = [
        (replace(v, target=targets) if v.compile and not v.target else v).label for v in variants
    ]
    return parse_variants(",".join(labels))


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
    if base == "as-is":
        return {**_base_fields("default", text), "target": ("as-is",)}
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


def _modifier(modifier_text: str, text: str) -> tuple[str, Any]:
    for name, modifier in MODIFIERS.items():
        if modifier_text in modifier.words:
            return name, modifier.words[modifier_text]
    raise BadInput(
        f"Variant '{text}' has the unknown word '{modifier_text}'.",
        remedy=f"Use {', '.join(modifier_words())}, or KEY=VALUE for an option of the backend.",
    )
