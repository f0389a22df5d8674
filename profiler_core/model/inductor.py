"""What Inductor wrote down about its graphs: nodes, generated calls, and which came from which.

One `CompiledGraph` is one generated module: the forward, backward or inference graph of one
compilation (`0/0` = frame / frame compile, as in "Torch-Compiled Region: 0/0").
"""

from typing import Literal

import msgspec

CallKind = Literal["triton", "template", "library", "cpp", "engine"]
Direction = Literal["inference", "forward", "backward"]


def is_of_compiled_autograd(compile_id: str) -> bool:
    """Whether an id, of a log or of a region in a trace, is of compiled autograd: `!0/1/0`."""
    return compile_id.startswith("!")


class GraphNode(msgspec.Struct, frozen=True):
    """One node of a dynamo graph or of an ATen graph, as its printed line says."""

    name: str  # "addmm_1"
    target: str  # "torch.ops.aten.addmm.default", "torch.nn.functional.linear", "+", ".to"
    file: str = ""  # full path as logged; never opened
    line: int = 0
    function: str = ""
    code: str = ""  # the source line
    shape: tuple[int, ...] | None = None  # None: not printed, symbolic, or no tensor
    dtype: str | None = None  # "f32", "bf16", "i64", "b8"
    arguments: tuple[str, ...] = ()  # names of nodes and placeholders, in order, as printed
    owner: str = ""  # the value whose method is called or that is indexed: "x" of "x.view("

    @property
    def source(self) -> str:
        """`modeling_bert.py:84`, or "" where the graph does not say."""
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}" if self.file else ""


class GeneratedCall(msgspec.Struct, frozen=True):
    """One call of the generated code that can start kernels, in order of execution."""

    index: int  # 0-based place among the calls of the module
    name: str  # "triton_poi_fused_add_0", "extern_kernels.mm", "torch.ops.aten.….default"
    kind: CallKind
    line: int  # 1-based line of the generated module
    handle: str | None = None  # "extern_kernels.mm:7": torch >= 2.9
    source_nodes: tuple[str, ...] = ()  # as the comment before the call names them
    original_aten: tuple[str, ...] = ()  # "aten.mm"
    post_nodes: tuple[str, ...] = ()  # post-grad nodes; the call's own node is the first
    arguments: tuple[str, ...] = ()  # buffer names handed over, in order
    result: str = ""  # "buf3" where the call makes its result itself
    stacks: tuple[str, ...] = ()  # Python stacks of its nodes: torch >= 2.9


class KernelDefinition(msgspec.Struct, frozen=True):
    """Source of one generated kernel, with the comment that Inductor puts above it."""

    name: str
    source: str
    nodes: tuple[tuple[str, tuple[str, ...]], ...] = ()  # source node -> ATen nodes
    inputs: tuple[tuple[str, str], ...] = ()  # placeholder -> "f32[64, 2048]" of its fragment


class CompiledGraph(msgspec.Struct, frozen=True):
    """One generated module with the graphs that it was made from."""

    compile_id: str  # "0/0"; "" where the log does not say
    direction: Direction
    calls: tuple[GeneratedCall, ...]
    dynamo_nodes: tuple[GraphNode, ...] = ()  # as the user's code was traced, in program order
    post_nodes: tuple[GraphNode, ...] = ()  # after all passes, what Inductor lowers
    aot_nodes: tuple[GraphNode, ...] = ()  # AOTAutograd's own graph; backward: engine order
    post_to_pre: dict[str, tuple[str, ...]] = {}  # post-grad node -> dynamo nodes
    module: str = ""  # path of the nn.Module that its frame is of; "": the model, or not known
    is_unnamed: bool = False  # a part of the model, and nothing says which; several may enter it
    placeholders: tuple[str, ...] = ()  # of dynamo's graph: "L_self_modules_conv1_parameters_…"
    written_parts: dict[str, tuple[str, ...]] = {}  # value -> what dynamo's graph writes into it
    kernels: dict[str, KernelDefinition] = {}
    buffers: dict[str, tuple[tuple[int, ...], str]] = {}  # "buf3" -> shape, dtype ("f32")
    file_name: str = ""  # of the generated module, as logged; never opened
    code: str = ""


class InductorLog(msgspec.Struct, frozen=True):
    """All generated modules of one process, in the order of their compilation."""

    graphs: tuple[CompiledGraph, ...] = ()
    traced: tuple[CompiledGraph, ...] = ()  # without calls: Inductor generated no code for them
    n_records: int = 0
    n_unreadable: int = 0  # records of a wanted kind whose payload could not be read
    # (path of an nn.Module, name of its class), "" for the model, by Dynamo's guards.
    module_classes: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()  # one sentence for each thing that this log cannot say

    @property
    def says_something(self) -> bool:
        """Is there any graph in it?"""
        return bool(self.graphs or self.traced)
