"""Findings about matrix products: TF32, half precision, shapes, layouts, max-autotune."""

import re
from collections.abc import Iterator

import msgspec
import polars as pl

from profiler_core.analysis.finding_rules.facts import Facts, Finding, Rule
from profiler_core.analysis.kernels import KernelTotal
from profiler_core.units import format_duration, format_share

_PRODUCTS = ("gemm", "conv", "triton_template_gemm", "triton_template_conv")
_HALF = re.compile(r"bf16|f16|half|Bf16|_h_|hhh|bfloat", re.IGNORECASE)
_LAYOUT = re.compile(r"nchwToNhwc|nhwcToNchw", re.IGNORECASE)
# Below this share of a step nobody needs to act.
_LEAST_SHARE = 0.05
# What TF32 brings a GEMM that was in fp32, as measured on an H200 for BERT's: at least this.
_TF32_GAIN = 3.0
_HALF_GAIN = 2.0  # dense peak of bf16 over TF32, on every product since A100


def _plain_fp32(facts: Facts) -> tuple[KernelTotal, ...]:
    return tuple(
        one
        for one in facts.kernels(*_PRODUCTS)
        if one.tensor_cores is False and not _HALF.search(one.name) and "f64" not in one.name
    )


def tf32_off(facts: Facts) -> Finding | None:
    """Products in fp32 on the CUDA cores, on a device that has TF32 (compute capability 8.0 on)."""
    capability = facts.summary.device.compute_capability
    if not facts.on_gpu or capability is None or float(capability) < 8.0:
        return None
    found = _plain_fp32(facts)
    time = facts.per_step(found)
    if time < _LEAST_SHARE * facts.step_ns:
        return None
    return Finding(
        key="tf32_off",
        title="Matrix products run in plain fp32, without Tensor Cores.",
        evidence=f"{format_duration(time)} a step "
        f"({format_share(time / facts.step_ns)}) in {sum(k.n for k in found) // facts.n_steps} "
        f"kernels such as {found[0].name[:60]}.",
        advice="If TF32's 10-bit mantissa is enough: "
        "torch.backends.cuda.matmul.fp32_precision = 'tf32' (or "
        "torch.set_float32_matmul_precision('high')).",
        page="kernels",
        at_stake_ns=time * (1 - 1 / _TF32_GAIN),
    )


def half_precision(facts: Facts) -> Finding | None:
    """Products in fp32 or TF32 where halves would do twice as much."""
    if not facts.on_gpu:
        return None
    products = facts.kernels(*_PRODUCTS, "attention")
    wide = tuple(one for one in products if not _HALF.search(one.name))
    time = facts.per_step(wide)
    precision = str(facts.record.spec.get("precision") or "")
    if "16" in precision or time < 0.3 * facts.step_ns:
        return None
    return Finding(
        key="half_precision",
        title="Most of the step is matrix products in 32 bits.",
        evidence=f"{format_duration(time)} a step ({format_share(time / facts.step_ns)}) in "
        "kernels without a half type in their name.",
        advice="Try torch.autocast('cuda', torch.bfloat16), and check the results.",
        page="kernels",
        at_stake_ns=time * (1 - 1 / _HALF_GAIN),
    )


def odd_shapes(facts: Facts) -> Finding | None:
    """Products in halves or TF32 with a size that is no multiple of 8 (halves) or 4 (TF32)."""
    if not facts.on_gpu or facts.ledger is None:
        return None
    odd = dict(_odd_products(facts))
    if not odd:
        return None
    time = 0.0
    for group in facts.ledger.groups:
        for one in group.candidate.operators:
            if one.op in ("aten::mm", "aten::addmm", "aten::bmm", "aten::linear"):
                share = odd.get(one.op, (0.0, ""))[0]
                time += one.time_ns * share / facts.n_steps
    if time < 0.02 * facts.step_ns:
        return None
    shapes = "; ".join(sorted({text for _, text in odd.values()}))[:160]
    return Finding(
        key="odd_shapes",
        title="Matrix sizes do not suit the Tensor Cores.",
        evidence=f"Sizes that are no multiple of 8: {shapes}; {format_duration(time)} a step.",
        advice="Pad these sizes (vocabulary, classes, heads) to multiples of 8, better of 64.",
        page="fusion",
        at_stake_ns=time * 0.5,
    )


def _odd_products(facts: Facts) -> Iterator[tuple[str, tuple[float, str]]]:
    """(operator, (share of its calls with an odd size, an example))."""
    ops = facts.trace.ops.select(pl.col("name").cast(pl.String), "input_dims", "input_types")
    calls = ops.filter(pl.col("name").is_in(["aten::mm", "aten::addmm", "aten::bmm"]))
    for name in calls["name"].unique().to_list():
        mine = calls.filter(pl.col("name") == name)
        n_odd, example = 0, ""
        for dims, types in mine.select("input_dims", "input_types").iter_rows():
            half = any(kind in (types or "") for kind in ("Half", "BFloat16"))
            matrices = _matrices(dims)
            if half and any(size % 8 for matrix in matrices for size in matrix[-2:]):
                n_odd += 1
                example = " x ".join(str(list(matrix)) for matrix in matrices)
        if n_odd:
            yield name, (n_odd / mine.height, example)


def _matrices(dims: str | None) -> list[tuple[int, ...]]:
    try:
        value = msgspec.json.decode((dims or "[]").encode())
    except msgspec.DecodeError:
        return []
    shapes = [item for item in value if isinstance(item, list) and len(item) >= 2]
    return [tuple(item) for item in shapes if all(isinstance(n, int) for n in item)][-2:]


def layout_copies(facts: Facts) -> Finding | None:
    """Layout conversions around convolutions."""
    if not facts.on_gpu or facts.record.spec.get("channels_last"):
        return None
    found = [one for one in facts.summary.kernels if _LAYOUT.search(one.name)]
    time = facts.per_step(found)
    if time < 0.01 * facts.step_ns:
        return None
    return Finding(
        key="layout_copies",
        title="Tensors are copied between NCHW and NHWC around convolutions.",
        evidence=f"{sum(one.n for one in found) / facts.n_steps:.0f} layout kernels, "
        f"{format_duration(time)} a step.",
        advice="Keep model and inputs in memory_format=torch.channels_last.",
        page="kernels",
        at_stake_ns=time,
    )


def max_autotune(facts: Facts) -> Finding | None:
    """A compiled step that is mostly products, none of them from a template."""
    if not (facts.on_gpu and facts.is_compiled) or facts.mode.startswith("max-autotune"):
        return None
    time = facts.per_step(facts.kernels("gemm", "conv"))
    if time < 0.6 * facts.step_ns:
        return None
    return Finding(
        key="max_autotune",
        title="The step is bound by matrix products and convolutions.",
        evidence=f"{format_duration(time)} a step ({format_share(time / facts.step_ns)}); fusion "
        "has little left to gain.",
        advice="Try mode='max-autotune': it measures Triton's templates against the libraries. "
        "Expect some per cent.",
        page="fusion",
        at_stake_ns=time * 0.05,
    )


RULES: tuple[Rule, ...] = (tf32_off, half_precision, odd_shapes, layout_copies, max_autotune)
