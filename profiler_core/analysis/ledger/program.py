"""One side's step as a program: items in order, whether eager operators or nodes of a graph.

An eager operator is an item with one unit of work. A compiled run is, in its place, the nodes of
its graph in program order (forward: dynamo's, backward: the engine's), each with the units of the
calls that own it. So eager and compiled parts, several regions in a step, and the loss outside of
them are one sequence, and any two runs can be aligned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal

from profiler_core.analysis.ledger.extents import Extent, Shape
from profiler_core.analysis.ledger.operators import ANCHORS, KERNEL_FREE

Phase = Literal["forward", "backward", "update"]

# One dynamo node that is several operators in eager mode.
_COMPOSITES = frozenset(
    ("multi_head_attention_forward", "attention", "cross_entropy", "rms_norm", "interpolate",
     "upsample_nearest2d", "einsum", "lstm", "gru", "normalize", "gumbel_softmax", "scan", "cond",
     "glu", "cosine_similarity", "group_norm", "rnn_tanh", "kl_div", "wrap", "checkpoint")
)  # fmt: skip


COPYING = frozenset(("cast", "clone", "cat", "fill", "zeros", "full")) | KERNEL_FREE | ANCHORS

_REDUCTIONS = ("triton_red", "triton_per")


@dataclass(slots=True)
class Item:
    """A step of the program: an operator call, or a node of a compiled graph."""

    op: str  # common name
    inner: frozenset[str]  # what it is made of: operators beneath it, or ATen nodes it became
    units: tuple[int, ...]  # the units that compute it; () for a view
    labels: frozenset[str] = frozenset()  # source lines "file:line"; empty: not known
    shapes: tuple[Shape, ...] = ()
    dtypes: tuple[str, ...] = ()  # of an operator's arguments, as the trace names them
    index_sizes: frozenset[int] = frozenset()  # elements of its integer tensors: rows to take
    node: str = ""  # name in its graph; "" for an eager operator
    unit: int | None = None  # of an eager operator, busy or not
    run: int | None = None
    module: str = ""  # path of a node's nn.Module; "": not known
    code: str = ""  # the source line's text
    output: tuple[tuple[int, ...], str] | None = None  # shape and dtype of a node's result
    by_kernel_name: bool = False  # a kernel without a log: `inner` was read from its name
    fresh: frozenset[str] = frozenset()  # of these, what no generated kernel just before it names
    lays_out_weight: bool = False  # a kernel that copies a convolution's weight to another layout
    library_kernel: str = ""  # its name, where it was launched outside any operator
    layouts: frozenset[str] = (
        frozenset()
    )  # of a product's kernels: "tn" where a factor is transposed
    extent: Extent | None = None  # of a product, where its tensors' shapes are known
    part_of: frozenset[str] = frozenset()  # operators that a node was decomposed from, as told
    chain: frozenset[str] = frozenset()  # pointwise operators behind it that go where it goes
    is_part: bool = False  # of another operator, which the kernels that compute it are named after

    @property
    def is_anchor(self) -> bool:
        """Does a library compute it, whatever the compiler does around it?"""
        return self.op in ANCHORS

    @property
    def size(self) -> int | None:
        """Elements of its largest tensor; None where the trace does not have all arguments."""
        if not self.dtypes or any(dtype.endswith("List") for dtype in self.dtypes):
            return None
        return max(map(prod, self.shapes), default=1)

    @property
    def only_copies(self) -> bool:
        """A generated kernel that only casts or rearranges, by what is new in its name."""
        names_no_other = self.by_kernel_name and self.fresh <= COPYING and not self.is_reduction
        return self.lays_out_weight or names_no_other

    @property
    def is_reduction(self) -> bool:
        """A generated kernel that reduces, by its name."""
        return self.by_kernel_name and self.op.startswith(_REDUCTIONS)

    @property
    def is_composite(self) -> bool:
        """May it be several operators on the other side?"""
        hides_library = self.op not in ANCHORS and bool(self.inner & ANCHORS)
        return self.op in _COMPOSITES or hides_library


@dataclass(slots=True)
class Segment:
    """A stretch of a step that nothing is joined across: forward with loss, backward, update."""

    phase: Phase
    items: list[Item] = field(default_factory=list)


@dataclass(slots=True)
class Program:
    """The segments of one step, and what is tied within the side already."""

    segments: list[Segment]
    ties: list[tuple[int, int]]  # units of one origin, or a call with the origin it works for
    input_copies: frozenset[int]  # units: copies into a CUDA graph's static inputs
    notes: dict[int, list[str]]  # unit -> what it does besides
    seeds: frozenset[int] = frozenset()  # units: the seed and offset of a CUDA graph's replay
    nameless: frozenset[int] = frozenset()  # units of calls for which the log names no node
    serves: dict[int, int] = field(default_factory=dict)  # unit -> unit that it does a part for
    shared: dict[int, str] = field(default_factory=dict)  # unit -> what it arranges for several
    phases: dict[int, Phase] = field(default_factory=dict)  # of every busy unit
    views: frozenset[int] = frozenset()  # busy units that move no data: on a CPU only
    accumulating: frozenset[int] = frozenset()  # units that put gradients where they belong
    modules: dict[int, list[str]] = field(default_factory=dict)  # unit -> nn.Modules of its nodes
    called_in: Mapping[int, str] = field(default_factory=dict)  # unit -> the Python calls around it
    exchange: dict[int, str] = field(default_factory=dict)  # unit -> what ranks exchange by it
    tangents: frozenset[int] = frozenset()  # units that fill gradients of outputs nobody used
