"""User code for the capture tests: small models, and one function for each way to fail."""

import os
import signal
import time
from pathlib import Path

import torch
from torch import nn


class Tiny(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def model(batch_size=4, width=8):
    print("tiny: building")
    return Tiny(width), torch.randn(batch_size, width)


def shaped(shape=(4, 8)):
    return Tiny(shape[-1]), torch.randn(*shape)


def dropout():
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), torch.randn(64, 8)


def step():
    weight = torch.randn(8, 8)

    def one_step():
        return (weight @ weight).relu()

    return one_step


class Noisy(nn.Module):
    def forward(self, x):
        return x + float.fromhex("0x1p0") * (time.perf_counter_ns() % 1000)


def random_answer():
    return Noisy(), torch.randn(4, 8)


def returns_nonsense():
    return 42


def raises_while_building():
    raise ValueError("the data set is empty")


class Raising(nn.Module):
    def forward(self, x):
        raise ValueError("negative size")


def raises_while_running():
    return Raising(), torch.randn(4)


class Hungry(nn.Module):
    def forward(self, x):
        return torch.empty(1 << 60, dtype=torch.uint8)


def out_of_memory():
    return Hungry(), torch.randn(4)


class Suicidal(nn.Module):
    def __init__(self):
        super().__init__()
        self.n_calls = 0

    def forward(self, x):
        self.n_calls += 1
        if self.n_calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return x


def killed():
    return Suicidal(), torch.randn(4)


class Slow(nn.Module):
    def forward(self, x):
        time.sleep(0.05)
        return x + 1


def slow():
    return Slow(), torch.randn(4)


class Alone(nn.Module):
    """Fits on the device only while no other process holds the file: a stand-in for memory."""

    def __init__(self, path):
        super().__init__()
        self.path = Path(path)

    def forward(self, x):
        if self.path.exists() and self.path.read_text() != str(os.getpid()):
            holder = int(self.path.read_text())
            if Path(f"/proc/{holder}").exists():
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")
        self.path.write_text(str(os.getpid()))
        return x + 1


def alone(path):
    return Alone(path), torch.randn(4)


class _FailsOnRank1(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        if os.environ.get("RANK") == "1":
            raise ValueError("rank 1 has no data")
        torch.distributed.barrier()  # the others wait here for ever
        return self.linear(x)


def raises_on_rank_1():
    return _FailsOnRank1(), (torch.randn(2, 4),)


class _AnotherConstant(torch.nn.Module):
    """On rank 1 each profiled step has a constant of its own, so that it compiles again."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.n_calls = 0

    def forward(self, x):
        if os.environ.get("RANK") == "1" and torch.autograd.profiler._is_profiler_enabled:
            self.n_calls += 1
        y = self.scaled(x, float(self.n_calls))
        gathered = y.detach().clone()
        torch.distributed.all_reduce(gathered)
        return y + gathered

    def scaled(self, x, scale):
        return self.linear(x) * scale


def recompiles_on_rank_1():
    model = _AnotherConstant()
    # Not as a decorator: Dynamo and Inductor would be imported for each workload of this file.
    model.scaled = torch.compile(model.scaled, backend="aot_eager", dynamic=False)
    return model, (torch.randn(2, 4),)


def with_marks_for_a_profiler():
    """Where no CUDA is: what cudaProfilerStart and -Stop tell a profiler goes into a file."""
    marks = os.environ.get("FAKE_NCU_MARKS")

    def mark(word):
        with Path(marks).open("a") as file:
            file.write(f"{word}\n")

    torch.cuda.profiler.start = lambda: mark("start")
    torch.cuda.profiler.stop = lambda: mark("stop")
    return Tiny(), torch.randn(4, 8)
