"""Which work is an exchange between ranks, by the names that torch and NCCL give it."""

import pytest

from profiler_core.analysis.ledger.exchange import exchange_of, exchange_of_kernels, match_exchange
from profiler_core.analysis.ledger.match import Match, Tie
from profiler_core.analysis.ledger.program import Program


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("c10d::allreduce_", "all_reduce"),
        ("c10d::_allgather_base_", "all_gather"),
        ("c10d::_reduce_scatter_base_", "reduce_scatter"),
        ("_c10d_functional::all_gather_into_tensor", "all_gather"),
        ("c10d_functional::all_reduce", "all_reduce"),
        ("nccl:all_reduce", "all_reduce"),
        ("gloo:broadcast", "broadcast"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, ncclWork*)", "send_recv"),
        ("torch::distributed::reducer::mul_out", "buckets"),
        ("torch.distributed.ddp.reducer::copy_bucket_to_grad", "buckets"),
    ],
)
def test_an_exchange_has_a_kind_and_a_note(name, kind):
    found = exchange_of(name)
    assert found is not None
    assert found[0] == kind
    assert found[1]


@pytest.mark.parametrize(
    "name", ["aten::mul", "aten::_foreach_add_", "triton_poi_fused_add_0", "Memcpy DtoD", ""]
)
def test_the_models_own_work_is_none(name):
    assert exchange_of(name) is None


NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def test_an_operator_that_only_exchanges_and_copies_for_it_is_an_exchange():
    """DTensor's Redistribute has no name that says so."""
    assert exchange_of_kernels([NCCL, "Memcpy DtoD (Device -> Device)"]) == exchange_of(NCCL)
    assert exchange_of_kernels([NCCL, "ampere_sgemm_128x64_nn"]) is None
    assert exchange_of_kernels(["Memcpy DtoD (Device -> Device)"]) is None
    assert exchange_of_kernels([]) is None


def a_program(exchange, ties=()):
    return Program(
        segments=[], ties=list(ties), input_copies=frozenset(), notes={}, serves={}, shared={},
        nameless=frozenset(), phases={}, exchange=exchange,
    )  # fmt: skip


def test_no_operator_becomes_a_collective_of_a_graph():
    """Aligned with a sum, as in tensor parallelism's backward, it stays with the collectives."""
    eager = a_program({7: "all_reduce"})
    compiled = a_program({2: "all_reduce", 4: "all_reduce"}, ties=[(1, 2), (0, 1)])
    match = Match(ties=[
        Tie((3,), (0, 2), "operator in order"),
        Tie((5,), (4,), "source line"),
        Tie((6,), (5,), "position"),
    ])  # fmt: skip
    match_exchange(eager, compiled, match)
    assert [(tie.baseline, tie.candidate) for tie in match.ties] == [
        ((3,), (0,)), ((6,), (5,)), ((7,), (2, 4)),
    ]  # fmt: skip
    assert compiled.ties == [(0, 1)]
