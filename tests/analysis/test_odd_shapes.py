"""Sizes that do not suit the Tensor Cores: a real capture edited in that one place.

No capture of the repository has such sizes: they need a GPU and a model made for it. The numbers
of the second test are those of a public trace of a TimeSformer on an H100.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.findings import Facts, findings
from profiler_core.analysis.summary import summarise
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
HALVES = ("c10::BFloat16", "c10::BFloat16")


@pytest.fixture(scope="module")
def one() -> Facts:
    run = open_run(SAMPLES / "resnet50-bf16" / "default+bf16-autocast+channels_last")
    trace = open_trace(run.trace)
    return Facts(trace, summarise(trace, run.record.measurement), run.record)


def found(facts: Facts):
    return {finding.key: finding for finding in findings(facts)}.get("odd_shapes")


def test_rows_that_begin_off_16_bytes(one):
    """ResNet's last layer has 2048 features; make them 2047."""
    assert found(one) is None
    odd = (pl.col(name).str.replace_all("2048", "2047") for name in ("input_dims", "input_strides"))
    edited = replace(one, trace=replace(one.trace, ops=one.trace.ops.with_columns(odd)))
    (product,) = (item for item in edited.products if item.name == "aten::addmm")
    assert product.is_misaligned
    assert not any(item.is_misaligned for item in one.products if item.name == "aten::addmm")
    # It is a small part of this step: so let the step be but ten times as long.
    edited.__dict__.update(step_ns=10 * product.times_ns[0], pace=1.0)
    assert found(edited) is not None


def test_no_product_is_promised_to_beat_the_memory(one):
    """Attention over 3137 tokens: at 583 TFLOPS it would take 207 µs, but 2 GB have to be moved.

    By hand: 2 x 96 x 3137² x 64 operations; 2 bytes x 96 x (2 x 3137 x 64 + 3137²) = 1.967 GB,
    587 µs at the 3350 GB/s of an H100. The large plain product is what reaches 583 TFLOPS.
    """
    attention = OpWork(
        "aten::bmm", ((96, 3137, 3137), (96, 3137, 64)), HALVES, (),
        ((9840769, 3137, 1), (200768, 64, 1)), "odd", (1_699_000,),
    )  # fmt: skip
    tiny = replace(attention, dims=((2, 5, 5), (2, 5, 64)), strides=(), times_ns=(2_000,))
    plain = OpWork(
        "aten::mm", ((8192, 8192), (8192, 8192)), HALVES, (), ((8192, 1), (8192, 1)),
        "even", (round(2 * 8192**3 / 583e12 * 1e9),),
    )  # fmt: skip
    device = replace(one.summary.device, name="NVIDIA H100 80GB HBM3")
    edited = replace(one, summary=replace(one.summary, device=device))
    edited.__dict__["products"] = (tiny, attention, plain)
    edited.__dict__.update(step_ns=1e6, pace=1.0)
    finding = found(edited)
    # These kernels are made up, so that the replay cannot tell what else the step waits for.
    most = 1.3 * (1_699_000 - 587_020 + 2_000) / one.n_steps
    assert finding.at_stake_ns == pytest.approx(most, rel=1e-3)
    assert finding.is_bound
    # The costliest shapes are named first.
    assert "values: [96, 3137, 3137] x [96, 3137, 64]; [2, 5, 5]" in finding.evidence
    # Where the device's memory is not known, the pace alone counts.
    unknown = replace(edited, summary=replace(one.summary, device=replace(device, name="Quadro")))
    unknown.__dict__.update(products=edited.products, step_ns=1e6, pace=1.0)
    assert found(unknown).at_stake_ns > finding.at_stake_ns
