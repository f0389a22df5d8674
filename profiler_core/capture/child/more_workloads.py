"""Builders of the further workloads (`recent_models`): model and inputs, from options."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from .workloads import Built, Inputs, Options, Request, label_of, shapes_of, tensors


def _built(model: Any, inputs: List[Inputs]) -> Built:
    return Built(model, inputs, [label_of(args) for args, _ in inputs])


def _moe(request: Request, options: Options) -> Built:
    from . import recent_models

    width, length = options.number("width", 128), options.number("length", 64)
    inputs = tensors(shapes_of(request, 4, (length, width)))
    return _built(recent_models.MixtureOfExperts(width, options.number("experts", 4)), inputs)


def _decode(request: Request, options: Options) -> Built:
    import torch

    from . import recent_models

    width, cached = options.number("width", 256), options.number("cached", 128)
    layers, batch = options.number("layers", 2), request.batch_size or 1
    model = recent_models.GroupedDecoder(width=width, n_cached=cached, n_layers=layers, batch=batch)
    token = torch.randint(0, 1000, (batch, 1))
    return _built(model, [((token, torch.tensor([cached // 2])), {})])


def _dit(request: Request, options: Options) -> Built:
    import torch

    from . import recent_models

    size = options.number("size", 16)
    model = recent_models.DiT(options.number("width", 256), options.number("layers", 2))
    inputs: List[Inputs] = [
        ((torch.randn(*shape), torch.randn(shape[0], 256)), {})
        for shape in shapes_of(request, 4, (4, size, size))
    ]
    return _built(model, inputs)


def _gnn(request: Request, options: Options) -> Built:
    import torch

    from . import recent_models

    nodes, edges = options.number("nodes", request.batch_size or 500), options.number("edges", 4000)
    width = options.number("width", 64)
    model = recent_models.GraphNetwork(width, options.number("layers", 3))
    call = (torch.randn(nodes, width), torch.randint(0, nodes, (2, edges)))
    return _built(model, [(call, {})])


def _flex(request: Request, options: Options) -> Built:
    from . import recent_models

    width, length = options.number("width", 128), options.number("length", 128)
    inputs = tensors(shapes_of(request, 2, (length, width)))
    return _built(recent_models.FlexAttention(width), inputs)


def _dlrm(request: Request, options: Options) -> Built:
    import torch

    from . import recent_models

    tables, rows = options.number("tables", 8), options.number("rows", 1000)
    batch = request.batch_size or 64
    model = recent_models.DLRM(tables, rows, options.number("width", 32))
    call = (torch.randn(batch, 13), torch.randint(0, rows, (tables, batch, 4)))
    return _built(model, [(call, {})])


BUILDERS: Dict[str, Callable[[Request, Options], Built]] = {
    "moe": _moe,
    "decode": _decode,
    "dit": _dit,
    "gnn": _gnn,
    "flex": _flex,
    "dlrm": _dlrm,
}
