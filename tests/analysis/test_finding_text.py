"""What is at stake in words."""

from dataclasses import replace

import pytest

from profiler_core.analysis.findings import Finding, by_stake, ranked
from profiler_core.analysis.what_if.change import Change
from profiler_core.analysis.what_if.prediction import Prediction
from profiler_core.analysis.wording.findings import (
    advice_text,
    amount_text,
    amounts_text,
    basis_text,
    evidence_text,
    interval_text,
    stake_text,
    together_text,
)

SIMULATED = Prediction(800_000.0, 600_000.0, 1_100_000.0, "simulated", "unprofiled")
SIBLING = replace(SIMULATED, basis="measured_by_sibling", reason="reduce-overhead")
BOUND = Prediction.at_most(800_000.0, "unprofiled", "nobody tried it")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prediction": SIMULATED}, ("800 µs", "per step")),
        ({"prediction": BOUND}, ("≤ 800 µs", "per step")),
        ({"prediction": replace(BOUND, high_ns=801_200.0)}, ("≤ 802 µs", "per step")),
        ({"one_off_ns": 2e9}, ("2.00 s", "once")),
        ({"one_off_ns": 1.999e9, "is_one_off_at_least": True}, ("≥ 1.99 s", "once")),
        ({}, ("–", "")),
        ({"weight": "note"}, ("–", "to know")),
    ],
)
def test_stake(fields, said):
    assert stake_text(Finding("key", "", "", "", "kernels", **fields)) == said


def test_the_number_says_what_it_rests_on():
    finding = Finding("key", "T.", "Seen.", "", "kernels", prediction=SIMULATED)
    assert evidence_text(finding) == (
        "Seen. A replay with this change saves 800 µs (600 µs to 1.10 ms)."
    )
    assert evidence_text(replace(finding, prediction=SIBLING)).endswith(
        "Measured: reduce-overhead beside this run saves 800 µs (600 µs to 1.10 ms)."
    )
    lost = replace(SIMULATED, basis="measured")
    assert evidence_text(replace(finding, prediction=lost)) == "Seen. From 600 µs to 1.10 ms."
    nothing = replace(SIMULATED, expected_ns=0.0, low_ns=0.0, high_ns=0.0)
    said = evidence_text(replace(finding, prediction=nothing))
    assert said == (
        "Seen. A replay with this change saves nothing: something else is the limit here."
    )
    measured = replace(nothing, basis="measured")
    assert evidence_text(replace(finding, prediction=measured)) == "Seen. It costs nothing here."
    bound = replace(finding, prediction=BOUND)
    assert evidence_text(bound) == "Seen. At most 800 µs: nobody tried it."
    assert evidence_text(replace(finding, prediction=None)) == "Seen."


@pytest.mark.parametrize(
    ("pace", "said"),
    [
        (1.0, ""),
        (0.9998, ""),
        (0.983, " The time per step is brought to the unprofiled step by × 0.983: in the trace it "
                "is longer."),
        (1.25, " The time per step is brought to the unprofiled step by × 1.25: in the trace it "
               "is shorter."),
    ],
)  # fmt: skip
def test_a_time_that_its_kernels_do_not_add_up_to_says_its_clock(pace, said):
    assert evidence_text(Finding("key", "T.", "Seen.", "", "kernels", pace=pace)) == f"Seen.{said}"


def test_a_replay_on_the_profilers_clock_says_so():
    """Of a bare trace: "saves 3.13 ms (1.11 to 4.95 ms)", 1.47 at most in truth."""
    profiled = replace(SIMULATED, clock="profiled")
    start = "On the profiler's clock, which slows the host, a replay with"
    assert basis_text(profiled) == f"{start} this change saves 800 µs (600 µs to 1.10 ms)."
    nothing = replace(profiled, expected_ns=0.0, low_ns=0.0, high_ns=0.0)
    assert basis_text(nothing).startswith(f"{start} this change saves nothing:")
    assert basis_text(profiled, Change("like_baseline")).startswith(f"{start} these parts as fast")


def test_an_interval_names_its_unit_once_where_it_is_one():
    assert interval_text(replace(SIMULATED, high_ns=900_000.0)) == "600 to 900 µs"
    assert interval_text(BOUND) == ""


def test_an_interval_says_which_of_its_ends_costs_time():
    """Seen of a finding: "saves −138 to 27.4 µs"."""
    spanning = replace(SIMULATED, low_ns=-138_000.0, high_ns=27_400.0)
    assert interval_text(spanning) == "138 µs slower to 27.4 µs faster"
    costing = replace(spanning, expected_ns=-50_000.0, high_ns=-20_000.0)
    assert interval_text(costing) == "20.0 to 138 µs slower"
    assert "the step 50.0 µs longer (20.0 to 138 µs slower)" in basis_text(costing)
    assert interval_text(replace(costing, high_ns=0.0)) == "138 µs slower to no gain"


