"""Compiling by rank: made-up logs whose every number can be told by hand."""

from dataclasses import replace

import pytest

from profiler_core.analysis.finding_rules.facts import Facts
from profiler_core.analysis.finding_rules.rank_compiles import compiles_alone
from profiler_core.analysis.ranks.rank_compiling import (
    RankCompiling,
    compiling_of_ranks,
    without_log,
)
from profiler_core.analysis.ranks.waiting import RankCost, Wait
from profiler_core.analysis.rows.ranks import compiling_rows
from profiler_core.model.compilation import Compilation, CompileLog, GuardFailure, Recompile

S = 10**9
T0 = 1_700_000_000 * S


def compilation(start_s, seconds, rank=None, compile_id="0/0"):
    return Compilation(
        compile_id=compile_id, start_ns=T0 + int(start_s * S), dur_ns=int(seconds * S), rank=rank
    )


def again(rank=None, line=7):
    return Recompile(
        function="forward", file="m.py", line=line, reasons=(GuardFailure(guard="n == 3"),),
        rank=rank,
    )  # fmt: skip


def a_wait(start_s, seconds, awaited, trace_began_s=0.0):
    ts_ns = int((start_s - trace_began_s) * S)
    return Wait(ts_ns, int((seconds + 0.1) * S), int(seconds * S), awaited)


def rows(logs, costs=()):
    return {row.rank: row for row in compiling_of_ranks(logs, costs)}


def test_what_a_rank_compiles_alone_and_what_others_waited_meanwhile():
    logs = {
        0: CompileLog(compilations=(compilation(0, 10),)),
        1: CompileLog(compilations=(compilation(1, 10), compilation(30, 2, compile_id="0/1")),
                      recompiles=(again(),)),
    }  # fmt: skip
    began = T0 + 20 * S
    costs = (
        # Rank 0 waits from 31 to 35 s: for one second of it rank 1 still compiles.
        RankCost(0, began, (a_wait(31, 4, awaited=1, trace_began_s=20),), {}),
        RankCost(1, began, (a_wait(30.5, 1, awaited=0, trace_began_s=20),), {}),
    )
    of = rows(logs, costs)
    assert (of[0].seconds, of[1].seconds) == (10, 12)
    assert (of[0].n_compilations, of[1].n_compilations) == (1, 2)
    assert (len(of[0].recompiles), len(of[1].recompiles)) == (0, 1)
    assert (of[0].alone_s, of[1].alone_s) == (1, 3)
    assert (of[0].made_wait_s, of[1].made_wait_s) == (0, 1)


def test_waiting_for_another_rank_is_not_for_the_one_that_compiles():
    logs = {
        0: CompileLog(compilations=(compilation(0, 10),)),
        1: CompileLog(compilations=(compilation(0, 10), compilation(30, 4, compile_id="0/1"))),
        2: CompileLog(compilations=(compilation(0, 10),)),
    }
    # From 30 to 33 s rank 0 waits for rank 2, which sleeps, then for rank 1.
    waits = tuple(
        a_wait(start_s, seconds, awaited=awaited, trace_began_s=20)
        for start_s, seconds, awaited in ((30, 3, 2), (33, 0.5, 1))
    )
    of = rows(logs, (RankCost(0, T0 + 20 * S, waits, {}),))
    assert (of[1].made_wait_s, of[2].made_wait_s) == (0.5, 0)


def test_trying_kernels_in_the_first_calls_is_waited_for_and_no_compiling():
    tried = replace(compilation(10, 4), direction="runtime")
    logs = {
        0: CompileLog(compilations=(compilation(0, 10), tried)),
        1: CompileLog(compilations=(compilation(2, 10),)),
    }
    costs = (RankCost(1, T0 + 9 * S, (a_wait(12, 1.5, awaited=0, trace_began_s=9),), {}),)
    of = rows(logs, costs)
    assert (of[0].seconds, of[0].alone_s, of[1].alone_s) == (10, 2, 2)
    assert of[0].made_wait_s == 1.5


