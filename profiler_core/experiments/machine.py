"""What decides whether a lever fits: the device, the workload, and the torch that is installed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from profiler_core.analysis.findings import Finding
from profiler_core.analysis.summary import Summary

_CONVOLUTIONS = ("conv", "triton_template_conv")
_ATTENTION = "attention"


@dataclass(frozen=True)
class Machine:
    """Where and what. config: keys of torch's configuration -> value; a key it lacks is not there.

    n_ranks: processes that make a step together; parallel: how they share the work, as built-in
    workloads are called ("ddp", "fsdp", "tp", "pp"); None: only the user's own code knows.
    is_left_alone: the script alone compiles; its calls of torch.compile get no arguments of ours.
    categories: kinds of kernels of the workload; asked: what its findings ask for, see
    `levers.CALLS`. None: nothing was traced yet.
    """

    on_gpu: bool
    trains: bool
    torch: str
    config: Mapping[str, Any]
    n_cores: int  # physical ones that this process may use
    first_threads: tuple[int, ...] = ()  # a CPU of each of them
    n_ranks: int = 1
    parallel: str | None = None
    is_left_alone: bool = False
    categories: frozenset[str] | None = None
    asked: frozenset[str] | None = None

    @property
    def has_convolutions(self) -> bool:
        """Whether the workload convolves, as far as that is known."""
        return self.categories is None or bool(self.categories.intersection(_CONVOLUTIONS))

    @property
    def has_attention(self) -> bool:
        """Whether it calls scaled_dot_product_attention, as far as that is known."""
        return self.categories is None or _ATTENTION in self.categories

    def seen(
        self, summary: Summary, findings: tuple[Finding, ...], *, trains: bool | None = None
    ) -> "Machine":
        """The same with what a capture of the workload shows.

        Args:
            summary: of its trace.
            findings: in it.
            trains: a step trains, which a loop of the user's own says itself; None: as was asked.
        """
        categories = frozenset(kernel.category for kernel in summary.kernels)
        asked = frozenset(
            what
            for entry in findings
            for f in (entry, *entry.alternatives)
            for what in what_it_asks(f)
        )
        trains = self.trains if trains is None else trains
        return replace(self, trains=trains, categories=categories, asked=asked)


def what_it_asks(finding: Finding) -> tuple[str, ...]:
    """Its settings, else the lever of its change, else its own key: what `levers.CALLS` knows."""
    if finding.settings is not None:
        return finding.settings
    return (finding.change.lever if finding.change is not None else finding.key,)