def test_alternatives_come_with_their_amounts():
    other = Finding("other", "", "", "Try it.", "kernels", prediction=BOUND)
    finding = Finding("key", "", "", "Do.", "kernels", alternatives=(other,))
    assert advice_text(finding) == "Do. Or, instead of that (≤ 800 µs): try it."


LOSS = Prediction(-151_000.0, -755_000.0, 153_000.0, "simulated", "unprofiled")


def test_what_would_lose_is_advised_against():
    losing = Finding("key", "", "", "Pad it.", "kernels", prediction=LOSS)
    assert advice_text(losing) == "Considered: pad it."
    gaining = Finding("other", "", "", "Do.", "kernels", prediction=BOUND, alternatives=(losing,))
    assert advice_text(gaining) == "Do. This would not pay here: pad it."


def test_what_has_no_advice_is_not_considered():
    """The dossier of a break of its own advice had "2 graph breaks in a step. Considered:"."""
    losing = Finding("key", "", "", "", "kernels", prediction=LOSS)
    other = Finding("other", "", "", "Pad it.", "kernels", prediction=BOUND)
    assert advice_text(losing) == advice_text(replace(losing, alternatives=(other,))) == ""


def test_what_a_replay_shows_to_save_nothing_is_a_note_and_not_advised():
    """Seen in a pipeline of two GPUs: products in fp32 with 0 ns at stake, first of the list."""
    nothing = Prediction(0.0, 0.0, 0.0, "simulated", "unprofiled")
    idle = by_stake(Finding("tf32_off", "", "", "Use TF32.", "kernels", prediction=nothing))
    assert (idle.weight, advice_text(idle)) == ("note", "Considered: use TF32.")
    free = by_stake(replace(idle, weight="by time", prediction=replace(nothing, basis="measured")))
    assert (free.weight, advice_text(free)) == ("note", "Use TF32.")
    acted_on = (
        Finding("a", "", "", "", "kernels", prediction=SIMULATED),
        Finding("b", "", "", "", "kernels"),
        Finding("c", "", "", "", "kernels", prediction=nothing, weight="first"),
    )
    assert tuple(map(by_stake, acted_on)) == acted_on
    assert [entry.key for entry in ranked((idle, *acted_on))] == ["c", "a", "b", "tf32_off"]


def test_what_would_lose_promises_nothing_together():
    losing = Finding("key", "", "", "", "kernels", prediction=LOSS)
    gaining = Finding("other", "", "", "", "memory", prediction=SIMULATED)
    assert together_text([gaining, losing]) == ""
    further = replace(gaining, key="further")
    assert together_text([gaining, losing, further]).startswith("Together 1.60 ms per step")


def test_a_bound_is_explained_where_one_stands():
    sure = Finding("key", "", "", "Do it.", "kernels", prediction=SIMULATED)
    bound = replace(sure, key="bound", prediction=BOUND)
    said = "≤ is an upper bound."
    assert amounts_text([sure]) == ""
    assert amounts_text([bound]) == said
    # In the advice there stands "Or, instead of that (≤ 800 µs): …".
    assert amounts_text([replace(sure, alternatives=(bound,))]) == said
    assert amounts_text([sure, bound]).startswith(f"{said} Together at most ")


def test_a_change_that_is_expected_to_lose_is_no_gain():
    assert amount_text(LOSS) == "no gain"
    text = basis_text(LOSS)
    assert "151 µs longer" in text
    assert "(755 µs slower to 153 µs faster)" in text


def test_a_place_to_look_at_is_no_change_that_was_considered():
    """Seen in dynshape: “Considered: “No cause is seen in the files. Open these groups …””."""
    nothing = Prediction(0.0, 0.0, 0.0, "simulated", "unprofiled")
    for key in ("slower_groups", "slower_by_a_rank"):
        finding = Finding(key, "", "", "Look there.", "fusion", prediction=nothing)
        assert advice_text(finding) == "Look there."


def test_a_place_to_look_at_is_replayed_as_the_baseline_runs_it():
    """Seen in dynshape: "a replay with this change" of a finding that names no change."""
    nothing = Prediction(0.0, 0.0, 0.0, "simulated", "unprofiled")
    slower = Finding(
        "slower_groups",
        "",
        "Seen.",
        "",
        "fusion",
        prediction=nothing,
        change=Change("like_baseline"),
    )
    start = "Seen. A replay with these parts as fast as in the baseline"
    assert evidence_text(slower) == f"{start} saves nothing: something else is the limit here."
    gain = replace(slower, prediction=SIMULATED)
    assert evidence_text(gain) == f"{start} saves 800 µs (600 µs to 1.10 ms)."
    assert evidence_text(replace(slower, prediction=LOSS)).startswith(f"{start} makes the step")
