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
from tests.larger import JUDGE_PAIRS, unpacked


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


@cache
def backward(name: str) -> list[Call]:
    """The calls of the pair's backward."""
    modules = read_log(sorted((unpacked(JUDGE_PAIRS) / name).glob("torch_trace/*.log*")))
    return next(module.calls for module in modules if module.is_backward)


def test_a_kernel_that_adds_to_a_buffer_computes_the_node_that_was_started_in_it():
    """index_add's gradient: zeros for all three layers in one kernel, atomic adds in one each."""
    calls = backward("gnn_training/default")
    start = next(call for call in calls if call.name == "triton_poi_fused_index_put_index_select_7")
    assert start.computed == {"index_put_3", "index_put_4", "index_put_5"}
    added = [c for c in calls if "index_put_3" in c.computed and c is not start]
    assert [sorted(call.computed) for call in added] == [["index_3", "index_put_3"]]


def test_a_shared_kernel_is_translated_by_what_its_calls_are_handed():
    """Another layer's call lists fewer casts and views than the first: counting them says nothing.

    Its sum for the residual is stored beside the gradient that its comment ends in.
    """
    ends = "native_layer_norm_backward_split_unsqueeze_view_11"
    shared = [c for c in backward("dit_training/default") if c.name.endswith(ends)]
    assert len(shared) > 3
    for call in shared:
        assert sum(name.startswith("add_") for name in call.stored) == 1, call.stored
        assert sum(name.startswith("mul_") for name in call.stored) == 1, call.stored


@pytest.mark.parametrize("name", ["dit_training/default", "vit_training/default"])
def test_every_product_of_a_backward_is_a_node_though_comments_list_its_factors_alone(name):
    products = [call for call in backward(name) if call.name == "extern_kernels.mm"]
    nodes = [node for call in products for node in call.stored]
    assert len(nodes) == len(products) == len(set(nodes))
