"""Names of what a dossier is about, as they stand in addresses."""

import pytest

from profiler_core.analysis.item import (
    Item,
    break_item,
    event_item,
    group_item,
    kernel_item,
    module_item,
    operator_item,
    read_item,
    skip_item,
    source_item,
)

LONG = "void at::native::elementwise_kernel<128, 2, " + "at::native::gpu_kernel_impl, " * 40


@pytest.mark.parametrize(
    "item",
    [
        kernel_item("triton_poi_fused_add_0"),
        kernel_item(LONG),
        operator_item("aten::addmm"),
        group_item(1, 17),
        break_item(2, 0),
        skip_item(2, 0),
        event_item(0, "device", 204),
        module_item("encoder.layer.*.attention"),
        source_item("model.py:84"),
    ],
)
def test_an_address_gives_back_the_item_that_it_names(item: Item) -> None:
    assert read_item(item.text) == item


def test_long_names_that_differ_at_their_end_stay_apart() -> None:
    assert kernel_item(LONG + "a") != kernel_item(LONG + "b")
    assert len(kernel_item(LONG).text) < 140


@pytest.mark.parametrize(
    "text", ["", "kernel", "kernel:", "nothing:here", ":x", "kernel:" + "x" * 999]
)
def test_what_names_nothing_is_none(text: str) -> None:
    assert read_item(text) is None


def test_a_group_is_a_run_and_a_place() -> None:
    assert group_item(2, 40).numbers == (2, 40)
    for key in (
        "",
        "1",
        "1.",
        ".2",
        "a.2",
        "1.2.3",
        "-1.2",
        "1.²",
        "9999999999.1",
        "1." + "9" * 5000,
    ):
        assert Item("group", key).numbers is None
