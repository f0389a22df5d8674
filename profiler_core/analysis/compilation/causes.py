"""Causes of graph breaks, recompiles and CUDA-graph skips: what happened, what to change.

Three ordered tables; the first row whose pattern is found in the record's text is the cause. The
wording of PyTorch moves with every version, so patterns name what stays: the construct. A break
that carries a registry id (torch >= 2.9) also links to its page there.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.model.compilation import (
    CudaGraphEvent,
    FrameSkip,
    GraphBreak,
    GuardFailure,
)

DOCS = "https://docs.pytorch.org/docs/main/user_guide/torch_compiler/"
COMMON_BREAKS = DOCS + "compile/programming_model.common_graph_breaks.html"
RECOMPILATION = DOCS + "compile/programming_model.recompilation.html"
DYNAMIC_SHAPES = DOCS + "torch.compiler_dynamic_shapes.html"
CUDAGRAPH_TREES = DOCS + "torch.compiler_cudagraph_trees.html"
REGISTRY = "https://meta-pytorch.github.io/compile-graph-break-site/gb/{}.html"


@dataclass(frozen=True)
class Cause:
    """One row: a key for JSON, a label, and three things a reader wants to know.

    setting: of torch._dynamo.config, with which there is no such break; "": there is none.
    """

    key: str
    label: str
    what: str  # what happened
    change: str  # what to change
    url: str
    setting: str = ""


@dataclass(frozen=True)
class Row:
    """A cause and how to tell it."""

    cause: Cause
    pattern: re.Pattern[str]


def _row(
    key: str, label: str, pattern: str, what: str, change: str, url: str, setting: str = ""
) -> Row:
    return Row(Cause(key, label, what, change, url, setting), re.compile(pattern))


BREAK_ROWS = (
    _row("explicit", "explicit break",
         r"torch\._dynamo\.graph_break\(\)|skip function graph_break ",
         "The code asks for a break with torch._dynamo.graph_break().",
         "Remove the call.", COMMON_BREAKS),
    _row("data_dependent_branch", "data-dependent branch",
         r"[Dd]ata-dependent (?:branching|jump)|generic_jump",
         "Which way the code goes depends on a tensor's value, which is only known on the device.",
         "Use torch.cond or torch.where, or decide before the compiled region.", COMMON_BREAKS),
    _row("tensor_item", "value of a tensor in Python",
         r"Tensor\.item|\.tolist|tolist must|capture_scalar_outputs"
         r"|call_method TensorVariable\(\) item",
         "The code takes a tensor's value into Python, so the host must wait for the device.",
         "Keep the value on the device, or set torch._dynamo.config.capture_scalar_outputs = True, "
         "which helps unless the value decides an if or a while: torch.where or torch.cond does "
         "there.", COMMON_BREAKS, "capture_scalar_outputs"),
    _row("dynamic_output_shape", "output shape depends on data",
         r"[Dd]ynamic shape operator|capture_dynamic_output_shape_ops|aten\.nonzero|\bunique\b",
         "The shape of an operator's output depends on its input's values (nonzero, "
         "unique, masks).",
         "Use an operator with a fixed output shape (torch.where with three arguments), or set "
         "torch._dynamo.config.capture_dynamic_output_shape_ops = True.", DYNAMIC_SHAPES,
         "capture_dynamic_output_shape_ops"),
    _row("print", "print",
         r"builtin (?:operator )?`?print|builtin: print|BuiltinVariable\(print\)",
         "The code prints inside the compiled region.",
         "Remove the print, or add it to torch._dynamo.config.reorderable_logging_functions.",
         COMMON_BREAKS),
    _row("warnings", "warnings.warn",
         r"\bwarnings\.warn|_warnings|UserDefinedObjectVariable\(warn\)|`warn`",
         "The code warns inside the compiled region.",
         "Warn outside of it, or add the function to "
         "torch._dynamo.config.reorderable_logging_functions.", COMMON_BREAKS),
    _row("logging", "logging",
         r"\b[Ll]ogger\b|logging\.|getLogger|`logging",
         "The code logs inside the compiled region.",
         "Log outside of it, or add the method to torch._dynamo.config.ignore_logger_methods.",
         COMMON_BREAKS),
    _row("time", "reading the clock",
         r"\btime\.time\b|time function|perf_counter|UserDefinedObjectVariable\(time\)",
         "The code reads the clock inside the compiled region.",
         "Measure outside of it: inside, a time says nothing about the device.", COMMON_BREAKS),
    _row("disabled", "disabled function",
         r"(?:_dynamo|compiler)\.disable|disable\(\)`?d? ?(?:wrapped )?function",
         "The code calls a function that is excluded from compilation with torch.compiler.disable.",
         "Remove the decorator, or call the function outside of the compiled region.",
         COMMON_BREAKS),
    _row("numpy", "NumPy",
         r"\b[Nn]um[Pp]y\b|\bndarray\b",
         "The code calls a NumPy function that Dynamo cannot trace.",
         "Use the torch function of the same name.", COMMON_BREAKS),
    _row("files", "reading or writing files",
         r"builtin (?:operator )?`?open|BuiltinVariable\(open\)|builtin: open|TextIOWrapper"
         r"|BufferedReader",
         "The code touches a file inside the compiled region.",
         "Read and write outside of it.", COMMON_BREAKS),
    _row("backward", "backward or autograd inside",
         r"\.backward\(\)|autograd\.grad|backward hooks|save_for_backward|autograd\.Function",
         "The code calls backward, or uses an autograd feature that Dynamo cannot trace.",
         "Call backward outside of the compiled function, or try compiled autograd "
         "(torch._dynamo.config.compiled_autograd = True).", COMMON_BREAKS),
    _row("context_manager", "context manager",
         r"[Cc]ontext ?[Mm]anager|GenericContextWrapping|BEFORE_WITH|contextlib|with_exit",
         "The break lies in a `with` block that Dynamo cannot leave and enter again.",
         "Move the `with` block out of the compiled function, or remove the break inside it.",
         COMMON_BREAKS),
    _row("generator", "generator",
         r"\b[Gg]enerator\b",
         "The code consumes a generator that Dynamo cannot trace.",
         "Build a list first.", COMMON_BREAKS),
    _row("builtin", "Python builtin",
         r"trace builtin|builtin: |BuiltinVariable|[Bb]uiltin `?operator",
         "The code calls a Python builtin with arguments that Dynamo cannot trace.",
         "Replace the call by torch operations or plain Python on constants.", COMMON_BREAKS),
    _row("c_extension", "function that Dynamo skips",
         r"marked as skipped|skip function |unsupported builtin|Python builtin|skipfiles"
         r"|call_method UserDefinedObjectVariable",
         "The code calls a function that Dynamo does not trace: C code, or a module on its "
         "skip list.",
         "Move the call out of the compiled region, or register it with torch.library.custom_op "
         "or torch.compiler.allow_in_graph.", COMMON_BREAKS),
    _row("method", "method call that Dynamo cannot trace",
         r"[Uu]nsupported (?:method|function) call|call_method|call_function",
         "The code calls a method of an object that Dynamo cannot trace.",
         "Use a plain Python or torch equivalent, or move the call out of the compiled region.",
         COMMON_BREAKS),
    _row("attribute", "attribute that Dynamo cannot trace",
         r"[Gg]et[Aa]ttr|[Ss]et[Aa]ttr|hasattr|__setattr__|comparison with constant `self`",
         "The code reads, writes or compares an attribute in a way that Dynamo cannot trace.",
         "Read it into a local variable before the compiled region.", COMMON_BREAKS),
)  # fmt: skip
# Told by the file: PyTorch's own wrapper breaks the graph, with whatever wording.
DISTRIBUTED_FILE = "torch/nn/parallel/distributed.py"
DISTRIBUTED = Cause(
    "distributed", "distributed wrapper",
    "The break is PyTorch's own: DistributedDataParallel's hooks run outside of graphs.",
    "Compile the module before wrapping it in DistributedDataParallel.", COMMON_BREAKS,
)  # fmt: skip
# Likewise: torch's optimizers disable and break their own `step` (lazy state, hooks, profiling).
OPTIMIZER_FOLDER = "torch/optim/"
OPTIMIZER = Cause(
    "optimizer", "step of an optimizer",
    "The break is PyTorch's own: it lies in the optimizer's step, which was compiled with the rest "
    "of the training step.",
    "Leave optimizer and backward out of what is compiled: compile the model, and return "
    "Training(model, batches, loss, optimizer) to a capture (docs/capture.md). Where its target is "
    "the optimizer's step, leave the break: what updates the parameters is one graph all the same.",
    COMMON_BREAKS,
)  # fmt: skip
PYTORCHS_OWN = (DISTRIBUTED, OPTIMIZER)
# PyTorch's hint about the value names capture_scalar_outputs, with which the branch still breaks.
DECIDING_VALUE = Cause(
    "tensor_item", "value of a tensor in Python",
    "Which way the code goes depends on a tensor's value, which it takes into Python.",
    "Use torch.where or torch.cond, or decide before the compiled region. With "
    "torch._dynamo.config.capture_scalar_outputs = True alone the branch breaks the graph all the "
    "same.", COMMON_BREAKS,
)  # fmt: skip
# An assert does not: with the setting Dynamo makes it one of the graph's own.
_DECIDES = re.compile(r"(?:(?:if|elif|while)\b|.* if )[^:]*\.(?:item|tolist)\((?:.* else |[^:]*:)")
EXAMPLES = re.compile(r"\(e\.g\.[^)]*\)")
OTHER_BREAK = Cause(
    "other", "something that Dynamo cannot trace",
    "Dynamo met a construct that it cannot trace.",
    "Read the reason and the hints below; torch.compile(fullgraph=True) turns it into an error "
    "with the whole stack.",
    DOCS + "compile/programming_model.graph_breaks_index.html",
)  # fmt: skip
LOOP_CHANGE = (
    "Dynamo cannot resume in the middle of a loop or `with` block, so the whole function "
    "runs eager: "
    "move the break out of the loop, or compile the loop's body as a function of its own."
)

GUARD_ROWS = (
    _row("size", "tensor size",
         r"size mismatch|\.size\(\)\[|<= \w+\.size|Eq\(|Ne\(|Mod\(|\bs\d+\b.*[<>=]",
         "A tensor came with another shape.",
         "Mark the dimension with torch._dynamo.mark_dynamic(x, dim) (or mark_unbacked), use "
         "torch.compile(dynamic=True), or pad to few sizes.", DYNAMIC_SHAPES),
    _row("rank", "number of dimensions",
         r"rank mismatch|\.ndim|\.dim\(\)",
         "A tensor came with another number of dimensions.",
         "Bring inputs to one rank before the call: dynamic shapes do not cover "
         "it.", DYNAMIC_SHAPES),
    _row("stride", "memory layout",
         r"stride mismatch|\.stride\(\)|storage_offset|is_contiguous",
         "A tensor came with other strides (transposed, sliced, channels_last).",
         "Call .contiguous() (or .to(memory_format=…)) before the compiled "
         "function.", RECOMPILATION),
    _row("dtype", "dtype",
         r"dtype mismatch|\.dtype\b",
         "A tensor came with another dtype.",
         "Convert inputs to one dtype before the compiled function.", RECOMPILATION),
    _row("device", "device",
         r"device mismatch|\.device\b|device index",
         "A tensor came from another device.",
         "Move inputs to one device before the compiled function.", RECOMPILATION),
    _row("requires_grad", "requires_grad or grad mode",
         r"requires_grad mismatch|requires_grad|grad_mode|___check_global_state|inference_mode"
         r"|dispatch key set mismatch",
         "Gradients are recorded in one call and not in another.",
         "Run inference under no_grad, or compile one function for each. Equal blocks, of which "
         "only the first gets data, need just this one.", RECOMPILATION),
    _row("global_state", "global state",
         r"GLOBAL_STATE changed|deterministic|autocast|default_dtype|num_threads",
         "A global setting of torch changed (autocast, threads, deterministic mode).",
         "Set it once, before the first call.", RECOMPILATION),
    _row("backend", "another backend",
         r"BACKEND_MATCH|___skip_backend_check|backend callables",
         "The same function was compiled with another backend or other options.",
         "Compile once and keep the compiled function.", RECOMPILATION),
    _row("module_attribute", "attribute of a module",
         r"\bself\.(?!size|stride|dtype|device)|_modules\[|\.training\b"
         r"|integer attributes of the nn\.Module|^[A-Za-z_]\w*(?:\.(?!size|shape|keys)\w+)+ [=!]= ",
         "An attribute of a module or object changed (a counter, train or eval mode).",
         "Keep counters out of the module or make them tensors (a buffer); switch train and eval "
         "outside of the loop; torch._dynamo.config.allow_unspec_int_on_nn_module = True makes "
         "integer attributes of modules dynamic.", RECOMPILATION),
    _row("global", "global variable",
         r"\bG\['|globals\(\)",
         "A global variable changed between calls.",
         "Pass the value as an argument; as a tensor, if it changes often.", RECOMPILATION),
    _row("identity", "object identity or type",
         r"___check_obj_id|___check_type_id|\bis not\b|\bis\b \w|id\(|type\(.*\) =="
         r"|__code__|TYPE_MATCH|ID_MATCH",
         "Another object, or an object of another type, was passed (a new function or instance).",
         "Create functions and objects once and pass the same ones.", RECOMPILATION),
    _row("container", "length or keys of a list or dict",
         r"\blen\(|___dict_|dict\.keys|\.keys\(\)|___tuple|DICT_|LENGTH|set_contains|contains\(",
         "A list, tuple or dict came with another length or other keys.",
         "Keep its structure fixed, or stack its tensors into one.", RECOMPILATION),
    _row("number", "Python number or string",
         r"==|!=",
         "A Python number or string argument is compiled in as a constant, and came with "
         "another value.",
         "Pass numbers that change as tensors (torch.tensor(value)), or mark the argument dynamic; "
         "strings and flags: one compiled function each.", RECOMPILATION),
    _row("aliasing", "aliasing",
         r"alias|overlap|NO_TENSOR_ALIASING|is_not_none",
         "Two arguments shared memory in one call and not in another.",
         "Pass tensors that do not share memory, or always the same way.", RECOMPILATION),
)  # fmt: skip
OTHER_GUARD = Cause(
    "other", "another guard",
    "An assumption that the compiled code rests on did not hold.",
    "Read the guard: what it names changed between two calls.", RECOMPILATION,
)  # fmt: skip

CUDAGRAPH_ROWS = (
    _row("mutated_inputs", "input written in place", r"mutat(?:ed|ion)",
         "The graph writes into one of its inputs; a replay would write into the recorded address.",
         "Return the new value instead of writing in place, or make the input a buffer or "
         "parameter "
         "of the module.", CUDAGRAPH_TREES),
    _row("cpu_device", "operation on the CPU", r"cpu (?:device|ops)|non gpu|non-cuda|CPU tensors",
         "A part of the graph runs on the CPU.",
         "Move that tensor to the GPU (often a scalar made by torch.tensor(…)), or let the "
         "graph be "
         "partitioned (torch._inductor.config.graph_partition = True, torch 2.9 on).",
         CUDAGRAPH_TREES),
    _row("multiple_devices", "several devices", r"multiple devices",
         "The graph spans more than one GPU.", "Compile the part on each device on its own.",
         CUDAGRAPH_TREES),
    _row("incompatible_op", "operator that cannot be captured",
         r"incompatible op|unsafe|cudagraph_unsafe",
         "The graph holds an operator that cannot be captured.",
         "Replace the operator, or let the graph be partitioned around it.", CUDAGRAPH_TREES),
    _row("dynamic_shapes", "dynamic shapes",
         r"symbolic shapes|dynamic shape|distinct (?:input )?sizes|skip_dynamic_graphs|symint",
         "Each distinct input size needs a graph of its own, which costs memory and "
         "recording time.",
         "Pad to few sizes. Where new sizes keep coming, recording takes more than replays save: "
         "torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True gives up the graphs "
         "of what has dynamic shapes.",
         CUDAGRAPH_TREES),
    _row("re_record_limit", "recorded too often", r"re-recording limit|exceeding max|reaching ",
         "The graph was recorded again and again, because inputs came at other addresses.",
         "Reuse the same input tensors (copy into them), or mark them static.", CUDAGRAPH_TREES),
    _row("complex_overlap", "overlapping memory", r"complex memory overlap|overlap",
         "An input overlaps itself (expand, as_strided).", "Clone it before the call.",
         CUDAGRAPH_TREES),
    _row("cpp_wrapper", "C++ wrapper", r"cpp wrapper",
         "The C++ wrapper does not work with CUDA graphs.",
         "Turn torch._inductor.config.cpp_wrapper off.", CUDAGRAPH_TREES),
    _row("pending_backward", "backward still pending", r"pending.*backward|uninvoked backward",
         "A forward ran again before the backward of the one before.",
         "Call backward before the next forward, or torch.compiler.cudagraph_mark_step_begin() at "
         "the start of each step.", CUDAGRAPH_TREES),
)  # fmt: skip
OTHER_CUDAGRAPH = Cause(
    "other", "not captured", "Inductor did not capture the graph.",
    "Read the reason; TORCH_LOGS=cudagraphs gives more.", CUDAGRAPH_TREES,
)  # fmt: skip


def break_cause(event: GraphBreak | FrameSkip) -> Cause:
    """Why the graph broke. The title decides, then the details, then the user's own line."""
    context = event.context if isinstance(event, GraphBreak) else ""
    # The call of the wrapper lies at the user's own line, and names the wrapper's module.
    if DISTRIBUTED_FILE in (event.file or "") or "torch.nn.parallel.distributed" in context:
        return DISTRIBUTED
    files = (event.file or "", *(f.file for f in event.stack))
    if "module: torch.optim." in context or any(OPTIMIZER_FOLDER in file for file in files):
        return OPTIMIZER
    code = event.stack[-1].code if event.stack else ""
    # An unspecific title ("Failed to trace builtin operator") is told apart by its explanation;
    # hints name other constructs as well and tell nothing.
    details = EXAMPLES.sub("", f"{event.reason} {context} {event.explanation}")
    cause = _first(BREAK_ROWS, (details, code)) or OTHER_BREAK
    decides = cause.key == DECIDING_VALUE.key and _DECIDES.match(code.strip())
    return DECIDING_VALUE if decides else cause


def guard_cause(failure: GuardFailure) -> Cause:
    """Which kind of guard failed."""
    return _first(GUARD_ROWS, (failure.guard, failure.hint)) or OTHER_GUARD


def recompile_cause(reasons: Sequence[GuardFailure]) -> Cause:
    """The first reason belongs to the newest cache entry: it is the telling one."""
    return guard_cause(reasons[0]) if reasons else OTHER_GUARD


def cudagraph_cause(event: CudaGraphEvent) -> Cause:
    """Why no graph was captured, or why it was captured again."""
    return _first(CUDAGRAPH_ROWS, (event.reason,)) or OTHER_CUDAGRAPH


def registry_url(gb_id: str | None) -> str | None:
    """The page of a break in PyTorch's registry: `GB0059` -> …/gb/gb0059.html."""
    return REGISTRY.format(gb_id.lower()) if gb_id else None


def _first(rows: Sequence[Row], texts: Sequence[str]) -> Cause | None:
    for text in texts:
        for row in rows:
            if text and row.pattern.search(text):
                return row.cause
    return None
