"""Where an attention's mask comes from, and how to do without it."""

from profiler_core.analysis.mask_origins import MakingLine, MaskOrigin
from profiler_core.analysis.wording.sentence import clipped, listed

_LONGEST_CODE = 70  # characters

OTHER_MASKS = (
    "hand over none where nothing is masked (neither one that you pass, nor one that code makes "
    "while it is traced), and compute other masks by flex_attention."
)
_AS_THE_BASELINE = "Leave the mask out as the baseline does"
_CANNOT_LOOK = (
    "Code that looks whether a mask masks anything, as that of transformers, cannot while it is "
    "traced."
)


def origin_sentence(origin: MaskOrigin | None) -> str:
    """For instance: It comes from an argument of the graph: attention_mask."""
    if origin is None:
        return ""
    names = listed(origin.names)
    if origin.kind != "made":
        what = {"input": "an argument", "buffer": "a buffer", "parameter": "a parameter"}
        return f"It comes from {what[origin.kind]} of the graph: {names}."
    first, last = origin.lines[0], origin.lines[-1]
    beginning = f", beginning at {_with_code(first)}" if first != last else ""
    of_what = names or "none of its arguments"
    return f"The graph makes it itself, from {of_what}, by {_with_code(last)}{beginning}."


def without_mask(origin: MaskOrigin | None) -> str:
    """How to leave out a mask that the baseline's attention is not handed."""
    if origin is None:
        return (
            f"{_AS_THE_BASELINE}: pass none where nothing is masked, if you pass it; if the code "
            f"makes it while it is traced, skip that there. {_CANNOT_LOOK}"
        )
    names = listed(origin.names)
    match origin.kind:
        case "input":
            none = " and ".join(f"{name}=None" for name in origin.names if "mask" in name.lower())
            return (
                f"{_AS_THE_BASELINE}: pass {none or 'none'} where nothing is masked. {_CANNOT_LOOK}"
            )
        case "buffer":
            return f"{_AS_THE_BASELINE}: do not hand {names} to attention where it masks nothing."
        case "parameter":
            return f"A mask with {names} in it is learned: compute it by flex_attention."
        case "made":
            return _skipped(origin.lines[-1])


def _skipped(line: MakingLine) -> str:
    newer = f", or try a newer version of {line.library}" if line.library else ""
    return (
        f"{_AS_THE_BASELINE}. It is made while the code is traced, so passing none does not take "
        f"it away: skip {line.source} where no mask is needed{newer}."
    )


def _with_code(line: MakingLine) -> str:
    return f"{line.source} ({clipped(line.code, _LONGEST_CODE)})" if line.code else line.source
