"""Stands where torch-tensorrt would: registers the backends of its names, and runs the graph.

Says to stdout what it was given, so that the way of options can be read from a run.
"""

import os

import torch
from torch._dynamo.backends.registry import register_backend

if os.environ.get("BROKEN_TENSORRT"):
    raise ImportError("libnvinfer.so.10: cannot open shared object file")


@register_backend(name="tensorrt")
@register_backend(name="torch_tensorrt")
def compile_graph(graph, inputs, **settings):
    options = settings.get("options", {})
    if options.get("optimization_level", 0) > 5:
        raise ValueError("optimization_level is between 0 and 5")
    shown = {key: sorted(v, key=str) if isinstance(v, set) else v for key, v in options.items()}
    print(f"tensorrt was given {shown}; {len(inputs)} inputs; {torch.is_grad_enabled()=}")
    return graph.forward
