"""What a call on the host is, for its colour: launch, wait, operator, region.

Device events are coloured by `analysis.categories`; calls on the host are classified by name.
Order matters: the first pattern that fits decides.
"""

import polars as pl

# Key -> label; the order of the legend.
HOST_CATEGORIES = {
    "host_step": "Profiler step",
    "host_region": "Compiled region",
    "host_op": "Operator",
    "host_launch": "Launch call",
    "host_wait": "Waits",
    "host_runtime": "Other runtime call",
    "host_annotation": "Annotation",
    "host_python": "Python",
}

# `Torch-Compiled Region: f/c` and `## Call CompiledFxGraph <key> ##` (torch >= 2.2), backward:
# `CompiledFunctionBackward`. Kineto writes them as cpu_op or as user_annotation by version.
_REGION = r"^(Torch-Compiled Region|## Call CompiledFxGraph|CompiledFunction)"
_LAUNCH = r"Launch|Memcpy.*Async|Memset.*Async|^urEnqueue"
# Python calls are written as "<built-in method acquire of _thread.lock object at 0x7f…>".
_PYTHON_WAIT = (
    r"^<built-in method (acquire of _thread|sleep|select|poll|epoll_wait|wait|get of _queue)"
    r"|^threading\.py\(\d+\): (_?wait|_wait_for_tstate_lock|join)"
)
# cudaMemcpy without Async returns when the copy is done.
_WAIT = r"Synchronize|^(cuda|hip)Mem(cpy|set)$|EventQuery"


def annotation_category(name: pl.Expr) -> pl.Expr:
    """Category of user_annotation rows and of their shadows on the device."""
    return (
        pl.when(name.str.starts_with("ProfilerStep"))
        .then(pl.lit("host_step"))
        .when(name.str.contains(_REGION))
        .then(pl.lit("host_region"))
        .otherwise(pl.lit("host_annotation"))
    )


def op_category(name: pl.Expr) -> pl.Expr:
    """Category of cpu_op rows."""
    return (
        pl.when(name.str.contains(_REGION)).then(pl.lit("host_region")).otherwise(pl.lit("host_op"))
    )


def python_category(name: pl.Expr) -> pl.Expr:
    """Category of Python calls: a thread that waits for a lock does nothing else."""
    return (
        pl.when(name.str.contains(_PYTHON_WAIT))
        .then(pl.lit("host_wait"))
        .otherwise(pl.lit("host_python"))
    )


def runtime_category(name: pl.Expr) -> pl.Expr:
    """Category of calls into the runtime or driver."""
    return (
        pl.when(name.str.contains(_WAIT))
        .then(pl.lit("host_wait"))
        .when(name.str.contains(_LAUNCH))
        .then(pl.lit("host_launch"))
        .otherwise(pl.lit("host_runtime"))
    )
