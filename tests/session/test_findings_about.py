"""A dossier shows a finding if and only if the finding's evidence lists that very thing."""

from collections import defaultdict
from pathlib import Path

import pytest

from profiler_core.analysis.item import (
    break_item,
    group_item,
    kernel_item,
    operator_item,
    rank_item,
    skip_item,
)
from profiler_core.analysis.ledger.folding import fold
from profiler_core.session.comparison import Comparison
from profiler_core.session.dossier.finding import findings_about
from profiler_core.session.dossier.make import dossier
from profiler_core.ui.dossier.draw import dossier_html

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/capture.json"))
HEAD = "What stands out here"


def opened(name):
    """All runs of a sample, eager's first, as the page opens it with every candidate chosen."""
    runs = sorted(path.parent for path in (SAMPLES / name).glob("*/run.json"))
    return Comparison.open(sorted(runs, key=lambda run: not run.name.startswith("eager")))


def evidence_of(comparison):
    """(run, key) of each finding by the items that it lists."""
    evidence = defaultdict(list)
    for run, pair in enumerate(comparison.pairs, 1):
        for finding in pair.findings or ():
            for item in finding.items:
                evidence[item].append((run, finding.key))
    return evidence


def things_of(comparison):
    yield from (kernel_item(row.name) for row in comparison.kernels)
    for run, pair in enumerate(comparison.pairs, 1):
        groups = pair.ledger.groups
        yield from (group_item(run, number) for number in range(len(groups)))
        sides = (side for group in groups for side in (group.baseline, group.candidate))
        yield from (operator_item(each.op) for side in sides for each in side.operators)
        report = comparison.compilation_of(run)
        log = report.log if report is not None else None
        if log is not None:
            yield from (break_item(run, number) for number in range(len(log.graph_breaks)))
            yield from (skip_item(run, number) for number in range(len(log.frame_skips)))
        yield from (rank_item(run, rank) for rank in range(2))


def shown(comparison, about):
    """(run, key) of what a dossier shows, in the order of the runs."""
    runs = {label: run for run, label in enumerate(comparison.labels)}
    return sorted((runs[each.label] if each.label else 0, each.finding.key) for each in about)


def expected(comparison, item, listed):
    """The same by the findings' evidence: that of one candidate goes without its label."""
    is_told = item.run is None and len(comparison.pairs) > 1
    return sorted((run if is_told else 0, key) for run, key in listed)


@pytest.mark.parametrize("name", NAMES)
def test_each_thing_of_a_sample_has_the_findings_that_list_it_and_no_others(name):
    comparison = opened(name)
    evidence = evidence_of(comparison)
    things = set(things_of(comparison))
    assert things >= set(evidence)
    for item in things:
        about = findings_about(comparison, item)
        assert shown(comparison, about) == expected(comparison, item, evidence[item]), item.text


@pytest.mark.parametrize("name", ["resnet50", "breaky"])
def test_a_dossier_shows_these(name):
    """The 36 % of bandwidth of resnet50's `group:2.90` were said to be at the memory's limit.

    It is one of four that are alike, and another of them is; of the candidate that is not shown
    first `group:1.28` had no finding at all.
    """
    comparison = opened(name)
    evidence = evidence_of(comparison)
    looked_at = [item for item in evidence if item.kind != "group"][:3]
    for run, pair in enumerate(comparison.pairs, 1):
        for alike in fold(pair.ledger.groups):
            items = [group_item(run, number) for number in alike.numbers]
            if len({item in evidence for item in items}) > 1:
                looked_at += items
    for item in looked_at:
        made = dossier(comparison, item)
        listed = evidence.get(item, [])
        assert shown(comparison, made.findings) == expected(comparison, item, listed), item.text
        page = str(dossier_html(made))
        assert (HEAD in page) == bool(listed)
        assert all(f"{each.label}: " in page for each in made.findings if each.label)


def test_equal_groups_of_which_one_is_evidence_were_looked_at():
    for pair in opened("resnet50").pairs:
        (roof,) = (each for each in pair.findings if each.key == "memory_roof")
        numbers = {item.numbers[1] for item in roof.items}
        folds = [set(alike.numbers) for alike in fold(pair.ledger.groups)]
        assert any(alike & numbers and alike - numbers for alike in folds)
