"""A setting as code to paste into one's own script."""

import re
from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.experiment.choice import variant_of
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.capture.child.settings import COMPILED_AUTOGRAD, DYNAMO, SDPA_BACKENDS, cpus_of
from profiler_core.capture.compile_target import TARGETS
from profiler_core.capture.process_settings import environment
from profiler_core.capture.variant_spec import VariantSpec, parse_variant
from profiler_core.digits import is_whole
from profiler_core.experiments.request import spec_of
from profiler_core.model.experiment import Experiment, Setting

_PLAIN = re.compile(r"[\w.]+")  # the path of a module


def pasted(experiment: Experiment) -> str:
    """The leading setting of an experiment."""
    leader = leader_of(experiment)
    spec = spec_of(experiment)
    setting = None if leader.is_baseline else leader.setting
    trial = leader.trial
    return code_of(
        setting,
        on_gpu=experiment.on_gpu,
        trains=spec.trains,
        modules=() if trial is None else trial.modules,
        regions=() if trial is None else trial.regions,
        target=spec.compile_target,
    )


def code_of(
    setting: Setting | None,
    *,
    on_gpu: bool,
    trains: bool,
    modules: Sequence[str] = (),
    regions: Sequence[str] = (),
    target: tuple[str, ...] = (),
) -> str:
    """Lines for a script with `model`, `inputs` and, of a training, `optimizer`.

    Args:
        setting: None: eager, as it is.
        on_gpu: where it runs.
        trains: a step trains; else it is inference.
        modules: paths of those that were compiled, where it was not the whole model.
        regions: the path of one module of each class that was a nested compile region.
        target: what is compiled of a setting that has no target of its own.
    """
    if setting is None:
        return "# No torch.compile: nothing that was tried is measurably faster than the model."
    variant = parse_variant(variant_of(setting))
    variant = replace(variant, target=variant.target or target)
    device = "cuda" if on_gpu else "cpu"
    settings = dict(variant.settings)
    lines = _before_torch(settings)
    lines += ["import torch"]
    lines += _process(variant, settings)
    lines += _model(variant, settings, modules, regions)
    return "\n".join([*lines, "", *_call(variant, settings, device, trains=trains)])


def _before_torch(settings: dict[str, str]) -> list[str]:
    lines = []
    if "cpus" in settings:
        cpus = ", ".join(map(str, sorted(cpus_of(settings["cpus"]))))
        lines += [f"os.sched_setaffinity(0, {{{cpus}}})  # before torch starts its threads"]
    for name, value in environment(tuple(settings.items())).items():
        lines += [f'os.environ["{name}"] = "{value}"  # before init_process_group']
    return ["import os", "", *lines, ""] if lines else []


def _process(variant: VariantSpec, settings: dict[str, str]) -> list[str]:
    lines: list[str] = []
    if "sdpa" in settings:
        lines.append("from torch.nn.attention import SDPBackend, sdpa_kernel")
    if variant.mode != "default" and variant.backend_options:
        lines.append("from torch._inductor import list_mode_options")
    lines.append("")
    if "threads" in settings:
        lines.append(f"torch.set_num_threads({settings['threads']})")
    if variant.precision == "tf32":
        lines.append('torch.set_float32_matmul_precision("high")')
        lines.append("torch.backends.cudnn.allow_tf32 = True")
    for key, value in settings.items():
        if key.startswith(DYNAMO):
            lines.append(f"torch._dynamo.config.{key.removeprefix(DYNAMO)} = {_literal(value)}")
    return lines


def _literal(text: str) -> str:
    words = {"true": "True", "false": "False", "none": "None"}
    return words.get(text, text if is_whole(text) else repr(text))


def _model(
    variant: VariantSpec,
    settings: dict[str, str],
    compiled: Sequence[str],
    regions: Sequence[str],
) -> list[str]:
    lines: list[str] = []
    if variant.precision in ("bf16", "fp16"):
        kind = {"bf16": "bfloat16", "fp16": "float16"}[variant.precision]
        lines.append(f"model = model.to(torch.{kind})  # and inputs that are floating-point")
    if variant.channels_last:
        lines.append("model = model.to(memory_format=torch.channels_last)")
        lines.append("inputs = tuple(")
        lines.append("    x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x")
        lines.append("    for x in inputs")
        lines.append(")")
    if settings.get("regions") == "nested":
        lines += _regions(regions)
    if "optimizer" in settings:
        kind = settings["optimizer"]
        other = "foreach" if kind == "fused" else "fused"
        lines.append(f"# before its first step; or where it is made: torch.optim.…(…, {kind}=True)")
        lines.append("for group in optimizer.param_groups:")
        lines.append(f"    group.update({kind}=True, {other}=False)")
    return [*lines, *_exchange(settings), *_compile(variant, compiled)]


def _exchange(settings: dict[str, str]) -> list[str]:
    """How DDP and FSDP2 exchange."""
    lines: list[str] = []
    if "bucket_cap_mb" in settings:
        lines += ["# where it is wrapped:", "model = torch.nn.parallel.DistributedDataParallel("]
        lines += [f"    model, bucket_cap_mb={settings['bucket_cap_mb']}", ")"]
    if "prefetch" in settings:
        upto = int(settings["prefetch"]) + 1
        lines += [
            "# each block that fully_shard was called on gathers the weights of those that follow",
            "from torch.distributed.fsdp import FSDPModule",
            "",
            "blocks = [m for m in model.modules() if isinstance(m, FSDPModule) and m is not model]",
            "for n, block in enumerate(blocks):",
            f"    block.set_modules_to_forward_prefetch(blocks[n + 1 : n + {upto}])",
            f"    earlier = blocks[max(0, n - {upto - 1}) : n]",
            "    block.set_modules_to_backward_prefetch(earlier[::-1])",
        ]
    return lines


