"""The levers of an experiment: what may be set, where it fits, and what findings call for.

One row each. A value is the word of a variant (`capture --variants default+WORD`). Whether the
installed torch has an option of Inductor's or Dynamo's is asked of it (`config_keys`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from profiler_core.analysis.experiment.choice import Choice
from profiler_core.capture.variant_spec import parse_variant
from profiler_core.errors import BadInput
from profiler_core.experiments.machine import Machine
from profiler_core.model.experiment import Setting, Unfit

_GPU = "it is for GPUs, and this runs on the CPU"
_CPU = "it is for the CPU, and this runs on a GPU"


@dataclass(frozen=True)
class Lever:
    """One thing that may be set.

    words: its values; or made of the machine. about: what it does, a phrase. worth: what is tried
    first where no finding speaks for anything, 0 to 1. config: the key of torch's configuration
    that it sets: `inductor.KEY` or `dynamo.KEY`. needs: why it does not fit a machine; None: it
    does. is_offered: tried without being asked for. only_where_called_for: without a finding that
    asks for it (`CALLS`) there is nothing that it could change.
    """

    name: str
    words: tuple[str, ...]
    about: str
    worth: float = 0.3
    config: str = ""
    needs: Callable[[Machine], str | None] = lambda _: None
    of_machine: Callable[[Machine], tuple[str, ...]] | None = None
    is_offered: bool = True
    only_where_called_for: bool = False

    def values(self, machine: Machine) -> tuple[str, ...]:
        """The words that it may have there."""
        return self.words if self.of_machine is None else self.of_machine(machine)


def _gpu(machine: Machine) -> str | None:
    return None if machine.on_gpu else _GPU


def _cpu(machine: Machine) -> str | None:
    return _CPU if machine.on_gpu else None


def _training(machine: Machine) -> str | None:
    return None if machine.trains else "it is for training, and a step here is inference"


def _inference(machine: Machine) -> str | None:
    return "it is for inference, and a step here trains" if machine.trains else None


def _convolutions(machine: Machine) -> str | None:
    return None if machine.has_convolutions else "nothing here is a convolution"


def _attention(machine: Machine) -> str | None:
    if machine.has_attention:
        return None
    return "nothing here calls scaled_dot_product_attention"


def _gpu_convolutions(machine: Machine) -> str | None:
    return _gpu(machine) or _convolutions(machine)


def _threads(machine: Machine) -> tuple[str, ...]:
    half = machine.n_cores // 2
    return tuple(f"threads={n}" for n in dict.fromkeys((machine.n_cores, half)) if n > 0)


def _cores(machine: Machine) -> tuple[str, ...]:
    return ("cpus=" + ":".join(map(str, machine.first_threads)),) if machine.first_threads else ()


def _inductor(
    name: str,
    value: str,
    about: str,
    worth: float = 0.2,
    needs: Callable[[Machine], str | None] = lambda _: None,
) -> Lever:
    return Lever(name, (f"{name}={value}",), about, worth, f"inductor.{name}", needs)


def _dynamo(name: str, value: str, about: str) -> Lever:
    key = f"dynamo.{name}"
    return Lever(name, (f"{key}={value}",), about, 0.5, key, only_where_called_for=True)


LEVERS: tuple[Lever, ...] = (
    Lever(
        "mode",
        ("reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
        "mode of torch.compile",
        1.0,
    ),
    Lever(
        "precision",
        ("bf16-autocast", "tf32"),
        "what matrix products and convolutions compute in",
        0.95,
    ),
    Lever(
        "channels_last",
        ("channels_last",),
        "memory format of images",
        0.9,
        needs=_convolutions,
    ),
    _inductor("freezing", "true", "weights compiled in as constants", 0.8, _inference),
    Lever(
        "scope",
        ("target=blocks", "regions=nested"),
        "what is compiled: each repeated block, or a class of blocks once",
        0.35,
    ),
    Lever(
        "optimizer",
        ("optimizer=fused", "target=optimizer"),
        "the optimizer's step: its fused implementation, or compiled",
        0.7,
        needs=_training,
    ),
    Lever("dynamic", ("dynamic", "static"), "whether sizes are compiled in", 0.4),
    Lever(
        "fullgraph",
        ("fullgraph",),
        "a graph break is an error: it changes no time",
        0.0,
        is_offered=False,
    ),
    _dynamo("capture_scalar_outputs", "true", ".item() stays in the graph"),
    _dynamo("capture_dynamic_output_shape_ops", "true", "nonzero and the like stay in the graph"),
    _dynamo("allow_unspec_int_on_nn_module", "true", "an int of a module is no constant"),
    _dynamo("recompile_limit", "64", "recompilations before it falls back to eager"),
    _dynamo("automatic_dynamic_shapes", "false", "each new size is compiled anew"),
    Lever(
        "sdpa",
        ("sdpa=flash", "sdpa=cudnn", "sdpa=efficient", "sdpa=math"),
        "backend of scaled_dot_product_attention",
        0.35,
        needs=_attention,
    ),
    _inductor("coordinate_descent_tuning", "true", "Triton's configurations searched", 0.6, _gpu),
    Lever(
        "max_autotune_gemm",
        ("max_autotune_gemm=true", "max_autotune_gemm=true+max_autotune_gemm_backends=TRITON"),
        "several kernels tried for each matrix product",
        0.4,
        "inductor.max_autotune_gemm",
    ),
    _inductor("max_autotune_pointwise", "true", "several tilings tried for each", 0.35, _gpu),
    _inductor("combo_kernels", "true", "small independent kernels in one launch", 0.5, _gpu),
    _inductor("aggressive_fusion", "true", "fuses more, at the cost of registers", 0.3, _gpu),
    _inductor("epilogue_fusion", "false", "products without what follows them", 0.1),
    _inductor("shape_padding", "false", "products not padded to aligned sizes", 0.15, _gpu),
    _inductor("layout_optimization", "false", "convolutions in the layout that they are given",
              0.3, _gpu_convolutions),
    _inductor("conv_1x1_as_mm", "true", "1x1 convolutions as matrix products", 0.3,
              _gpu_convolutions),
    _inductor("permute_fusion", "true", "transposes moved into products", 0.2),
    _inductor("loop_ordering_after_fusion", "false", "loops ordered before they are fused", 0.15),
    _inductor("reorder_for_peak_memory", "false", "kernels in the order of the graph", 0.1),
    _inductor("triton.cudagraphs", "true", "CUDA graphs without the rest of a mode", 0.2, _gpu),
    _inductor("triton.multi_kernel", "1", "two reductions tried for each", 0.2, _gpu),
    _inductor("cpp.enable_tiling_heuristics", "false", "C++ loops tiled always", 0.15, _cpu),
    Lever("threads", (), "threads of torch on the CPU", 0.6,
          needs=_cpu, of_machine=_threads),
    Lever("cpus", (), "one CPU of each core, to which the process is bound", 0.5, needs=_cpu,
          of_machine=_cores),
)  # fmt: skip

# What a finding asks for (the lever of its change, else its own key) -> the levers that may do it,
# each with the one word that does; "": whichever.
CALLS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "graph_replay": (("mode", "reduce-overhead"), ("combo_kernels", "")),
    "template_kernels": (("mode", "max-autotune"), ("max_autotune_gemm", "")),
    "half_precision": (("precision", "bf16-autocast"),),
    "tf32": (("precision", "tf32"),),
    "even_shapes": (("precision", "bf16-autocast"), ("shape_padding", "")),
    "channels_last": (("channels_last", ""),),
    "fused_optimizer": (("optimizer", ""),),
    "no_breaks": (("capture_scalar_outputs", ""), ("capture_dynamic_output_shape_ops", "")),
    "no_skips": (("recompile_limit", ""),),
    "fewer_threads": (("threads", ""), ("cpus", "")),
    "recompiles": (
        ("dynamic", ""), ("allow_unspec_int_on_nn_module", ""), ("recompile_limit", ""),
        ("automatic_dynamic_shapes", ""),
    ),
    "like_baseline": (("layout_optimization", ""), ("max_autotune_gemm", "")),
}  # fmt: skip

BY_NAME = {lever.name: lever for lever in LEVERS}
# Words that mean something on a GPU only, of levers that fit the CPU too.
_GPU_WORDS = frozenset(
    ("reduce-overhead", "max-autotune-no-cudagraphs", "tf32", "sdpa=cudnn", "sdpa=efficient",
     "max_autotune_gemm=true+max_autotune_gemm_backends=TRITON")
)  # fmt: skip


def config_keys() -> tuple[str, ...]:
    """What to ask an interpreter for (`probe(settings=…)`)."""
    return tuple(lever.config for lever in LEVERS if lever.config)


def check_names(names: Sequence[str]) -> None:
    """Refuse a lever that nobody declared.

    Raises:
        BadInput: with the names of all levers.
    """
    for name in names:
        if name not in BY_NAME and "=" not in name:
            raise BadInput(
                f"There is no lever '{name[:60]}'.",
                remedy=f"Use {', '.join(BY_NAME)}, or KEY=VALUE for an option of Inductor.",
            )


def fitting(
    machine: Machine, names: Sequence[str] = ()
) -> tuple[tuple[Choice, ...], tuple[Unfit, ...]]:
    """What can be tried there, and what cannot, and why.

    Args:
        machine: as far as it is known.
        names: of levers, or KEY=VALUE; empty: all that are offered.
    """
    choices: list[Choice] = []
    unfit: list[Unfit] = []
    for name in names or [lever.name for lever in LEVERS if lever.is_offered]:
        lever = BY_NAME.get(name)
        if lever is None:
            choices.append(Choice(name.partition("=")[0], name, 1.0))
            continue
        why = why_not(lever, machine, is_asked_for=bool(names))
        if why is not None:
            unfit.append(Unfit(lever=name, why=why))
            continue
        words = [w for w in lever.values(machine) if machine.on_gpu or w not in _GPU_WORDS]
        choices += [Choice(name, word, lever.worth - 0.01 * n) for n, word in enumerate(words)]
    return tuple(choices), tuple(unfit)


def why_not(lever: Lever, machine: Machine, *, is_asked_for: bool) -> str | None:
    """Why a lever is not tried, as the end of a sentence; None: it is."""
    if lever.config and lever.config not in machine.config:
        return f"torch {machine.torch} does not have it"
    if lever.config:
        value = lever.words[0].partition("+")[0].rpartition("=")[2]
        if str(machine.config[lever.config]).lower() == value:
            return f"torch {machine.torch} does it by itself"
    why = lever.needs(machine)
    if why is not None:
        return why
    asked = machine.asked
    if lever.only_where_called_for and not is_asked_for and asked is not None:
        called = {name for what in asked for name, _ in CALLS.get(what, ())}
        return None if lever.name in called else "no finding calls for it"
    return None


def setting_of(variant: str) -> Setting:
    """The setting of a variant: each word with the lever that it is a value of.

    Raises:
        BadInput: it is no variant, or not one of torch.compile.
    """
    spec = parse_variant(variant)
    if not spec.compile or spec.mode is None:
        raise BadInput(
            f"An experiment cannot start from '{variant}': Inductor does not compile it.",
            remedy="Begin with a mode of torch.compile, such as default.",
        )
    base, *words = spec.label.split("+")
    levers = {word: lever.name for lever in LEVERS for word in lever.words}
    setting = [] if base == "default" else [("mode", base)]
    setting += [(levers.get(word) or word.partition("=")[0], word) for word in words]
    return tuple(setting)
