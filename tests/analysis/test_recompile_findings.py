"""The finding of recompilations, against the structured log's own lines."""

import gzip
import re
from collections import Counter

import pytest

from profiler_core.session.run import Run
from tests.larger import LARGER

BREAKY = LARGER / "captures" / "breaky.default"


@pytest.fixture(scope="module")
def finding():
    (found,) = [each for each in Run.open(BREAKY).alone.findings if each.key == "recompiles"]
    return found


def reasons():
    """Frame -> the newest guard of each record; its lines follow: "2/6: s.step == 6   # …"."""
    text = gzip.decompress((BREAKY / "torch_trace.log.gz").read_bytes()).decode()
    guards = {}
    for match in re.finditer(r'"recompile_reasons".*?"frame_id": (\d+).*\n((?:\t.*\n)+)', text):
        guards.setdefault(int(match[1]), []).append(
            re.search(r"\d+/\d+: (.*? == [\d.]+)", match[2])[1]
        )
    return guards


def test_the_dearest_function_is_named_and_not_the_first(finding):
    """`___stack0` was compiled again once, in 96 ms of 1.17 s."""
    n_by_frame = Counter({frame: len(of_frame) for frame, of_frame in reasons().items()})
    assert n_by_frame[1] == 1
    n_others = n_by_frame[2] - 1  # the last one met the limit, and compiled nothing
    assert n_others == 7
    assert finding.title == "8 recompilations."
    assert finding.evidence.startswith(
        "forward (bench.py:28): s.step == 0 and 6 more (7 of 8, 1.07 s)."
    )
    assert "___stack0" not in finding.evidence
    assert [place.line for place in finding.locations] == [28, 26]
    assert finding.advice.startswith("Keep counters out of the module")


def test_the_limit_is_told_of_the_function_that_met_it(finding):
    assert reasons()[2][-1] == "s.step == 7"
    assert finding.evidence.endswith(
        "The recompile limit was reached by forward, from line 28 on, last at s.step == 7: it runs "
        "eager for new inputs."
    )
