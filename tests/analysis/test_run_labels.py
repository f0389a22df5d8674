import pytest

from profiler_core.analysis.run_labels import run_facts, short_variants
from profiler_core.model.run import RunRecord


@pytest.mark.parametrize(
    ("variants", "short"),
    [
        (["eager+bf16-autocast+channels_last", "default+bf16-autocast+channels_last"],
         ("eager", "default")),
        (["eager+bf16", "default+bf16+dynamic"], ("eager", "default+dynamic")),
        (["eager", "default+bf16"], ("eager", "default+bf16")),
        (["default+bf16"], ("default+bf16",)),
        (["a+b", "a+b"], ("a", "a")),
        (["eager+x+y", "eager+y+x"], ("eager+x+y", "eager+y+x")),
        ([], ()),
    ],
)  # fmt: skip
def test_options_that_all_share_are_left_out(variants, short):
    assert short_variants(variants) == short


def test_the_facts_name_each_option_once():
    record = RunRecord(
        workload="resnet50",
        variant="eager+bf16-autocast+channels_last+dynamic",
        spec={"training": False, "precision": "bf16-autocast", "channels_last": True},
        environment={"gpu": "NVIDIA H200", "torch": "2.11.0+cu130"},
    )
    assert run_facts(record) == [
        "resnet50", "inference", "bf16-autocast", "channels_last", "dynamic", "NVIDIA H200",
        "torch 2.11.0",
    ]  # fmt: skip


def test_a_plus_in_the_name_of_an_upload_is_no_option():
    assert run_facts(RunRecord(name="a", variant="mine+yours")) == ["a"]