def _regions(paths: Sequence[str]) -> list[str]:
    if not paths:  # an experiment of before these were kept
        return ["# above: decorate forward of the repeated block's class with",
                "# @torch.compiler.nested_compile_region"]  # fmt: skip
    return [
        *_each_of(paths),
        "    block = type(model.get_submodule(path))  # one of each class of repeated blocks",
        "    block.forward = torch.compiler.nested_compile_region(block.forward)",
    ]


def _compile(variant: VariantSpec, compiled: Sequence[str]) -> list[str]:
    arguments = _arguments(variant)
    whole = ", ".join(arguments)
    modules = [t for t in variant.target if t not in TARGETS]
    lines = [f"# tried: {TARGETS[t]}" for t in variant.target if t in ("loss", "step", "as-is")]
    if compiled:
        lines += _each_of(compiled)
        lines += [f"    model.get_submodule(path).compile({whole})"]
    elif "blocks" in variant.target:
        lines += ["for block in model.layers:  # the model's list of repeated blocks"]
        lines += [f"    block.compile({whole})"]
    elif modules:
        lines += _each_matching(modules)
        lines += [f"        module.compile({whole})"]
    elif len(f"model = torch.compile(model, {whole})") <= 88:
        inside = f"model, {whole}" if whole else "model"
        lines += [f"model = torch.compile({inside})"]
    else:
        lines += ["model = torch.compile(", "    model,"]
        lines += [f"    {argument}," for argument in arguments]
        lines += [")"]
    if "optimizer" in variant.target:
        lines += [f"optimizer.step = torch.compile({', '.join(['optimizer.step', *arguments])})"]
    return lines


def _each_of(paths: Sequence[str]) -> list[str]:
    """The head of a loop over modules; those that stand one after another in a list as its range.

    `h.0`, `h.1` and `h.2` are `(f"h.{n}" for n in range(3))`. Whose model it was also chose the
    names: within that text one could be code.
    """
    heads = {path.rpartition(".")[0] for path in paths}
    (head,) = heads if len(heads) == 1 else ("",)
    if _PLAIN.fullmatch(head) and list(paths) == [f"{head}.{n}" for n in range(len(paths))]:
        return [f'for path in (f"{head}.{{n}}" for n in range({len(paths)})):']
    return ["for path in (", *(f"    {path!r}," for path in paths), "):"]


def _each_matching(patterns: Sequence[str]) -> list[str]:
    """The head of a loop over modules by patterns of their paths, which `get_submodule` takes not.

    A star is one part of a path, or some of it, as `capture/child/targets.py` has it.
    """
    return [
        "from fnmatch import fnmatchcase",
        "",
        "patterns = (",
        *(f"    {pattern!r}," for pattern in patterns),
        ")",
        "for path, module in model.named_modules():",
        '    if any(path.count(".") == p.count(".") and fnmatchcase(path, p) for p in patterns):',
    ]


def _arguments(variant: VariantSpec) -> list[str]:
    """As `capture/child/variants.py` gives them to torch.compile: a mode beside options is one."""
    arguments: list[str] = []
    if variant.dynamic is not None:
        arguments.append(f"dynamic={variant.dynamic}")
    if variant.fullgraph:
        arguments.append("fullgraph=True")
    options = variant.to_dict()["backend_options"]
    written = ", ".join(f'"{key}": {value!r}' for key, value in options.items())
    if options and variant.mode != "default":
        arguments.append(f'options={{**list_mode_options("{variant.mode}"), {written}}}')
    elif options:
        arguments.append(f"options={{{written}}}")
    elif variant.mode != "default":
        arguments.append(f'mode="{variant.mode}"')
    return arguments


def _call(
    variant: VariantSpec, settings: dict[str, str], device: str, *, trains: bool
) -> list[str]:
    backward = _compiled_backward(variant, settings) if trains else []
    around = [] if trains else ["torch.no_grad()"]
    if "sdpa" in settings:
        around.append(f"sdpa_kernel(SDPBackend.{SDPA_BACKENDS[settings['sdpa']]})")
    if variant.precision.endswith("-autocast"):
        kind = "bfloat16" if variant.precision.startswith("bf16") else "float16"
        around.append(f'torch.autocast("{device}", dtype=torch.{kind})')
    if not around:
        return ["output = model(*inputs)", *backward]
    return [f"with {', '.join(around)}:", "    output = model(*inputs)", *backward]


def _compiled_backward(variant: VariantSpec, settings: dict[str, str]) -> list[str]:
    """What the loop's backward pass stands in: torch's setting alone reaches none of eager code."""
    if settings.get(COMPILED_AUTOGRAD, "").lower() != "true":
        return []
    arguments = "".join(f", {argument}" for argument in _arguments(variant))
    return [
        "",
        "# around the backward pass of the loop: with compiled_backward(): loss.backward()",
        "def compiled_backward():",
        "    from torch._dynamo.compiled_autograd import _enable",
        "",
        f"    compiler = lambda graph: torch.compile(graph{arguments})",
        f"    return _enable(compiler, dynamic={bool(variant.dynamic)})",
    ]
