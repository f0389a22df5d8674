"""What a finding asks to change: its lever, and the numbers under which a step is replayed.

A change names its lever, which whoever tries it maps to settings or to a change of code, and holds
the numbers with which the engine replays a step under it.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Lever = Literal[
    "no_breaks",  # the frames of a step compiled without graph breaks
    "lighter_guards",  # what Dynamo checks before each call of compiled code
    "no_skips",  # frames compiled that Dynamo skipped
    "graph_replay",  # launches of compiled calls replaced by a CUDA graph's replay
    "fused_optimizer",  # one pass of the optimizer over its parameters
    "tf32",  # products in fp32 rounded like TF32
    "half_precision",  # products in 16 bits
    "template_kernels",  # products by the fastest of templates and libraries (max-autotune)
    "even_shapes",  # sizes padded so that rows begin on 16 bytes
    "frozen_weights",  # weights cast once, not in each step
    "channels_last",  # no conversions of layout around convolutions
    "like_baseline",  # groups of the ledger as fast as in the baseline
    "uncompiled",  # the step as in the baseline
    "open_layers",  # layers traced that run as one operator
    "no_fills",  # no zeros for gradients of outputs that nobody uses
    "no_tuning",  # kernels tuned before the steps
    "no_syncs",  # no waiting of the host for the device that data does not force
    "pinned_copies",  # copies between host and device from and to pinned memory
    "joined_copies",  # small copies joined into one
    "fewer_threads",  # no more threads than processors
    "no_late_rank",  # no rank that the others wait for
    "hidden_transfers",  # transfers between ranks behind computation
    "other_buckets",  # gradients summed in buckets of another size, or in the compiled backward
    "gathered_ahead",  # weights gathered before the block that needs them
    "narrow_transfers",  # transfers that hold fewer multiprocessors
    "fewer_transfers",  # … or fewer of them, of larger buckets
    "full_clocks",  # a GPU that is not throttled
]
LEVERS: tuple[Lever, ...] = get_args(Lever)


@dataclass(frozen=True)
class ReplayInputs:
    """Inputs of one compiled graph that a replay copies into its own memory first.

    n: tensors that are neither parameters nor buffers. copy_ns: the device's time for all of their
    bytes, without the launches.
    """

    compile_id: str
    n: int
    copy_ns: float


@dataclass(frozen=True)
class Change:
    """One lever, and what it changes in the replay of a step.

    kernels: names of kernels that get faster; () where the change is not about kernels.
    saves: what part of their time goes (at least, as expected, at most); below 0 where it grows.
    with_launches: the host's work to launch them goes in the same proportion.
    compile_ids: of the compiled calls that it is about; () for all of them.
    inputs: of a replay, what each copies, as far as it is known.
    rank: of a job, the rank that it is about.
    """

    lever: Lever
    kernels: tuple[str, ...] = ()
    saves: tuple[float, float, float] = (0.0, 0.0, 0.0)
    with_launches: bool = False
    compile_ids: tuple[str, ...] = ()
    inputs: tuple[ReplayInputs, ...] = ()
    rank: int | None = None
