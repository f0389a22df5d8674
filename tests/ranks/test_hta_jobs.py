"""HTA on a real job of two H200s agrees with our numbers wherever both define the same thing."""

import pytest

pytest.importorskip("hta")

from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.hta.ask import ask_hta
from profiler_core.ranks.job_of import job_of
from tests.larger import FIXTURES, unpacked

SHARED = {
    "Temporal breakdown": 6, "Communication beside compute": 2, "Kernel breakdown": 3,
    "Idle time of streams": 8, "Longest queue": 4, "Bandwidth of copies": 4,
}  # fmt: skip


def test_what_both_define_is_the_same_on_a_real_job():
    ranks = find_ranks(str(unpacked(FIXTURES / "jobs.tar.xz") / "tp-spin" / "default"))
    analyses = {a.title: a for a in ask_hta(ranks, job_of(ranks), None).analyses}
    for title, least in SHARED.items():
        assert analyses[title].status == "agrees", analyses[title]
        assert len(analyses[title].figures) >= least, analyses[title].figures
