"""Inductor's own reasons: a log of TORCH_LOGS=fusion, read by a regular expression in the test."""

import gzip
import re
from pathlib import Path

from profiler_core.analysis.unfused.refusals import reason_in_log, refused
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.run import open_run

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "unfused"
LOG = FIXTURE / "torch_logs.txt.gz"


def test_the_last_word_on_every_pair_of_operations():
    text = gzip.decompress(LOG.read_bytes()).decode()
    last = {}
    for first, second, reason in re.findall(r"cannot fuse (\S+) with (\S+): (.*)", text):
        for a in re.findall(r"op(\d+)", first):
            for b in re.findall(r"op(\d+)", second):
                last[int(a), int(b)] = reason.strip()
    assert len(last) == 9
    decisions = read_compile_log(open_run(LOG)).fusion_decisions
    ours = refused(decisions, "0/0")
    assert {pair: decision.reason for pair, decision in ours.items()} == last
    assert refused(decisions, "1/0") == {}


def test_in_plain_words_with_what_could_change_it():
    """Operation 1 is the row maximum, 5 centres by a sum over columns of what 1 to 3 make."""
    decisions = read_compile_log(open_run(LOG)).fusion_decisions
    refusals = refused(decisions, "0/0")
    reason = reason_in_log(refusals, (1,), (5,))
    assert reason.key == "between"
    assert reason.text.startswith("Something between them needs the first")
    assert reason.text.endswith("Inductor: intermediate nodes between node1 & node2.")
    assert reason.change
    assert reason_in_log(refusals, (0,), (1,)) is None
