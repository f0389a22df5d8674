"""The device time of a job by kinds is one number: the same on every surface that shows it."""

import pytest

from profiler_core.analysis.step_parts import step_parts
from profiler_core.analysis.waterfall import WORK_CLASSES, class_of
from profiler_core.session.comparison import Comparison
from tests.analysis.ranks.test_critical_path import JOBS, SAMPLE, unprofiled_ns

_JOBS = ("ddp-even", "ddp-spin", "ddp-sleep", "fsdp-even", "fsdp-spin", "tp-even", "tp-spin")
_ROUNDING_NS = 300  # each event is a whole number of ns


@pytest.fixture(scope="module", params=[*(JOBS / name for name in _JOBS), SAMPLE],
                ids=lambda folder: folder.name)  # fmt: skip
def comparison(request):
    return Comparison.open([request.param / "eager", request.param / "default"])


def _sums(pairs):
    sums = {}
    for kind, ns in pairs:
        sums[kind] = sums.get(kind, 0.0) + ns
    return {kind: ns for kind, ns in sums.items() if ns > _ROUNDING_NS}


@pytest.mark.parametrize("which", [0, 1])
def test_kinds_of_kernels_are_one_number(comparison, which):
    run = comparison.runs[which]
    path, summary = run.job.critical, comparison.sides[which].summary
    kinds = _sums((kind, sums.time_ns / summary.n_steps)
                  for kind, sums in summary.by_category.items())  # fmt: skip
    # *Ranks* and `ranks --json`.
    assert kinds == pytest.approx(_sums(path.work_ns.items()), abs=_ROUNDING_NS)
    # The ledger, all of it.
    ledger = comparison.pairs[0].ledger
    sides = [(group.baseline, group.candidate)[which] for group in ledger.groups]
    in_ledger = _sums((kernel.category, kernel.time_ns / summary.n_steps)
                      for side in sides for kernel in side.kernels)  # fmt: skip
    assert in_ledger == pytest.approx(kinds, abs=_ROUNDING_NS)
    # The table of kernels, which has no copies.
    kernels = sum(row.time_ns(which) for row in comparison.kernels)
    copies = kinds.get("memcpy", 0.0) + kinds.get("memset", 0.0)
    assert kernels == pytest.approx(sum(kinds.values()) - copies, abs=2 * _ROUNDING_NS)
    # The waterfall's bars of work.
    bars = {row.key: (row.baseline_ns, row.candidate_ns)[which]
            for row in comparison.pairs[0].waterfall.rows if row.key in WORK_CLASSES}  # fmt: skip
    in_classes = _sums((class_of(kind), ns) for kind, ns in kinds.items())
    assert _sums(bars.items()) == pytest.approx(in_classes, abs=_ROUNDING_NS)
    # The overview's bar; FSDP's copies run beside products, on a stream of their own.
    folder = run.path
    parts = step_parts(summary, unprofiled_ns(folder), "unprofiled")
    assert sum(parts.by_category.values()) + parts.idle_ns == pytest.approx(parts.step_ns)
    assert (0.97 if "fsdp" in folder.parent.name else 0.99) <= parts.scale <= 1.001
    assert parts.by_category["gemm"] / parts.scale == pytest.approx(kinds["gemm"], abs=1)


def test_the_shown_rank_is_the_critical_one_or_the_one_of_median_work(comparison):
    for run in comparison.runs:
        path = run.job.critical
        if path.late is not None and path.late.total_work_ns > 0:
            assert path.shown != path.rank == path.late.rank
        else:
            assert path.shown == path.rank
            assert path.late is None or path.late.total_ns > 0
        assert run.worked_trace.metadata["distributedInfo"]["rank"] == path.shown
