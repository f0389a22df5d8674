"""What a run is to be called whose script compiles in eager, or that compiled nothing."""

from profiler_core.analysis.compilation.by_script import ScriptCompilation
from profiler_core.analysis.span import IN_TRACE, Span
from profiler_core.analysis.wording.sentence import counted, listed

_NAMES = 3  # blocks that a sentence names


def name_with(name: str, compiled: ScriptCompilation | None) -> str:
    """The run's name, with what its script compiles: "eager, with 12 blocks compiled by …"."""
    return name if compiled is None else f"{name}, {_addition(compiled)}"


def _addition(compiled: ScriptCompilation) -> str:
    if compiled.is_whole:
        return "compiled by the script"
    return f"with {_parts(compiled)} compiled by the script"


def _parts(compiled: ScriptCompilation) -> str:
    if compiled.n_blocks:
        return counted(compiled.n_blocks, "block")
    if compiled.n_regions is not None:
        return counted(max(1, round(compiled.n_regions)), "region")
    return "functions"  # their number would be another with each torch, in the history too


def not_eager(label: str, compiled: ScriptCompilation) -> str:
    """What follows for a comparison with such a baseline, and how that is known."""
    if compiled.n_frames is not None:
        names = [name for name in compiled.blocks[:_NAMES] if name]
        if compiled.n_blocks > len(names) > 0:
            names.append(f"{compiled.n_blocks - len(names)} more")
        of = f" ({listed(names)})" if names else ""
        evidence = f"Dynamo compiled {counted(compiled.n_frames, 'frame')} in its process{of}"
    elif compiled.n_regions is not None:
        evidence = f"its trace holds {_regions(compiled.n_regions, compiled.span)}"
    else:
        evidence = f"its logs hold {counted(compiled.n_compilations or 0, 'compilation')}"
    return (
        f"The baseline, {label}, is not eager: {evidence}. So the ratio is not what compiling "
        "gains; for that, capture it with what the script compiles switched off "
        "(TORCH_COMPILE_DISABLE=1)."
    )


def not_compiled(label: str) -> str:
    """What follows for a comparison with a candidate that compiled nothing."""
    return (
        f"{label} compiled nothing: its logs hold no compilation and its trace no compiled region, "
        "so its step runs as eager code. Say what is to be compiled (--compile-target), or look "
        "for what keeps Dynamo from the step, such as a wrapper of a library that it skips."
    )


def _regions(n: float, span: Span) -> str:
    whole = round(n)
    is_whole = abs(n - whole) < 0.05
    text = counted(whole, "compiled region") if is_whole else f"{n:.1f} compiled regions"
    return text if span == IN_TRACE else f"{text} {span}"
