"""The options of a capture that a sweep can vary, and how each is set.

An option of a variant (precision, mode …) is set in every variant that it applies to, so that
baseline and candidates of one point stay comparable.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from profiler_core.capture.spec import (
    MODES,
    PRECISIONS,
    CaptureSpec,
    VariantSpec,
    parse_shapes,
    parse_variant,
)
from profiler_core.digits import is_whole
from profiler_core.errors import BadInput

Value = int | str


@dataclass(frozen=True)
class Parameter:
    """One option. `series` names a variant in all points: its label without the swept part."""

    name: str  # on the command line and in run.json
    label: str  # for people
    example: str
    sets: str  # what it sets, for docs/sweeps.md
    read: Callable[[str], Value]
    apply: Callable[[CaptureSpec, Value], CaptureSpec]
    series: Callable[[VariantSpec], str] = lambda variant: variant.label
    aliases: tuple[str, ...] = ()  # taken for its name


def parameter(name: str) -> Parameter:
    """The option of this name.

    Raises:
        BadInput: there is no such option.
    """
    if name.startswith("option."):
        return _workload_option(name)
    if name not in PARAMETERS:
        raise BadInput(
            f"A sweep of '{name}' is unknown.",
            remedy=f"Sweep one of {', '.join(PARAMETERS)}, or option.KEY of the workload.",
        )
    return PARAMETERS[name]


def _whole(label: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            return int(text)
        except ValueError:
            raise BadInput(
                f"'{text}' is not a {label}.", remedy="Pass whole numbers, like 1,8,32."
            ) from None

    return read


def _one_of(label: str, choices: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise BadInput(f"'{text}' is not a {label}.", remedy=f"Use {', '.join(choices)}.")
        return text

    return read


def _shape(text: str) -> str:
    (shape,) = parse_shapes(text) or ((),)
    if not shape:
        raise BadInput(f"'{text}' is not a shape.", remedy="Write it like 8x3x224x224.")
    return "x".join(map(str, shape))


def _number_or_text(text: str) -> Value:
    return int(text) if is_whole(text) else text


def _field(
    name: str, convert: Callable[[Value], Any] = lambda value: value
) -> Callable[[CaptureSpec, Value], CaptureSpec]:
    """Sets a field of the capture, which must not be given beside the sweep."""

    def apply(spec: CaptureSpec, value: Value) -> CaptureSpec:
        fresh = CaptureSpec(workload=spec.workload)
        if getattr(spec, name) != getattr(fresh, name):
            raise BadInput(
                f"--{name.replace('_', '-')} is given together with a sweep of it.",
                remedy="Leave one of the two out.",
            )
        return replace(spec, **{name: convert(value)})

    return apply


def _training(spec: CaptureSpec, value: Value) -> CaptureSpec:
    if spec.trains:
        raise BadInput(
            "The workload always trains, so a sweep over training has only one value.",
            remedy="Leave --training out, or choose another workload.",
        )
    return replace(spec, training=value == "training")


def _variants(
    field: str, values: dict[str, Any], applies: Callable[[VariantSpec], bool] = lambda _: True
) -> Callable[[CaptureSpec, Value], CaptureSpec]:
    """Sets a field in the variants that it applies to, where none of them has set it itself."""

    def apply(spec: CaptureSpec, value: Value) -> CaptureSpec:
        fresh = getattr(VariantSpec(), field)
        for variant in spec.variants:
            if getattr(variant, field) != fresh:
                raise BadInput(
                    f"Variant '{variant.label}' sets {field}, which is swept too.",
                    remedy="Leave the word out of --variants.",
                )
        return replace(
            spec,
            variants=tuple(
                replace(v, **{field: values[str(value)]}) if applies(v) else v
                for v in spec.variants
            ),
        )

    return apply


def _is_compiled(variant: VariantSpec) -> bool:
    return variant.compile


def _base(spec: CaptureSpec, value: Value) -> CaptureSpec:
    """The one compiled variant goes through another mode or backend."""
    compiled = [variant for variant in spec.variants if variant.compile]
    if len(compiled) != 1:
        raise BadInput(
            f"A sweep over modes or backends needs one compiled variant, not {len(compiled)}.",
            remedy="Pass --variants eager,default.",
        )
    base = parse_variant(str(value))
    changed = replace(compiled[0], mode=base.mode, backend=base.backend)
    return replace(spec, variants=tuple(changed if v is compiled[0] else v for v in spec.variants))


def _backend(text: str) -> str:
    variant = parse_variant(text if text == "inductor" else f"backend:{text}")
    return str(variant.backend)


def _base_of_backend(spec: CaptureSpec, value: Value) -> CaptureSpec:
    return _base(spec, f"backend:{value}")


def _without_base(variant: VariantSpec) -> str:
    """Modes and backends differ from point to point: "torch.compile", with what stays."""
    if not variant.compile:
        return variant.label
    plain = replace(variant, mode="default", backend="inductor").label
    return "torch.compile" + plain.removeprefix("default")


def _workload_option(name: str) -> Parameter:
    key = name.removeprefix("option.")
    if not key.isidentifier():
        raise BadInput(f"'{name}' names no option.", remedy="Write it like option.layers=2,4,8.")

    def apply(spec: CaptureSpec, value: Value) -> CaptureSpec:
        if any(option_key == key for option_key, _ in spec.options):
            raise BadInput(
                f"--option {key} is given together with a sweep of it.",
                remedy="Leave one of the two out.",
            )
        return replace(spec, options=(*spec.options, (key, str(value))))

    return Parameter(name, key, "2,4,8", _OF_THE_BUILDER, _number_or_text, apply)


_DYNAMIC = {"automatic": None, "dynamic": True, "static": False}
_LAYOUT = {"contiguous": False, "channels_last": True}
_FULLGRAPH = {"no": False, "yes": True}
_STEP = ("inference", "training")
_OF_THE_BUILDER = "an argument of the workload's builder, or of your own function"
_EVERY = "of every variant"
_COMPILED = "of compiled variants"
_ONE = "of the one compiled variant"

PARAMETERS: dict[str, Parameter] = {
    entry.name: entry
    for entry in (
        Parameter(
            "batch-size", "batch size", "1,8,32,128", "the batch size",
            _whole("batch size"), _field("batch_size"), aliases=("batch",),
        ),
        Parameter(
            "shape", "input shape", "8x3x128x128,8x3x256x256", "the input shape, batch included",
            _shape, _field("shapes", lambda value: parse_shapes(str(value))),
            aliases=("shapes", "input-shape"),
        ),
        Parameter(
            "precision", "precision", "fp32,tf32,bf16-autocast", _EVERY,
            _one_of("precision", PRECISIONS),
            _variants("precision", {name: name for name in PRECISIONS}), aliases=("dtype",),
        ),
        Parameter(
            "mode", "mode", "default,reduce-overhead,max-autotune", _ONE,
            _one_of("mode", MODES), _base, _without_base,
        ),
        Parameter(
            "backend", "backend", "inductor,cudagraphs,aot_eager", _ONE,
            _backend, _base_of_backend, _without_base,
        ),
        Parameter(
            "dynamic", "dynamic shapes", "automatic,dynamic,static", _COMPILED,
            _one_of("choice of dynamic shapes", tuple(_DYNAMIC)),
            _variants("dynamic", _DYNAMIC, _is_compiled),
        ),
        Parameter(
            "layout", "memory layout", "contiguous,channels_last", _EVERY,
            _one_of("memory layout", tuple(_LAYOUT)), _variants("channels_last", _LAYOUT),
            aliases=("channels-last",),
        ),
        Parameter(
            "fullgraph", "fullgraph", "no,yes", _COMPILED,
            _one_of("choice of fullgraph", tuple(_FULLGRAPH)),
            _variants("fullgraph", _FULLGRAPH, _is_compiled),
        ),
        Parameter(
            "step", "step", "inference,training", "what a step is",
            _one_of("step", _STEP), _training,
        ),
        Parameter(
            "ranks", "ranks", "1,2,4", "processes of one step",
            _whole("number of ranks"), _field("ranks"),
        ),
        Parameter("device", "device", "cpu,cuda", "where it runs", str, _field("device")),
        Parameter(
            "python", "interpreter", "a/bin/python,b/bin/python",
            "in which environment it runs: two versions of torch, say",
            str, _field("python"), aliases=("interpreter",),
        ),
    )
}  # fmt: skip
ALIASES = {alias: entry.name for entry in PARAMETERS.values() for alias in entry.aliases}
