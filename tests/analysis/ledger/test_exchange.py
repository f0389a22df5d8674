"""Which work is an exchange between ranks, by the names that torch and NCCL give it."""

import pytest

from profiler_core.analysis.ledger.exchange import exchange_of


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
