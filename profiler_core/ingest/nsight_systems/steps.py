"""Which NVTX ranges are the steps: by a rule that is stated, or as the user says.

The rule. A *label* is a range's text with each number replaced by "#". Asked are the threads that
launch device work, the one with most launches first, and there the labels that are no operators,
occur at least twice at one depth, and have work launched from their first start on. Labels with a
step's word in them (step, iteration, batch) go before all others, which must be of the default
domain and not torch's own (MPI's, NCCL's and FSDP's ranges are no steps); then the outermost, then
the one that occurs most, then the one that starts first.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from profiler_core.errors import BadInput
from profiler_core.ingest.nsight_systems.nesting import Ints
from profiler_core.ingest.nsight_systems.ranges import nests

STEP = "ProfilerStep#"  # what the analyses take for a step's mark, whoever made the trace

_NUMBER = re.compile(r"\d+")
_STEP_WORD = re.compile(
    r"(?:^|[^a-z])(?:steps?|iter(?:ation)?s?|(?:mini|micro)?batch)(?:[^a-z]|$)", re.I
)
# torch records "Optimizer.step#Adam.step" and "Optimizer.zero_grad#…" in each step.
_PART_OF_A_STEP = re.compile(r"optim|scheduler", re.I)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOST_SHOWN, _MOST_KEPT = 8, 40


@dataclass(frozen=True)
class Steps:
    """The chosen ranges. rows: in `ranges`, in order of time."""

    label: str
    rows: Ints
    names: tuple[str, ...]  # "ProfilerStep#12"


@dataclass(frozen=True)
class Label:
    """A label at one depth of one thread."""

    text: str
    depth: int
    tid: int
    rows: Ints  # in `ranges`
    by_people: bool  # in the default domain, and not through torch's record_function
    first_ns: int
    n_launches: int  # from its first start on, on its thread


def label_of(text: str) -> str:
    """A text with each number replaced by "#"."""
    return _NUMBER.sub("#", text)


def find_labels(ranges: pl.DataFrame, launches: pl.DataFrame) -> list[Label]:
    """Every label, once for each depth, thread and domain it occurs at.

    Args:
        ranges: of `read_ranges`.
        launches: ts_ns and tid of the calls that started device work.
    """
    return list(_labels(ranges, launches))


def find_steps(
    labels: list[Label],
    ranges: pl.DataFrame,
    launches: pl.DataFrame,
    step_range: str | None,
    name: str,
) -> Steps | None:
    """The steps; None where no range can be taken for one.

    Args:
        labels: of `find_labels`.
        ranges: of `read_ranges`.
        launches: as for `find_labels`.
        step_range: the label that the user named, where * matches anything; None: by the rule.
        name: of the file, for the message.

    Raises:
        BadInput: no range has the label that was asked for.
    """
    if step_range is not None:
        matching = [label for label in labels if _matches_label(label.text, step_range)]
        if not matching:
            raise BadInput(
                f"No NVTX range of {name} is called {step_range!r}.",
                remedy=f"Pass one of its own to --step-range: {_shown(labels)}.",
            )
        chosen = min(matching, key=lambda label: (-label.n_launches, label.depth, -len(label.rows)))
        return _steps_of(chosen, ranges)
    repeated = [label for label in labels if len(label.rows) > 1 and label.n_launches]
    for has_word in (True, False):
        for tid in _by_launches(launches):
            here = [
                label
                for label in repeated
                if label.tid == tid
                and _has_step_word(label.text) is has_word
                and (has_word or label.by_people)
            ]
            if here:
                best = min(here, key=lambda label: (label.depth, -len(label.rows), label.first_ns))
                return _steps_of(best, ranges)
    return None


def _labels(ranges: pl.DataFrame, launches: pl.DataFrame) -> Iterator[Label]:
    people = ranges.with_row_index("place").filter(~pl.col("is_operator"))
    # Pushes and pops nest within a domain; those of two domains need not.
    for domain in people["domain"].unique().sort():
        of_domain = people.filter(pl.col("domain") == domain)
        for tid, (rows, nest) in nests(of_domain).items():
            part = of_domain[rows].with_columns(depth=pl.Series(nest.depth))
            moments = np.sort(launches.filter(pl.col("tid") == tid)["ts_ns"].to_numpy())
            yield from _labels_of_thread(part, moments, tid, is_default=domain == 0)


def _labels_of_thread(
    part: pl.DataFrame, moments: Ints, tid: int, *, is_default: bool
) -> Iterator[Label]:
    part = part.filter(pl.col("name").is_not_null())
    texts = part["name"].unique()
    labels = pl.Series([label_of(text) for text in texts], dtype=pl.String)
    part = part.with_columns(label=pl.col("name").replace_strict(texts, labels))
    groups = part.partition_by("label", "depth", as_dict=True, maintain_order=True)
    for (label, depth), group in groups.items():
        first = int(group["ts_ns"][0])
        yield Label(
            text=str(label),
            depth=int(depth),
            tid=tid,
            rows=group["place"].to_numpy().astype(np.int64),
            by_people=is_default and not group["by_torch"].any(),
            first_ns=first,
            n_launches=len(moments) - int(np.searchsorted(moments, first)),
        )


def _steps_of(label: Label, ranges: pl.DataFrame) -> Steps:
    texts = ranges["name"][label.rows].to_list()
    numbers = [_NUMBER.findall(text) for text in texts]
    step_numbers = [digits[-1] for digits in numbers if digits]
    if len(step_numbers) < len(texts) or len(set(step_numbers)) < len(step_numbers):
        step_numbers = [str(n) for n in range(len(texts))]
    return Steps(label.text, label.rows, tuple(STEP + number for number in step_numbers))


def _matches_label(label: str, step_range: str) -> bool:
    return _matches(label, step_range) or _matches(label, label_of(step_range))


def _matches(label: str, pattern: str) -> bool:
    """Whether the pattern, in which * is anything, is the whole label; in one walk along it."""
    first, *others = pattern.split("*")
    if not others:
        return label == pattern
    *inner, last = others
    end = len(label) - len(last)
    if not (label.startswith(first) and label.endswith(last) and len(first) <= end):
        return False
    at = len(first)
    for part in inner:
        at = label.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _by_launches(launches: pl.DataFrame) -> list[int]:
    counted = launches.group_by("tid").len().sort("len", "tid", descending=[True, False])
    return [int(tid) for tid in counted["tid"].drop_nulls()]


def _has_step_word(text: str) -> bool:
    words = _CAMEL.sub(" ", text).replace("_", " ").replace("#", " ")
    return _STEP_WORD.search(words) is not None and _PART_OF_A_STEP.search(text) is None


def most_repeated(labels: list[Label]) -> dict[str, int]:
    """Label -> how often it occurs, the most frequent first; only those that do so twice."""
    counted: dict[str, int] = {}
    for label in labels:
        counted[label.text] = counted.get(label.text, 0) + len(label.rows)
    most = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return {text: n for text, n in most[:_MOST_KEPT] if n > 1}


def _shown(labels: list[Label]) -> str:
    most = list(most_repeated(labels).items())[:_MOST_SHOWN]
    return ", ".join(f"{text!r} ({n} times)" for text, n in most) or "none of them repeats"
