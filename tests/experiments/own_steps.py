"""A user's file: one small model in every kind of step, and the names that a script of each has."""

import torch
from torch import nn

N_INPUTS = 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        x = x + self.project(x).relu()
        return x + nn.functional.scaled_dot_product_attention(x, x, x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x).sigmoid()

    def generate(self, x):
        return self(self(x)).argmax(-1)


def parts():
    torch.manual_seed(0)
    model = Model()
    return model, torch.randn(N_INPUTS, 4, 4, 4)


def criterion(output, batch=None):
    return (output - 0.5).abs().mean()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def adamw(parameters):
    return torch.optim.AdamW(parameters)


def inference():
    model, x = parts()
    return model, (x,)


def with_loss():
    model, x = parts()
    return model, (x,), criterion


def loop():
    model, x = parts()
    return {"model": model, "batches": [x], "loss": criterion, "optimizer": adamw}


def lightning():
    model, x = parts()
    return {
        "model": model, "batches": [x], "optimizer": adamw,
        "training_step": lambda batch: criterion(model(batch)),
    }  # fmt: skip


def a_step(model, x):
    optimizer = sgd(model)

    def step():
        loss = criterion(model(x))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def step():
    return a_step(*parts())


def step_and_model():
    model, x = parts()
    return a_step(model, x), model


def generating():
    model, x = parts()
    return {"model": model, "inputs": (x,)}


def own_generate():
    model, x = parts()
    return {"model": model, "inputs": (x,), "generate": lambda x: model(x).tanh()}


def decoding():
    model, x = parts()
    return {"model": model, "inputs": (x,), "step": lambda x: model(x).tanh()}


def handed(compile=lambda model, **_: model):  # noqa: A002 - as docs/capture.md names it
    model, x = parts()
    model.head = compile(model.head)
    return model, (x,)


def compiles_itself():
    model, x = parts()
    model.layers[0].compile()
    return model, (x,)


def sharded():
    from torch.distributed.fsdp import fully_shard

    model, x = parts()
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model), (x,)


def script(kind: str) -> dict[str, object]:
    """What the user has where the code is pasted."""
    built = globals()[kind]()
    if isinstance(built, dict):
        model = built["model"]
        x = built.get("inputs", built.get("batches"))[0]
        names = {"model": model, "inputs": (x,), "batch": x, **built}
        make = names.get("optimizer")
        return {**names, "criterion": criterion, "optimizer": make and make(model.parameters())}
    if callable(built):
        return {"step": built}
    if callable(built[0]) and not isinstance(built[0], nn.Module):
        return {"step": built[0], "model": built[1]}
    model, inputs = built[:2]
    return {"model": model, "inputs": inputs, "criterion": criterion, "optimizer": sgd(model)}
