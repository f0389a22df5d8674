"""The levers of an experiment: what may be set, where it fits, and what findings call for.

One row each. A value is the word of a variant (`capture --variants default+WORD`). Whether the
installed torch has an option of Inductor's or Dynamo's is asked of it (`config_keys`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from profiler_core.analysis.experiment.choice import Choice
from profiler_core.capture.process_settings import SETTINGS
from profiler_core.capture.variant_spec import MODES, parse_variant
from profiler_core.errors import BadInput
from profiler_core.experiments.lever import (
    COMPILED_AUTOGRAD,
    GPU_ONLY,
    LEFT_ALONE,
    PYTHON_REDUCER,
    Lever,
    attention,
    compiled_autograd,
    convolutions,
    cores,
    cpu,
    dynamo,
    exchange,
    gpu,
    gpu_convolutions,
    inductor,
    inference,
    job,
    nccl,
    parallel,
    threads,
    training,
)
from profiler_core.experiments.machine import Machine
from profiler_core.model.experiment import Setting, Unfit

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
        needs=convolutions,
    ),
    inductor("freezing", "true", "weights compiled in as constants", 0.8, inference),
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
        needs=training,
    ),
    Lever("dynamic", ("dynamic", "static"), "whether sizes are compiled in", 0.4),
    Lever(
        "fullgraph",
        ("fullgraph",),
        "a graph break is an error: it changes no time",
        0.0,
        is_offered=False,
    ),
    dynamo("capture_scalar_outputs", "true", ".item() stays in the graph"),
    dynamo("capture_dynamic_output_shape_ops", "true", "nonzero and the like stay in the graph"),
    dynamo("allow_unspec_int_on_nn_module", "true", "an int of a module is no constant"),
    dynamo("recompile_limit", "64", "recompilations before it falls back to eager"),
    dynamo("automatic_dynamic_shapes", "false", "each new size is compiled anew"),
    Lever(
        "sdpa",
        ("sdpa=flash", "sdpa=cudnn", "sdpa=efficient", "sdpa=math"),
        "backend of scaled_dot_product_attention",
        0.35,
        needs=attention,
    ),
    inductor("coordinate_descent_tuning", "true", "Triton's configurations searched", 0.6, gpu),
    Lever(
        "max_autotune_gemm",
        ("max_autotune_gemm=true", "max_autotune_gemm=true+max_autotune_gemm_backends=TRITON"),
        "several kernels tried for each matrix product",
        0.4,
        "inductor.max_autotune_gemm",
    ),
    inductor("max_autotune_pointwise", "true", "several tilings tried for each", 0.35, gpu),
    inductor("combo_kernels", "true", "small independent kernels in one launch", 0.5, gpu),
    inductor("aggressive_fusion", "true", "fuses more, at the cost of registers", 0.3, gpu),
    inductor("epilogue_fusion", "false", "products without what follows them", 0.1),
    inductor("shape_padding", "false", "products not padded to aligned sizes", 0.15, gpu),
    inductor("layout_optimization", "false", "convolutions in the layout that they are given",
              0.3, gpu_convolutions),
    inductor("conv_1x1_as_mm", "true", "1x1 convolutions as matrix products", 0.3,
              gpu_convolutions),
    inductor("permute_fusion", "true", "transposes moved into products", 0.2),
    inductor("loop_ordering_after_fusion", "false", "loops ordered before they are fused", 0.15),
    inductor("reorder_for_peak_memory", "false", "kernels in the order of the graph", 0.1),
    inductor("triton.cudagraphs", "true", "CUDA graphs without the rest of a mode", 0.2, gpu),
    inductor("triton.multi_kernel", "1", "two reductions tried for each", 0.2, gpu),
    inductor("cpp.enable_tiling_heuristics", "false", "C++ loops tiled always", 0.15, cpu),
    Lever(
        "reorder_for_compute_comm_overlap",
        ("reorder_for_compute_comm_overlap=true",),
        "collectives of the graph moved apart from what waits for them",
        0.5,
        "inductor.reorder_for_compute_comm_overlap",
        gpu,
        only_where_called_for=True,
    ),
    *(
        exchange(f"inductor.bucket_{kind}_fx", (f"bucket_{kind}_fx=all",), about, job)
        for kind, about in (
            ("all_gathers", "small all-gathers of the graph joined into one"),
            ("reduce_scatters", "small reduce-scatters of the graph joined into one"),
            ("all_reduces", "small all-reduces of the graph joined into one"),
        )
    ),
    Lever(
        "compiled_autograd",
        (PYTHON_REDUCER, COMPILED_AUTOGRAD),
        "the whole backward pass as one graph, DDP's collectives in it",
        0.4,
        "dynamo.compiled_autograd",
        training,
        compiled_autograd,
        only_where_called_for=True,
    ),
    exchange(
        "ddp.bucket_cap_mb",
        ("bucket_cap_mb=100", "bucket_cap_mb=1000", "bucket_cap_mb=10"),
        "size of DDP's buckets of gradients, MB",
        parallel("ddp", "DistributedDataParallel"),
    ),
    exchange(
        "fsdp.prefetch",
        ("prefetch=2", "prefetch=1"),
        "how many blocks ahead FSDP2 gathers the weights",
        parallel("fsdp", "FSDP2"),
    ),
    exchange(
        "nccl.NCCL_MAX_CTAS",
        ("NCCL_MAX_CTAS=8", "NCCL_MAX_CTAS=4"),
        "multiprocessors that a collective takes at most",
        nccl,
    ),
    exchange(
        "nccl.NCCL_MIN_CTAS",
        ("NCCL_MIN_CTAS=32",),
        "multiprocessors that a collective takes at least",
        nccl,
    ),
    Lever("threads", (), "threads of torch on the CPU", 0.6,
          needs=cpu, of_machine=threads),
    Lever("cpus", (), "one CPU of each core, to which the process is bound", 0.5, needs=cpu,
          of_machine=cores),
)  # fmt: skip

# What a finding asks for (`machine.what_it_asks`) -> the levers that may do it,
# each with the one word that does; "": whichever. The first does what the finding predicts, the
# others a part of it at most.
CALLS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "graph_replay": (("mode", "reduce-overhead"), ("combo_kernels", "")),
    "template_kernels": (("mode", "max-autotune"), ("max_autotune_gemm", "")),
    "half_precision": (("precision", "bf16-autocast"),),
    "tf32": (("precision", "tf32"),),
    "even_shapes": (("precision", "bf16-autocast"), ("shape_padding", "")),
    "channels_last": (("channels_last", ""),),
    "frozen_weights": (("freezing", ""),),
    "fused_optimizer": (("optimizer", ""),),
    "capture_scalar_outputs": (("capture_scalar_outputs", ""),),
    "capture_dynamic_output_shape_ops": (("capture_dynamic_output_shape_ops", ""),),
    "no_skips": (("recompile_limit", ""),),
    "fewer_threads": (("threads", ""), ("cpus", "")),
    "hidden_transfers": (
        ("reorder_for_compute_comm_overlap", ""), ("bucket_all_gathers_fx", ""),
        ("bucket_reduce_scatters_fx", ""), ("bucket_all_reduces_fx", ""), ("NCCL_MIN_CTAS", ""),
    ),
    "other_buckets": (("bucket_cap_mb", ""), ("compiled_autograd", ""), ("NCCL_MIN_CTAS", "")),
    "gathered_ahead": (("prefetch", ""), ("scope", "target=blocks"), ("NCCL_MIN_CTAS", "")),
    "narrow_transfers": (("NCCL_MAX_CTAS", ""),),
    "fewer_transfers": (("NCCL_MAX_CTAS", ""), ("bucket_cap_mb", "")),
    "recompiles": (
        ("dynamic", ""), ("allow_unspec_int_on_nn_module", ""), ("recompile_limit", ""),
        ("automatic_dynamic_shapes", ""),
    ),
    "like_baseline": (("layout_optimization", ""), ("max_autotune_gemm", "")),
}  # fmt: skip

BY_NAME = {lever.name: lever for lever in LEVERS}
_LEVER_OF = {word: lever.name for lever in LEVERS for word in lever.words}
# Words that mean something on a GPU only, of levers that fit the CPU too.
_GPU_WORDS = frozenset(
    ("reduce-overhead", "max-autotune-no-cudagraphs", "tf32", "sdpa=cudnn", "sdpa=efficient",
     "max_autotune_gemm=true+max_autotune_gemm_backends=TRITON")
)  # fmt: skip


def config_keys() -> tuple[str, ...]:
    """What to ask an interpreter for (`probe(settings=…)`)."""
    return tuple(lever.config for lever in LEVERS if lever.config)


def check_names(names: Sequence[str]) -> None:
    """Refuse a lever that nobody declared, and a value that it cannot have.

    Raises:
        BadInput: with the names of all levers, or the values of the one.
    """
    for name in names:
        _lever_and_word(name)


def _lever_and_word(name: str) -> tuple[str, str]:
    """What is asked for by a lever's name, `LEVER=VALUE`, a word of a variant, or KEY=VALUE.

    Returns:
        The lever and the word; "" for each of its words. An option of Inductor that is no lever's
        is a lever of its own.

    Raises:
        BadInput: see `check_names`.
    """
    key, equals, value = name.partition("=")
    lever = BY_NAME.get(key)
    if name in BY_NAME:
        return name, ""
    if name in _LEVER_OF:
        return _LEVER_OF[name], name
    if not equals:
        raise BadInput(
            f"There is no lever '{name[:60]}'.",
            remedy=f"Use {', '.join(BY_NAME)}, or KEY=VALUE for an option of Inductor.",
        )
    if lever is None:
        return key, name
    if value in lever.words:
        return key, value
    if lever.config.startswith("dynamo."):
        return key, f"{lever.config}={value}"
    if lever.config or key in SETTINGS:
        return key, name
    raise BadInput(
        f"The lever {key} has no value '{value[:60]}'.",
        remedy=f"Use {', '.join(lever.words)}.",
    )


def fitting(
    machine: Machine, names: Sequence[str] = ()
) -> tuple[tuple[Choice, ...], tuple[Unfit, ...]]:
    """What can be tried there, and what cannot, and why.

    Args:
        machine: as far as it is known.
        names: of levers, LEVER=VALUE, words of variants or KEY=VALUE; empty: all that are offered.

    Raises:
        BadInput: a name is none of these.
    """
    choices: list[Choice] = []
    unfit: list[Unfit] = []
    for name in names or [lever.name for lever in LEVERS if lever.is_offered]:
        key, asked = _lever_and_word(name)
        lever = BY_NAME.get(key)
        if lever is None or (asked and asked not in lever.values(machine)):
            words, why, worth = [asked], None, 1.0  # of somebody's own
        else:
            why = why_not(lever, machine, is_asked_for=bool(names))
            words = [w for w in lever.values(machine) if machine.on_gpu or w not in _GPU_WORDS]
            worth = lever.worth
            if asked:
                why = why or (None if asked in words else GPU_ONLY)
                words = [asked]
        if machine.is_left_alone:
            words, why = _without_arguments(words, why)
        if why is not None:
            unfit.append(Unfit(lever=name, why=why))
            continue
        choices += [Choice(key, word, worth - 0.01 * n) for n, word in enumerate(words)]
    return tuple(choices), tuple(unfit)


def _without_arguments(words: Sequence[str], why: str | None) -> tuple[list[str], str | None]:
    """Those words that reach the script's own calls, and why the lever does not fit, if so."""
    reaching = [word for word in words if not is_argument(word)]
    return reaching, why or (None if reaching else LEFT_ALONE)


def is_argument(word: str) -> bool:
    """Whether a word of a variant only says what is given to torch.compile, or what is compiled."""
    variant = parse_variant(word if word in MODES else f"default+{word}")
    plain = replace(variant, mode="default", dynamic=None, fullgraph=False, backend_options=())
    return plain.label == "default" or bool(variant.target)


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
    setting = [] if base == "default" else [("mode", base)]
    setting += [(_LEVER_OF.get(word) or word.partition("=")[0], word) for word in words]
    return tuple(setting)
