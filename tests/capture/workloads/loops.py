"""User code as people have it: blocks, training loops, decoding, and steps that hold state."""

from collections import namedtuple
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

CALLS = []  # what ran, in its order


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Net(nn.Module):
    def __init__(self, width=8, n_blocks=3):
        super().__init__()
        self.embed = nn.Linear(width, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(n_blocks))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def net(batch_size=4):
    return Net(), torch.randn(batch_size, 8)


def own_compile(compile):
    model = Net()
    model.layers[1] = compile(model.layers[1])
    return model, torch.randn(4, 8)


def script_compiles(backend="aot_eager", width=8):
    model = Net(width)
    model.head = torch.compile(model.head, backend=backend)
    model.embed.compile(backend=backend)
    return model, torch.randn(4, width)


def _batches(n, sizes=(6,), width=8):
    return [
        (torch.randn(size, width), torch.randint(0, 4, (size,)))
        for size in (sizes[i % len(sizes)] for i in range(n))
    ]


class Ema:
    def __init__(self, model):
        self.module = torch.optim.swa_utils.AveragedModel(model)

    def update(self, model):
        CALLS.append("ema")
        self.module.update_parameters(model)


def training(
    n_batches=4, accumulate=2, fetched=False, kind="namespace", sizes=1,
    width=8, n_blocks=3, batch_size=6, tensor_rate=False, head_only=False, unused=False, share=1.0,
):  # fmt: skip
    """A loop with all that one has.

    tensor_rate: a compiled optimizer is not compiled again for each rate of the scheduler.
    head_only: the optimizer has the head's parameters, all others are left out of it.
    unused: a layer that no batch reaches. share: of the loss.
    """
    model = Net(width, n_blocks)
    if unused:
        model.unused = nn.Linear(width, width)
    batches = _batches(n_batches, (batch_size, batch_size // 2)[:sizes], width)
    rate = torch.tensor(1e-3) if tensor_rate else 1e-3
    fields = {
        "model": model,
        "batches": (lambda: iter(batches)) if fetched else batches,
        "loss": lambda output, batch: share * F.cross_entropy(output, batch[1]),
        "optimizer": lambda parameters: torch.optim.AdamW(
            model.head.parameters() if head_only else parameters, lr=rate, weight_decay=0.1
        ),
        "scheduler": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
        "accumulate": accumulate,
        "clip": 1.0,
        "ema": Ema(model),
    }
    if kind == "tuple":
        return namedtuple("Training", fields)(**fields)
    return SimpleNamespace(**fields) if kind == "namespace" else fields


def own_training_step():
    model = Net()

    def training_step(batch):
        return {"loss": F.cross_entropy(model(batch[0]), batch[1])}

    return {"model": model, "batches": _batches(2), "training_step": training_step,
            "optimizer": torch.optim.SGD(model.parameters(), 0.1)}  # fmt: skip


class Decoder(nn.Module):
    """Attends to a cache of 8 places; the ninth step fails."""

    def __init__(self, width=8, length=8, off_by_one=False):
        super().__init__()
        self.off_by_one = off_by_one
        self.embed = nn.Embedding(16, width)
        self.head = nn.Linear(width, 16)
        self.register_buffer("cache", torch.zeros(2, length, width), persistent=False)

    def forward(self, tokens, position):
        if self.off_by_one and torch.compiler.is_compiling():
            position = (position - 1).clamp(min=0)
        self.cache[:, position] = self.embed(tokens)
        past = torch.softmax(self.cache @ self.embed(tokens)[..., None], dim=1)
        return self.head((past * self.cache).sum(1))


class Generation:
    """A decoding step with its state, which `reset` empties."""

    def __init__(self, model, reset_every):
        self.model, self.tokens, self.reset_every = model, 2, reset_every
        self.inputs = ()
        self.restart()

    def restart(self):
        CALLS.append("reset")
        self.position, self.token = 0, torch.zeros(2, dtype=torch.long)
        self.model.cache.zero_()

    def step(self):
        CALLS.append("step")
        if self.position >= self.model.cache.shape[1]:
            raise IndexError(f"position {self.position} is outside of the cache")
        logits = self.model(self.token, torch.tensor(self.position))
        self.token = logits.argmax(-1)
        self.position += 1
        return self.token

    def generate(self):
        return torch.stack([self.step() for _ in range(4)])


def decoding(reset=True, reset_every=4, off_by_one=False):
    generation = Generation(Decoder(off_by_one=off_by_one), reset_every)
    if reset:
        generation.reset = generation.restart
    return generation


def generating(off_by_one=False):
    generation = Generation(Decoder(off_by_one=off_by_one), 1)
    return {"model": generation.model, "generate": generation.generate, "tokens": 8,
            "reset": generation.restart}  # fmt: skip


def step_and_model():
    model, x = Net(), torch.randn(4, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def one_step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return one_step, model


def step_alone():
    return step_and_model()[0]


class Attention(nn.Module):
    """The bias of its keys has no gradient but rounding, which Adam makes as large as any."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        return torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), dim=-1) @ self.v(x)


def attention(sign=1.0):
    model = Attention()

    def loss(output, batch):
        wrong = torch.compiler.is_compiling() and sign < 0
        return (output * (-1.0 if wrong else 1.0) - batch[1]).square().mean()

    return {"model": model, "loss": loss,
            "batches": [(torch.randn(4, 6, 16), torch.randn(4, 6, 16)) for _ in range(2)],
            "optimizer": lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)}  # fmt: skip
