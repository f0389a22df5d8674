"""What the names of a trace's compiled regions say, where no log tells more."""

from profiler_core.analysis.compilation.traced_frames import TracedFrame, TracedFrames
from profiler_core.analysis.span import Span
from profiler_core.analysis.wording.sentence import capitalised, counted, listed
from profiler_core.units import format_per_step

_MOST = 8  # compilations that a sentence names
_LINES = {0: "which lines it is of", 1: "which line it is of"}


def traced_title(traced: TracedFrames, n_regions: int) -> str:
    """What heads them: "2 compiled regions", where a frame has several "5 compilations of 1 frame".

    "Compiled code outside of a region" where there is nothing else.

    Args:
        traced: what their names say.
        n_regions: how many there are, with or without a name.
    """
    if not n_regions:
        return "Compiled code outside of a region"
    n_frames = len(traced.frames)
    if traced.n_compilations in (0, n_frames) or traced.n_compilations != n_regions:
        return counted(n_regions, "compiled region")
    return f"{counted(n_regions, 'compilation')} of {counted(n_frames, 'frame')}"


def traced_sentences(traced: TracedFrames, n_regions: int) -> tuple[str, ...]:
    """Which frames were compiled anew, and what only a log says.

    Args:
        traced: what their names say.
        n_regions: how many there are, with or without a name.
    """
    anew = [_anew(frame, traced.span) for frame in traced.frames if frame.was_compiled_anew]
    untold = [_LINES.get(n_regions, "which lines they are of")]
    if anew:
        untold.append("why a frame was compiled anew")
    if traced.meet:
        untold.append("what breaks the graph between frames")
    return (*anew, f"{capitalised(listed(untold))}, only a log says.")


def _anew(frame: TracedFrame, span: Span) -> str:
    """Which of its compilations are entered, how often each, and how many are not."""
    n, n_more = len(frame.entries), max(0, len(frame.entries) - _MOST)
    names = [compile_id for compile_id, _ in frame.entries[:_MOST]]
    further = [f"{n_more} more"] if n_more else []
    rest = ""
    if frame.n_not_entered:
        others = counted(frame.n_not_entered, "earlier compilation")
        rest = f"; by these numbers {others} {_be(frame.n_not_entered)} not"
    return (
        f"Frame {frame.frame} was compiled anew: {listed([*names, *further])} {_be(n)} entered"
        f"{_how_often(frame, span)}{rest}."
    )


def _how_often(frame: TracedFrame, span: Span) -> str:
    """How often each; "" of more that differ than a sentence takes: the table below has them."""
    numbers = [format_per_step(n) for _, n in frame.entries]
    if len(set(numbers)) == 1:
        entries = "entry" if numbers[0] == "1" else "entries"
        return f", with {numbers[0]} {entries} {span}{' each' if len(numbers) > 1 else ''}"
    return f", with {listed(numbers)} entries {span}" if len(numbers) <= _MOST else ""


def _be(n: int) -> str:
    return "is" if n == 1 else "are"
