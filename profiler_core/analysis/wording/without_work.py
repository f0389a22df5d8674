"""What a trace without kernels and operators is, in one sentence, and how to get one with them."""

from profiler_core.analysis.without_work import NO_CATEGORY, WithoutWork
from profiler_core.analysis.wording.sentence import clipped, listed
from profiler_core.units import format_count

RECORD_IT = (
    "Record some steps of the model with torch.profiler, with the activities CPU and CUDA, and "
    "open the file that export_chrome_trace writes."
)
COPY_IT_AGAIN = "Record it again, or copy it again if the copy ended early"  # a cut trace
_MOST_KINDS = 3  # in one sentence
_LONGEST = 40  # characters of a category
_PLURALS = {"operator that wraps or allocates": "operators that wrap or allocate"}


def what_it_holds(trace: WithoutWork, name: str = "") -> str:
    """What the file is and which events it has.

    Args:
        trace: has no work.
        name: of the run; "" where the sentence is about the only one.
    """
    what = "What is left of the cut trace" if trace.is_cut else "The trace"
    subject = f"{what} of {name}" if name else what
    if not trace.n_events:
        return f"{subject} holds no events."
    parts = [_counted(n, kind) for kind, n in trace.kinds.items()]
    parts += [
        f"{format_count(n)} without a category"
        if category == NO_CATEGORY
        else f"{format_count(n)} of {clipped(category, _LONGEST)}"
        for category, n in trace.categories.items()
    ]
    events = _some(parts)
    if trace.by_profiler or trace.is_cut:
        return f"{subject} holds neither a kernel nor an operator that computes, only {events}."
    return (
        f"{subject} is no profile of PyTorch: it holds {_counted(trace.n_events, 'event')} of "
        f"another program ({events}), and neither a kernel nor an operator."
    )


def how_to_get_work(trace: WithoutWork) -> str:
    """How to record a trace that has kernels or operators."""
    if trace.is_cut:
        return f"{COPY_IT_AGAIN}."
    return trace.missing[0] if trace.missing else RECORD_IT


def not_beside_kernels(label: str) -> str:
    """Why a run is missing where others have kernels of a GPU."""
    return (
        f"The trace of {label} holds operators with their time on the host, and no kernel of a "
        "GPU: beside kernels they are not shown."
    )


def _some(parts: list[str]) -> str:
    n_more = len(parts) - _MOST_KINDS
    return listed([*parts[:_MOST_KINDS], f"{n_more} other kinds"] if n_more > 1 else parts)


def _counted(n: int, kind: str) -> str:
    """3 Python calls, 2 operators that wrap or allocate."""
    return f"{format_count(n)} {kind if n == 1 else _PLURALS.get(kind, f'{kind}s')}"
