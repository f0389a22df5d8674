"""What one lever of an experiment is, and what decides whether it fits a machine and a workload."""

from collections.abc import Callable
from dataclasses import dataclass

from profiler_core.experiments.machine import Machine

GPU_ONLY = "it is for GPUs, and this runs on the CPU"
LEFT_ALONE = "only the script compiles here, and its calls of torch.compile are not given it"
CPU_ONLY = "it is for the CPU, and this runs on a GPU"


@dataclass(frozen=True)
class Lever:
    """One thing that may be set.

    words: its values; or made of the machine. about: what it does, a phrase. worth: what is tried
    first where no finding speaks for anything, 0 to 1. config: the key of torch's configuration
    that it sets: `inductor.KEY` or `dynamo.KEY`. needs: why it does not fit a machine; None: it
    does. is_offered: tried without being asked for. only_where_called_for: without a finding that
    asks for it (`CALLS`) there is nothing that it could change.
    """

    name: str
    words: tuple[str, ...]
    about: str
    worth: float = 0.3
    config: str = ""
    needs: Callable[[Machine], str | None] = lambda _: None
    of_machine: Callable[[Machine], tuple[str, ...]] | None = None
    is_offered: bool = True
    only_where_called_for: bool = False

    def values(self, machine: Machine) -> tuple[str, ...]:
        """The words that it may have there."""
        return self.words if self.of_machine is None else self.of_machine(machine)


def gpu(machine: Machine) -> str | None:
    """Why it does not fit: it is for GPUs."""
    return None if machine.on_gpu else GPU_ONLY


def cpu(machine: Machine) -> str | None:
    """… for the CPU."""
    return CPU_ONLY if machine.on_gpu else None


def training(machine: Machine) -> str | None:
    """… for training."""
    return None if machine.trains else "it is for training, and a step here is inference"


def inference(machine: Machine) -> str | None:
    """… for inference."""
    return "it is for inference, and a step here trains" if machine.trains else None


def convolutions(machine: Machine) -> str | None:
    """… for convolutions."""
    return None if machine.has_convolutions else "nothing here is a convolution"


def attention(machine: Machine) -> str | None:
    """… for scaled_dot_product_attention."""
    if machine.has_attention:
        return None
    return "nothing here calls scaled_dot_product_attention"


def gpu_convolutions(machine: Machine) -> str | None:
    """… for convolutions on GPUs."""
    return gpu(machine) or convolutions(machine)


def job(machine: Machine) -> str | None:
    """… for several ranks."""
    return None if machine.n_ranks > 1 else "it is for several ranks, and this is one process"


def nccl(machine: Machine) -> str | None:
    """… for ranks that talk by NCCL."""
    if machine.n_ranks > 1 and not machine.on_gpu:
        return "it is NCCL's, and ranks talk by gloo here"
    return job(machine)


def parallel(kind: str, name: str) -> Callable[[Machine], str | None]:
    """What says why it does not fit: it is of another way to share the work.

    Args:
        kind: as the built-in workload is called.
        name: of it, in words.
    """

    def needs(machine: Machine) -> str | None:
        if machine.parallel not in (None, kind):
            return f"it is of {name}, and ranks share the work otherwise here"
        return job(machine)

    return needs


PYTHON_REDUCER = "dynamo.optimize_ddp=python_reducer+dynamo.compiled_autograd=true"
COMPILED_AUTOGRAD = "dynamo.compiled_autograd=true"


def compiled_autograd(machine: Machine) -> tuple[str, ...]:
    """Where DDP sums gradients, its reducer in Python, whose collectives stand in the graph."""
    is_ddp = machine.n_ranks > 1 and machine.parallel in (None, "ddp")
    return (PYTHON_REDUCER if is_ddp else COMPILED_AUTOGRAD,)


def exchange(
    config: str,
    words: tuple[str, ...],
    about: str,
    needs: Callable[[Machine], str | None],
) -> Lever:
    """A lever of how ranks exchange, which a finding must call for; named as its key is."""
    name = config.partition(".")[2]
    return Lever(name, words, about, 0.4, config, needs, only_where_called_for=True)


def threads(machine: Machine) -> tuple[str, ...]:
    """All cores, and half of them."""
    half = machine.n_cores // 2
    return tuple(f"threads={n}" for n in dict.fromkeys((machine.n_cores, half)) if n > 0)


def cores(machine: Machine) -> tuple[str, ...]:
    """One CPU of each core."""
    return ("cpus=" + ":".join(map(str, machine.first_threads)),) if machine.first_threads else ()


def inductor(
    name: str,
    value: str,
    about: str,
    worth: float = 0.2,
    needs: Callable[[Machine], str | None] = lambda _: None,
) -> Lever:
    """A lever that is one option of Inductor."""
    return Lever(name, (f"{name}={value}",), about, worth, f"inductor.{name}", needs)


def dynamo(name: str, value: str, about: str) -> Lever:
    """A lever that is one setting of Dynamo, which a finding must call for."""
    key = f"dynamo.{name}"
    return Lever(name, (f"{key}={value}",), about, 0.5, key, only_where_called_for=True)
