"""What a group's bytes over its time say, and what they do not."""

from dataclasses import replace

import pytest

from profiler_core.analysis.device_peaks import peaks_of
from profiler_core.analysis.ledger.bandwidth import bandwidth, is_outpaced
from profiler_core.analysis.ledger.result import GroupSide, OperatorTime


def test_a_group_fits_into_the_cache_by_what_its_largest_call_moves() -> None:
    """Bytes over all kernels, memsets and fills made a convolution's 122 MB fit into 62.9 MB."""
    h200 = peaks_of("NVIDIA H200")
    operators = tuple(OperatorTime(op, 5, 5, 500) for op in ("aten::_to_copy", "aten::conv2d"))
    side = GroupSide(
        operators, n_events=35, time_ns=2_500_000, bytes_read=10**8, bytes_written=8 * 10**8,
        largest_bytes=122_000_000, n_launching=10,
    )  # fmt: skip
    assert bandwidth(side, 5, h200).fits_cache is False
    some = replace(side, bytes_written=5 * 10**8)
    assert bandwidth(some, 5, h200).fits_cache is None
    assert bandwidth(replace(some, largest_bytes=62_000_000), 5, h200).fits_cache is True


@pytest.mark.parametrize(
    ("other_moved", "other_per_s", "outpaced"),
    [(308, 91, True), (400, 91, True), (307, 91, False), (308, 80, False)],
)
def test_as_many_bytes_that_go_a_tenth_faster_outpace(other_moved, other_per_s, outpaced):
    assert is_outpaced(308, 73, other_moved, other_per_s) is outpaced
