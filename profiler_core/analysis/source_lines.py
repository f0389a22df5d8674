"""The source lines of printed stacks, as torch writes them into traces and generated code."""

from profiler_core.analysis.ledger.dataflow import innermost_line
from profiler_core.analysis.operator_arguments import json_list


def source_lines(stacks: str | None) -> tuple[str, ...]:
    """`model.py:84` of the innermost frame of each stack, each line once.

    Args:
        stacks: JSON text, a list of printed stacks or one; None: there are none.
    """
    entries = json_list(stacks) or ([stacks] if stacks else [])
    lines = (innermost_line(entry) for entry in entries if isinstance(entry, str))
    return tuple(dict.fromkeys(line for line in lines if line is not None))
