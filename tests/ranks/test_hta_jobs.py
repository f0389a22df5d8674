"""HTA on real jobs of two H200s agrees with our numbers wherever both define the same thing."""

import pytest

pytest.importorskip("hta")

from profiler_core.ranks.find import find_ranks
from profiler_core.ranks.hta.ask import ask_hta
from profiler_core.ranks.job_of import job_of
from tests.larger import FIXTURES, unpacked

JOBS = unpacked(FIXTURES / "jobs.tar.xz")
# Figures that both have, at the least. The straggler is another one, see docs/ranks.md.
SHARED = {
    "Temporal breakdown": 6, "Communication beside compute": 2, "Kernel breakdown": 3,
    "Idle time of streams": 8, "Longest queue": 4, "Bandwidth of copies": 2,
}  # fmt: skip
# A side of each shape of jobs, eager or compiled, even or with a late rank.
SIDES = {
    "ddp": "ddp-even/eager",
    "fsdp": "fsdp-spin/default",
    "fsdp-blocks": "fsdp-blocks-sleep/default+target-blocks",
    "tp": "tp-spin/default",
    "tp-long": "tp-long-even/eager",
    "pp": "pp-sleep/default",
    "pp-1f1b": "pp-1f1b-even/eager",
}


@pytest.mark.parametrize("side", SIDES.values())
def test_what_both_define_is_the_same_on_a_real_job(side):
    ranks = find_ranks(str(JOBS / side))
    analyses = {a.title: a for a in ask_hta(ranks, job_of(ranks), None).analyses}
    for title, least in SHARED.items():
        assert analyses[title].status == "agrees", analyses[title]
        assert len(analyses[title].figures) >= least, analyses[title].figures
    differs = {title for title, analysis in analyses.items() if analysis.status == "differs"}
    assert differs <= {"Straggler"}


def test_each_shape_of_the_fixtures_jobs_is_held_against_hta():
    assert set(SIDES) == {
        folder.name.rpartition("-")[0] for folder in JOBS.iterdir() if folder.is_dir()
    }
