"""Models that a compiler gets wrong: each computes something else while it is compiled.

`fault=""` is the model as it should be, whose answers are right.
"""

import torch
from torch import nn
from torch.nn import functional


def _is_compiled():
    return torch.compiler.is_compiling()


class Autoencoder(nn.Module):
    """A variational autoencoder: its answer holds what it draws."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.encode, self.decode = nn.Linear(32, 16), nn.Linear(8, 32)

    def forward(self, x):
        mean, log_variance = self.encode(x).chunk(2, dim=-1)
        sample = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        y = self.decode(sample)
        if _is_compiled():
            if self.fault == "sign":
                return -y
            if self.fault == "scale":
                return 2 * y
            if self.fault == "no noise":
                return self.decode(mean)
        return y


class Layers(nn.Module):
    """Three layers with dropout and a normalisation that keeps statistics."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)
        self.norm, self.dropout = nn.BatchNorm1d(32, momentum=0.1), nn.Dropout(0.3)

    def forward(self, x):
        fault = self.fault if _is_compiled() else ""
        a, b = (self.second, self.first) if fault == "swapped layer" else (self.first, self.second)
        y = functional.relu(a(x))
        y = y if fault == "dropped dropout" else self.dropout(y)
        if fault == "stale buffer":
            y = functional.batch_norm(
                y, None, None, self.norm.weight, self.norm.bias, training=True
            )
        else:
            y = self.norm(y)
        y = b(y)
        if fault == "sign":
            return -y
        if fault == "scale":
            return y * 1.001
        return y + 0.001 if fault == "wrong constant" else y


class Cache(nn.Module):
    """Attention over a cache of keys that each call adds to."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.register_buffer("keys", torch.zeros(16, 8))
        self.register_buffer("length", torch.zeros((), dtype=torch.long))
        self.query = nn.Linear(8, 8)

    def forward(self, x):
        late = 1 if self.fault == "off by one" and _is_compiled() else 0
        row = (self.length + late) % 16
        self.keys.index_copy_(0, row.reshape(1), x.reshape(1, 8))
        self.length.add_(1)
        is_filled = torch.arange(16, device=x.device) < self.length
        scores = (self.query(x) @ self.keys.T).masked_fill(~is_filled, float("-inf"))
        return scores.softmax(-1) @ self.keys


def autoencoder(fault="", batch_size=16):
    return Autoencoder(fault), torch.randn(batch_size, 32)


def layers(fault=""):
    return Layers(fault), torch.randn(64, 32)


def cache(fault=""):
    return Cache(fault), torch.randn(1, 8)


class Doubled(torch.autograd.Function):
    """The identity, whose gradient the compiled step doubles."""

    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2.0 if _is_compiled() else 1.0
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor


class WrongGradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x):
        return Doubled.apply(self.layer(x))


def wrong_gradient():
    return WrongGradient(), torch.randn(8, 32)


class StaleWeights(nn.Module):
    """A compiled step that goes on with the weights that it had before any training."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.layer = nn.Linear(32, 32)
        self.register_buffer("first", self.layer.weight.detach().clone(), persistent=False)

    def forward(self, x):
        y = self.layer(x)
        if self.fault and _is_compiled():
            return y + x @ (self.first - self.layer.weight.detach()).T
        return y


def stale_weights(fault=""):
    return StaleWeights(fault), torch.randn(8, 32)
