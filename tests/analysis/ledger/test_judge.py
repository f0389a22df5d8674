"""The judge of the ledger is no yes-man: it sees what a kernel stores, and a ledger gone wrong."""

from functools import cache

import numpy as np
import pytest

from tests.analysis.ledger.judge.code import Call
from tests.analysis.ledger.judge.log import read_log
from tests.analysis.ledger.judge.pairs import groups_of, ledger_side
from tests.analysis.ledger.judge.programs import read_program
from tests.analysis.ledger.judge.trace import read_steps
from tests.analysis.ledger.judge.verdict import certain_pairs, judge
from tests.analysis.ledger.pairs import FIXTURES, small


@cache
def calls(name: str) -> list[Call]:
    (module,) = read_log([FIXTURES / name / "torch_trace.log.gz"])
    return module.calls


def test_a_kernel_computes_what_it_stores_not_what_its_comment_lists():
    """BERT's mask lists attention, views and transposes of five layers, and stores masks alone."""
    mask = next(call for call in calls("bert.default") if "new_ones" in call.name)
    assert "_scaled_dot_product_efficient_attention" in mask.listed
    assert "permute_1" in mask.listed
    assert mask.stored[0].startswith("expand")
    assert not any(name.startswith(("_scaled", "permute", "view")) for name in mask.computed)


def test_kernels_that_all_layers_share_compute_the_nodes_of_their_own_layer():
    """BERT's normalisation is one kernel, called 24 times: each call has nodes of its own."""
    shared = [call for call in calls("bert.default") if "native_layer_norm_view" in call.name]
    assert len(shared) == 24
    computed = [name for call in shared for name in call.computed]
    assert len(computed) == len(set(computed))


def test_a_copy_for_a_library_call_is_part_of_it():
    (module,) = read_log([FIXTURES / "customcnn.reduce-overhead" / "torch_trace.log.gz"])
    first = module.calls[0]
    assert not first.is_extern
    assert first.computed <= {"convolution"}


def test_only_matches_that_every_best_alignment_has_are_certain():
    table = np.eye(3, dtype=bool)
    a, b, c = 0, 1, 2
    assert certain_pairs(np.array([a, b, c]), np.array([a, c]), table) == [(0, 0), (2, 1)]
    # Which of the two was left out, nobody can tell.
    assert certain_pairs(np.array([a, b, b, c]), np.array([a, b, c]), table) == [(0, 0), (3, 2)]


@pytest.mark.parametrize("name", ["bert", "resnet50"])
def test_a_ledger_that_shifts_every_group_by_one_is_wrong(name):
    """Each candidate event in the group of the one before: nearly all of it is found wrong."""
    folders = FIXTURES / f"{name}.eager", FIXTURES / f"{name}.default"
    programs = tuple(
        read_program(read_steps(f / "trace.json.gz")[0], read_log(sorted(f.glob("torch_trace*"))))
        for f in folders
    )
    result = small(folders[0].name, folders[1].name)
    sides = [ledger_side(folder, logs=True) for folder in folders]
    shifted = (result.candidate_group + 7) % len(result.groups)
    lookups = [groups_of(sides[0], result.baseline_group), groups_of(sides[1], shifted)]
    for verdict in judge(programs, tuple(lookups)):
        assert verdict.wrong > 0.8 * verdict.total
    lookups[1] = groups_of(sides[1], result.candidate_group)
    for verdict in judge(programs, tuple(lookups)):
        assert verdict.wrong < 0.005 * verdict.total
        assert verdict.undecidable < 0.03 * verdict.total
