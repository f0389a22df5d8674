"""A setting as code to paste into one's own script."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

from profiler_core.analysis.experiment.choice import variant_of
from profiler_core.analysis.experiment.leading import leader_of
from profiler_core.analysis.noise import MIN_ROUNDS
from profiler_core.analysis.wording.experiment import headline
from profiler_core.analysis.wording.sentence import plain
from profiler_core.capture.child.settings import COMPILED_AUTOGRAD, DYNAMO, SDPA_BACKENDS, cpus_of
from profiler_core.capture.process_settings import environment
from profiler_core.capture.round_plan import DEFAULT_ROUNDS
from profiler_core.capture.variant_spec import VariantSpec, parse_variant
from profiler_core.digits import is_whole
from profiler_core.experiments.pasted_target import (
    WITH_INPUTS,
    arguments_of,
    called,
    compile_lines,
    each_of,
    supposed,
)
from profiler_core.experiments.request import spec_of, with_enough_rounds, words_to_try
from profiler_core.model.experiment import Experiment, Setting, Trial
from profiler_core.model.run import Compiled


def pasted(experiment: Experiment) -> str:
    """The leading setting of an experiment."""
    leader = leader_of(experiment)
    spec = spec_of(experiment)
    if leader.trial is None:
        return _comment(plain(headline(experiment)))
    if leader.is_untold:
        return _too_few_rounds(experiment)
    setting = None if leader.is_baseline else leader.setting
    trial = leader.trial
    return code_of(
        setting,
        on_gpu=experiment.on_gpu,
        trains=spec.trains if trial.trains is None else trial.trains,
        compiled=_compiled(trial),
        target=spec.compile_target,
        function=spec.workload.rpartition(":")[2],
    )


def command_with_enough_rounds(experiment: Experiment) -> str | None:
    """The line of a shell that times the same with enough rounds; None: they were enough."""
    if not leader_of(experiment).is_untold:
        return None
    return shlex.join(["fusionscope", "try", *words_to_try(with_enough_rounds(experiment))])


def _too_few_rounds(experiment: Experiment) -> str:
    return _comment(
        f"Nothing to take yet: an interval takes {MIN_ROUNDS} rounds or more. Without --rounds\n"
        f"{DEFAULT_ROUNDS} are timed:\n"
        f"{command_with_enough_rounds(experiment)}"
    )


def _comment(text: str) -> str:
    """Each line of it: the words of an experiment are another person's, ends of lines included."""
    return "\n".join(f"# {line}" for line in text.splitlines())


def _compiled(trial: Trial) -> Compiled | None:
    if not trial.where and not trial.modules and not trial.regions:
        return None  # of an experiment of before it was kept
    return Compiled(
        where=trial.where or ("modules" if trial.modules else "whole"),
        modules=trial.modules,
        regions=trial.regions,
        calls=trial.calls,
        is_handed=trial.is_handed,
    )


def code_of(
    setting: Setting | None,
    *,
    on_gpu: bool,
    trains: bool,
    compiled: Compiled | None = None,
    target: tuple[str, ...] = (),
    function: str = "",
) -> str:
    """Lines for a script with what a step calls: `model` and `inputs`, or `step` alone.

    Of a training it has `optimizer` too, and `criterion` where the loss is compiled.

    Args:
        setting: None: eager, as it is.
        on_gpu: where it runs.
        trains: a step trains; else it is inference.
        compiled: what was; None: what the words of the target say.
        target: what is compiled of a setting that has no target of its own.
        function: name of the workload's.
    """
    if setting is None:
        return "# No torch.compile: nothing that was tried is measurably faster than the model."
    variant = parse_variant(variant_of(setting))
    variant = replace(variant, target=variant.target or target)
    compiled = compiled or supposed(variant)
    device = "cuda" if on_gpu else "cpu"
    settings = dict(variant.settings)
    lines = _before_torch(settings)
    lines += ["import torch"]
    lines += _process(variant, settings)
    lines += _model(variant, settings, compiled)
    lines += compile_lines(variant, compiled, function)
    return "\n".join([*lines, "", *_call(variant, settings, compiled, device, trains=trains)])


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


def _model(variant: VariantSpec, settings: dict[str, str], compiled: Compiled) -> list[str]:
    lines: list[str] = []
    if variant.precision in ("bf16", "fp16"):
        kind = {"bf16": "bfloat16", "fp16": "float16"}[variant.precision]
        lines.append(f"model = model.to(torch.{kind})  # and inputs that are floating-point")
    if variant.channels_last:
        lines.append("model = model.to(memory_format=torch.channels_last)")
        lines += _inputs_channels_last() if compiled.calls in WITH_INPUTS else []
    if settings.get("regions") == "nested":
        lines += _regions(compiled.regions)
    if "optimizer" in settings:
        kind = settings["optimizer"]
        other = "foreach" if kind == "fused" else "fused"
        lines.append(f"# before its first step; or where it is made: torch.optim.…(…, {kind}=True)")
        lines.append("for group in optimizer.param_groups:")
        lines.append(f"    group.update({kind}=True, {other}=False)")
    return [*lines, *_exchange(settings)]


def _inputs_channels_last() -> list[str]:
    return [
        "inputs = tuple(",
        "    x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x",
        "    for x in inputs",
        ")",
    ]


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
        *each_of(paths),
        "    block = type(model.get_submodule(path))  # one of each class of repeated blocks",
        "    block.forward = torch.compiler.nested_compile_region(block.forward)",
    ]


def _call(
    variant: VariantSpec,
    settings: dict[str, str],
    compiled: Compiled,
    device: str,
    *,
    trains: bool,
) -> list[str]:
    is_bare = trains or compiled.calls == "step"  # a step decides itself what it differentiates
    around = [] if is_bare else ["torch.no_grad()"]
    if "sdpa" in settings:
        around.append(f"sdpa_kernel(SDPBackend.{SDPA_BACKENDS[settings['sdpa']]})")
    if variant.precision.endswith("-autocast"):
        kind = "bfloat16" if variant.precision.startswith("bf16") else "float16"
        around.append(f'torch.autocast("{device}", dtype=torch.{kind})')
    lines = [called(compiled)]
    if around:
        lines = [f"with {', '.join(around)}:", f"    {lines[0]}"]
    if not trains:
        return lines
    return [*lines, *_scaled(variant, device), *_compiled_backward(variant, settings)]


def _scaled(variant: VariantSpec, device: str) -> list[str]:
    if variant.precision != "fp16-autocast":
        return []
    return [
        "",
        "# in the loop: scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
        f'scaler = torch.amp.GradScaler("{device}")',
    ]


def _compiled_backward(variant: VariantSpec, settings: dict[str, str]) -> list[str]:
    """What the loop's backward pass stands in: torch's setting alone reaches none of eager code."""
    if settings.get(COMPILED_AUTOGRAD, "").lower() != "true":
        return []
    arguments = "".join(f", {argument}" for argument in arguments_of(variant))
    return [
        "",
        "# around the backward pass of the loop: with compiled_backward(): loss.backward()",
        "def compiled_backward():",
        "    from torch._dynamo.compiled_autograd import _enable",
        "",
        f"    compiler = lambda graph: torch.compile(graph{arguments})",
        f"    return _enable(compiler, dynamic={bool(variant.dynamic)})",
    ]
