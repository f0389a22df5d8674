"""Pairs of captures as sides of a ledger: small ones in tests/fixtures/ledger, and larger ones."""

from functools import cache
from pathlib import Path

from profiler_core.analysis.ledger.ledger import FusionLedger, LedgerSide, fusion_ledger
from tests.analysis.ledger.judge.pairs import inductor_log
from tests.analysis.traces import trace_of
from tests.larger import LARGER

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "ledger"
CAPTURES = LARGER / "captures"

SMALL = (
    ("customcnn.eager", "customcnn.reduce-overhead"),
    ("bert.eager", "bert.default"),
    ("bert.eager", "bert.reduce-overhead"),
    ("resnet50.eager", "resnet50.default"),
    ("breaky.eager", "breaky.reduce-overhead"),
)
INFERENCE = (
    ("resnet50_b32.eager", "resnet50_b32.default"),
    ("resnet50_b32.eager", "resnet50_b32.reduce-overhead"),
    ("resnet50_b32.eager+amp+cl", "resnet50_b32.default+amp+cl"),
    ("bert.eager", "bert.default"),
    ("bert.eager", "bert.reduce-overhead"),
    ("bert.eager+amp", "bert.default+amp"),
    ("customcnn_b1.eager", "customcnn_b1.reduce-overhead"),
    ("breaky.eager", "breaky.default"),
    ("breaky.eager", "breaky.reduce-overhead"),
    ("smallcnn_cpu.eager", "smallcnn_cpu.default"),
)
TRAINING = (("resnet50_train.eager+amp+cl", "resnet50_train.default+amp+cl"),)
SAME_KIND = (  # compiled against compiled, eager against eager
    ("dynshape.default", "dynshape.default+static"),
    ("bert.default", "bert.reduce-overhead"),
    ("bert.eager", "bert.eager+amp"),
    ("resnet50_b32.default", "resnet50_b32.default+amp+cl"),
)


@cache
def side(folder: Path, logs: bool = True) -> LedgerSide:
    log = folder / "torch_trace.log.gz"
    with_log = logs and log.exists() and ".eager" not in folder.name
    return LedgerSide(
        trace_of(folder / "trace.json.gz"), inductor_log((log,)) if with_log else None
    )


@cache
def ledger(baseline: Path, candidate: Path, logs: bool = True) -> FusionLedger:
    return fusion_ledger(side(baseline, logs), side(candidate, logs))


def small(baseline: str, candidate: str, logs: bool = True) -> FusionLedger:
    return ledger(FIXTURES / baseline, FIXTURES / candidate, logs)
