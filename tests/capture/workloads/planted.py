"""The models of tiny.py, with compilers that answer wrong or not at all.

In a file of its own: to register a compiler imports Dynamo, which eager captures do without.
"""

import torch
from tiny import dropout, model, random_answer, shaped, step

__all__ = ["dropout", "model", "random_answer", "shaped", "step"]


def wrong_backend(graph, example_inputs):
    """A compiler that runs fast and answers wrong."""

    def run(*arguments):
        return tuple(value * 1.01 for value in graph(*arguments))

    return run


def broken_backend(graph, example_inputs):
    raise RuntimeError("this compiler cannot compile")


torch._dynamo.register_backend(wrong_backend, name="planted_wrong")
torch._dynamo.register_backend(broken_backend, name="planted_broken")
