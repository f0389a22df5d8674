"""Whose answers are the right ones: which run makes the reference, which are checked with it."""

from pathlib import Path

from profiler_core.capture.context import Context
from profiler_core.capture.variant_run import VariantRun


def references_of(
    runs: list[VariantRun], context: Context
) -> tuple[dict[VariantRun, Path], dict[VariantRun, Path]]:
    """The files of the right answers: by the run that makes one, and by each that is checked.

    Each version has its own, made by its first run; but a patched copy is held against the answers
    of the file as it is.
    """
    spec, work = context.spec, context.work
    if not spec.numerics:
        return {}, {}
    if (spec.against or "").startswith("patch:"):
        path = work / "reference.pt"
        own = runs[0].variant
        is_eager = not (own.compile or own.torchscript)
        return {runs[0]: path}, dict.fromkeys(runs[1:] if is_eager else runs, path)
    if len(spec.variants) == 1:
        return {}, {}
    made_by = {
        run: work / f"reference-{number}.pt"
        for number, run in enumerate(run for run in runs if run.is_first)
    }
    references = {
        run: path
        for first, path in made_by.items()
        for run in runs
        if run.version == first.version and run is not first
    }
    return made_by, references
