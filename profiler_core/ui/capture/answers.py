"""What a person filled into the capture form -> the spec, or a sentence beside each wrong field."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from profiler_core.capture.built_in import TRAINING_WORKLOADS
from profiler_core.capture.option import BadOption, declared
from profiler_core.capture.own_code import check_own_code
from profiler_core.capture.spec import (
    CaptureSpec,
    Sweep,
    VariantSpec,
    parse_sweep,
    parse_variants,
)
from profiler_core.capture.sweep.points import points_of
from profiler_core.capture.variant_spec import MODIFIERS, modifier_word
from profiler_core.errors import BadInput

Kind = Literal["Built-in", "torchvision", "My own code"]
Dynamic = Literal["Automatic", "Dynamic", "Static"]

_T = TypeVar("_T")
_OPTIONS = declared(CaptureSpec)
# Fields of the form that are read as those of the spec are declared.
_PLAIN = (
    "compile_target", "device", "python", "directory", "batch_size", "shapes", "options", "name",
)  # fmt: skip

KINDS: tuple[Kind, ...] = get_args(Kind)
DYNAMIC: tuple[Dynamic, ...] = get_args(Dynamic)
DYNAMIC_VALUE: dict[Dynamic, bool | None] = {
    "Automatic": None, "Dynamic": True, "Static": False,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The form, field by field; texts as they were typed."""

    kind: Kind = "Built-in"
    workload: str = "customcnn"
    bases: tuple[str, ...] = ("eager", "default")  # the chips; the first is the baseline
    backend_options: tuple[tuple[str, str], ...] = ()  # base -> "KEY=VALUE KEY=VALUE"
    further_variants: str = ""  # as on the command line
    precision: str = "fp32"
    channels_last: bool = False
    dynamic: Dynamic = "Automatic"
    fullgraph: bool = False
    training: bool = False
    batch_size: int | None = None
    shapes: str = ""
    compile_target: str = ""
    options: str = ""  # one KEY=VALUE on each line
    device: str = "auto"
    python: str = ""
    directory: str = ""
    name: str = ""
    sweep: str = ""  # the option that gets several values; "": none
    sweep_values: str = ""  # comma-separated
    measuring: tuple[tuple[str, Any], ...] = ()  # further fields of CaptureSpec, by name


@dataclass(frozen=True)
class Checked:
    """The spec, or None and the reason by field. A field's name is that of `Answers`."""

    spec: CaptureSpec | None
    problems: dict[str, BadInput]


def check(answers: Answers, *, looks_at_files: bool = True) -> Checked:
    """Build the spec; every wrong field gets its own sentence, not only the first one.

    Args:
        answers: the form.
        looks_at_files: who fills it in may know what lies at the paths that are typed.
    """
    problems: dict[str, BadInput] = {}

    def field(name: str, read: Callable[[], _T], fallback: _T) -> _T:
        try:
            return read()
        except BadInput as problem:
            problems[name] = problem
            return fallback

    workload = field("workload", lambda: _workload(answers, looks_at_files), "")
    no_variants: tuple[VariantSpec, ...] = ()
    variants = field("bases", lambda: _variants(answers), no_variants)
    sweep = field("sweep", lambda: _sweep(answers), None)
    read: dict[str, Any] = {}
    for name, typed in {
        **{name: getattr(answers, name) for name in _PLAIN},
        **dict(answers.measuring),
    }.items():
        at = name if name in _PLAIN else "measuring"
        read[name] = field(at, functools.partial(_OPTIONS[name].value, typed), None)
    if problems:
        return Checked(None, problems)
    try:
        spec = CaptureSpec(
            workload=workload,
            variants=variants,
            training=answers.training and workload not in TRAINING_WORKLOADS,
            sweep=sweep,
            **read,
        )
    except BadOption as problem:
        at = problem.option if problem.option in ("shapes", "compile_target") else "measuring"
        return Checked(None, {at: problem})
    try:
        points_of(spec)
    except BadInput as problem:
        return Checked(None, {"sweep": problem})
    return Checked(spec, {})


def _sweep(answers: Answers) -> Sweep | None:
    """None where no option is chosen."""
    if not answers.sweep:
        return None
    return parse_sweep(f"{answers.sweep}={answers.sweep_values}")


def _workload(answers: Answers, looks_at_files: bool) -> str:
    if answers.kind == "My own code":
        if not answers.workload.strip():
            raise BadInput(
                "Which function makes the model?", remedy="Write it like path/to/file.py:function."
            )
        return check_own_code(answers.workload, looks_at_file=looks_at_files)
    name = answers.workload.strip()
    if not name:
        raise BadInput("No model is named.", remedy="Choose one, or type its torchvision name.")
    if not name.replace("_", "").isalnum():
        raise BadInput(f"“{name}” is not a model name.", remedy="Write it like mobilenet_v3_large.")
    return name


def _option_words(text: str, base: str) -> list[str]:
    """The words of `KEY=VALUE KEY=VALUE`; these two signs would begin another word or variant."""
    words = text.split()
    for word in words:
        if "=" not in word or "+" in word or "," in word:
            raise BadInput(
                f"The option “{word}” of {base} cannot be read.",
                remedy="Write KEY=VALUE, separated by spaces, without plus signs and commas.",
            )
    return words


def _variants(answers: Answers) -> tuple[VariantSpec, ...]:
    """The chips with the modifiers that apply to them, then the typed ones as they are."""
    values = {name: getattr(answers, name) for name in MODIFIERS}
    values["dynamic"] = DYNAMIC_VALUE[answers.dynamic]
    texts = []
    for base in answers.bases:
        is_compiled = base not in ("eager", "torchscript")
        modifier_words = (
            modifier_word(name, value)
            for name, value in values.items()
            if is_compiled or not MODIFIERS[name].only_compiled
        )
        options = _option_words(dict(answers.backend_options).get(base, ""), base)
        texts.append("+".join([base, *options, *filter(None, modifier_words)]))
    if answers.further_variants.strip():
        texts.append(answers.further_variants)
    variants = parse_variants(",".join(texts))
    if len(variants) < 2:
        raise BadInput(
            "One variant alone has nothing to be compared with.", remedy="Choose a second one."
        )
    return variants
