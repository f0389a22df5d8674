"""What is compiled when a capture runs a variant, and when its pasted code runs; a process a run.

`python -m tests.experiments.pasted_runs CASES OUT`: CASES is JSON, [[kind, variant, target], …]
with the functions of `own_steps`. Dynamo and torch.compile are torch's own; in place of Inductor's
compiler each graph is written down, with the options that Inductor was given, and runs as it is.
"""

import gc
import json
import os
import sys
import traceback
from pathlib import Path

import torch
import torch._dynamo.compiled_autograd
import torch._inductor.compile_fx as inductor

from profiler_core.capture.child import settings, variants, workloads
from profiler_core.capture.child.steps import step_of
from profiler_core.capture.variant_spec import aimed, parse_variant
from profiler_core.experiments.levers import setting_of
from profiler_core.experiments.pasted import code_of
from profiler_core.model.run import Compiled
from tests.experiments import own_steps

CPU = torch.device("cpu")
TRAINING = ("with_loss", "loop", "lightning")


def compiled_while(work):
    """The graphs, with their options, and whatever work answers; or the error."""
    graphs = []

    def compile_fx(graph, _inputs, config_patches=None, **_):
        ops = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
        around = [torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")]
        graphs.append([ops, sorted(map(repr, (config_patches or {}).items())), *around])
        return graph.forward

    inductor.compile_fx = compile_fx
    answer = {"graphs": graphs, "error": None}
    try:
        work(answer)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        answer["trace"] = traceback.format_exc()
    answer["threads"] = torch.get_num_threads()
    answer["cpus"] = sorted(os.sched_getaffinity(0))
    answer["tf32"] = [torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32]
    return answer


def step_of_capture(kind, variant, target, device):
    """(the step of a capture of it, what of the file it compiles as `Compiled` has it)."""
    (spec,) = aimed((parse_variant(variant),), target)
    asked = variants.variant_from(spec.to_dict())
    file = f"{own_steps.__file__}:{kind}"
    request = workloads.Request(file, None, (), {}, kind == "with_loss", 0)
    settings.before_torch(asked.settings)
    variants.apply_precision(asked)
    settings.apply(asked.settings)
    built = variants.build(request, asked, device)
    step = step_of(built, asked, device, request.training)
    facts = {
        **step.target.facts(), "regions": step.regions, "calls": step.calls,
        "is_handed": built.compiles_itself,
    }  # fmt: skip
    return step, facts


def captured(kind, variant, target):
    """As a capture runs it."""

    def work(answer):
        step, answer["facts"] = step_of_capture(kind, variant, target, CPU)
        answer["trains"] = step.trains
        step.ready()
        step(0)

    return work


def as_pasted(kind, variant, target, capture):
    """As a person runs it: the code, and what of a training loop stands around it."""

    def work(answer):
        facts = capture["facts"]
        answer["code"] = code = code_of(
            setting_of(variant), on_gpu=False, trains=capture["trains"], target=target,
            compiled=Compiled(**facts), function=kind,
        )  # fmt: skip
        names = own_steps.script(kind)
        exec(compile(code, variant, "exec"), names)
        if facts["is_handed"]:
            model, inputs = getattr(own_steps, kind)(compile=names["compile_as_tried"])
            with torch.no_grad():
                model(*inputs)
        if capture["trains"]:
            loss = names.get("loss")
            if not isinstance(loss, torch.Tensor):
                loss = own_steps.criterion(names["output"])
            loss = names["scaler"].scale(loss) if "scaler" in names else loss
            if "compiled_backward" in names:
                with names["compiled_backward"]():
                    loss.backward()
            else:
                loss.backward()
            names["optimizer"].step()

    return work


def apart(work):
    """The answer of a process of its own, which inherits what is imported."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        with os.fdopen(writing, "w") as file:
            json.dump(compiled_while(work), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        answer = json.load(file)
    os.waitpid(pid, 0)
    return answer


def of_a_job(kind, variant):
    """The pasted code alone, in a group of one rank: the capture of it makes the ranks itself."""

    def work(answer):
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(),
                                             rank=0, world_size=1)  # fmt: skip
        names = own_steps.script(kind)
        exec(code_of(setting_of(variant), on_gpu=False, trains=False), names)
        model = names["model"]
        answer["wrapper"] = type(getattr(model, "_orig_mod", model)).__name__
        answer["output"] = list(names["output"].shape)

    return work


def main():
    cases, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    # What is imported on the way. Nothing that starts a thread, which is not there after a fork: no
    # backward pass, and no set_num_threads, whose pool two threads of autograd would mend at once.
    compiled_while(captured("inference", "default+dynamic", ()))
    torch._dynamo.reset()
    gc.disable()
    gc.freeze()
    answers = []
    for kind, variant, target in cases:
        if target == ["of a job"]:
            answers.append([None, apart(of_a_job(kind, variant))])
            continue
        capture = apart(captured(kind, variant, tuple(target)))
        answers.append([capture, apart(as_pasted(kind, variant, tuple(target), capture))])
    out.write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