def test_a_log_of_all_ranks_counts_with_each_ranks_own():
    log = CompileLog(
        compilations=(compilation(0, 1, rank=0), compilation(0, 3, rank=1)),
        recompiles=(again(rank=1),),
    )
    of = rows({0: log, 1: log})
    assert (of[0].seconds, of[1].seconds) == (1, 3)
    assert (len(of[0].recompiles), len(of[1].recompiles)) == (0, 1)
    assert (of[0].alone_s, of[1].alone_s) == (0, 2)


def test_without_times_nothing_is_told_and_without_epochs_no_waiting():
    assert compiling_of_ranks({0: None, 1: CompileLog()}) == ()
    logs = {0: CompileLog(), 1: CompileLog(compilations=(compilation(0, 2),))}
    costs = (RankCost(0, 5, (Wait(0, 9 * S, 9 * S, 1),), {}),)
    of = rows(logs, costs)
    assert (of[0].seconds, of[1].seconds, of[1].made_wait_s) == (None, 2, 0)


def test_a_rank_without_a_log_of_times_may_have_compiled_meanwhile():
    """A text log has the recompile and no time: nobody can say that rank 0 compiled alone."""
    logs = {0: CompileLog(compilations=(compilation(0, 8),)), 1: CompileLog(recompiles=(again(),))}
    of = rows(logs)
    assert (of[0].seconds, of[0].alone_s) == (8, None)
    assert (of[1].seconds, of[1].n_compilations, len(of[1].recompiles)) == (None, None, 1)
    assert finding(*of.values()) is None


def finding(*ranks):
    return compiles_alone(Facts(None, None, None, rank_compiling=ranks))


def a_rank(rank, alone_s=0.0, waited_s=0.0, recompiles=(), seconds=5.0):
    return RankCompiling(rank, seconds, 1 + len(recompiles), recompiles, alone_s, waited_s)


def test_the_finding_names_the_rank_the_wait_and_the_guard_that_only_it_fails():
    shared, own = again(line=3), again(line=9)
    told = finding(a_rank(0, recompiles=(shared,)),
                   a_rank(1, alone_s=2, waited_s=0.42, recompiles=(own, shared)))  # fmt: skip
    assert told.title == "Rank 1 compiled while the others waited 420 ms."
    assert told.one_off_ns == pytest.approx(0.42 * S)
    assert "the others recompiled 1 time (the median)" in told.evidence
    assert "2 recompilations among them" in told.evidence and "forward: n == 3" in told.evidence
    assert [(frame.file, frame.line) for frame in told.locations] == [("m.py", 9)]


def test_outside_the_profiled_steps_it_is_an_upper_bound_of_a_second_or_more():
    told = finding(a_rank(0), a_rank(1, alone_s=1.5))
    assert told.title == "Rank 1 compiled for 1.50 s while no other did."
    assert told.one_off_ns == 1.5 * S and "at most that long" in told.evidence
    assert finding(a_rank(0), a_rank(1, alone_s=0.9)) is None
    assert finding(a_rank(0), a_rank(1, alone_s=1.5, seconds=30)) is None
    assert finding(a_rank(1, alone_s=9)) is None


def test_a_number_of_compilations_that_no_log_tells_is_not_written():
    shared, own = again(line=3), again(line=9)
    timeless = replace(a_rank(1, waited_s=0.42, recompiles=(own, shared)), n_compilations=None)
    told = finding(a_rank(0), timeless)
    assert "It recompiled 2 times; the others recompiled 0 times" in told.evidence


def test_a_rank_without_a_log_of_its_own_is_told_from_one_whose_log_tells_no_time():
    rows = compiling_of_ranks(
        {0: CompileLog(compilations=(compilation(0, 8),)), 1: CompileLog(), 2: None}
    )
    assert [row.has_log for row in rows] == [True, True, False]
    assert [cells[1].text for cells in compiling_rows(rows)] == [
        "8.00 s",
        "no times in its log",
        "no log of its own",
    ]
    assert without_log(rows) == (
        "No log of its own: rank 2. What was compiled there is not known.",
    )
    assert without_log(rows[:2]) == ()
