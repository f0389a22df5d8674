"""Kernels of a step on the GPU: of a variant as a capture runs it, and of its pasted code.

`python -m tests.experiments.pasted_kernels captured|pasted CASE OUT`: CASE is JSON,
[kind, variant, target] with a function of `own_steps`. `captured` writes OUT; `pasted` reads it for
what was compiled, and adds its own. torch.profiler counts the kernels, by name.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import torch

from profiler_core.experiments.levers import setting_of
from profiler_core.experiments.pasted import code_of
from profiler_core.model.run import Compiled
from tests.experiments import own_steps
from tests.experiments.pasted_runs import step_of_capture

_WARM_UP_STEPS, _STEPS = 12, 5
_ON_CPU = own_steps.parts
_PLACES_ITSELF = ("step", "step_and_model", "lightning")  # a capture moves none of its tensors


def parts_on_gpu():
    """What a user's file has there."""
    model, x = _ON_CPU()
    return model.cuda(), x.cuda()


def kernels_per_step(step):
    """Name -> launches, once what is compiled in the first steps is."""
    for _ in range(_WARM_UP_STEPS):
        step()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA, torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(_STEPS):
            step()
        torch.cuda.synchronize()
    counts = Counter(
        event.name
        for event in profile.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
        and not event.name.startswith(("Memcpy", "Memset"))
        and not event.is_user_annotation
    )
    return {name: n / _STEPS for name, n in counts.items()}


def captured(kind, variant, target):
    """As a capture runs it."""
    if kind in _PLACES_ITSELF:
        own_steps.parts = parts_on_gpu
    step, facts = step_of_capture(kind, variant, target, torch.device("cuda"))
    step.ready()
    numbers = iter(range(_WARM_UP_STEPS + _STEPS))
    kernels = kernels_per_step(lambda: step(next(numbers)))
    return {"facts": facts, "trains": step.trains, "captured": kernels}


def pasted(kind, variant, target, answer):
    """As a person runs it: the code, its last lines in a loop, and the rest of a training step."""
    compiled = Compiled(**answer["facts"])
    code = code_of(
        setting_of(variant), on_gpu=True, trains=answer["trains"], target=target,
        compiled=compiled, function=kind,
    )  # fmt: skip
    own_steps.parts = parts_on_gpu
    names = own_steps.script(kind)
    exec(compile(code, variant, "exec"), names)
    parts = [part for part in code.split("\n\n") if "GradScaler(" not in part]
    called = compile(parts[-1], "the loop's", "exec")

    def in_inference():
        exec(called, names)

    def in_training():
        exec(called, names)
        optimizer, scaler = names["optimizer"], names.get("scaler")
        loss = names.get("loss")
        if not isinstance(loss, torch.Tensor):
            loss = own_steps.criterion(names["output"])
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()

    step = in_training if answer["trains"] else in_inference
    if compiled.is_handed:
        model, inputs = own_steps.handed(compile=names["compile_as_tried"])

        def step():
            with torch.no_grad():
                model(*inputs)

    return {**answer, "code": code, "pasted": kernels_per_step(step)}


def main():
    what, (kind, variant, target), out = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
    if what == "captured":
        answer = captured(kind, variant, tuple(target))
    else:
        answer = pasted(kind, variant, tuple(target), json.loads(out.read_text()))
    out.write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
