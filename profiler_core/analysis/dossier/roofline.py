"""How near a kernel or a group comes to what the device can do: its bytes and FLOPs over its time.

Bytes are those that shapes demand at least (`ledger/bytes_moved.py`), FLOPs those of matrix
products and convolutions (`finding_rules/op_work.py`). Both belong to operators: a kernel that
shares its operator with others is judged together with these, and `kernels_per_call` says so, but
for FLOPs that are one kernel's own (`kernel_products.py`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from profiler_core.analysis.device_peaks import DevicePeaks
from profiler_core.analysis.dossier.kernel_products import is_product_helper
from profiler_core.analysis.finding_rules.op_work import OpWork
from profiler_core.analysis.ledger.bandwidth import AT_PEAK, all_and_some_fit, is_outpaced
from profiler_core.analysis.ranks.share_beside import is_cost_unknown
from profiler_core.analysis.tensor_cores import uses_tensor_cores

# "products": of its time a part, in which its products are at the limit of "compute".
Limit = Literal["memory", "compute", "products", "neither", "unknown"]
Units = Literal["fp32", "TF32 Tensor Core", "16-bit Tensor Core"]

_AT_COMPUTE_PEAK = 0.6  # cuBLAS reaches 60 to 85 % of a data sheet's dense peak with large matrices
_COMPUTING = frozenset((
    "gemm", "conv", "attention",
    "triton_template_gemm", "triton_template_conv", "triton_template_attention",
))  # fmt: skip
# Channels by which Tensor Cores take what is convolved, 16 bytes; libraries pad fewer.
_CHANNELS_OF_HALVES, _CHANNELS = 8, 4
_ALL_PRODUCTS = 0.95  # of the time: what a casting kernel beside them takes is no matter


@dataclass(frozen=True)
class Traffic:
    """Bytes of the operators that a kernel belongs to, over all profiled steps."""

    n_bytes: int
    time_ns: int  # of all kernels of these operators
    n_calls: int
    n_events: int  # device events of these operators
    largest_bytes: int = 0  # of one call; 0: all calls move the same
    counts_once: bool = False  # by a kernel without its code: what it changes in place, too
    looks_up: bool = False  # rows of tables, which count as often as they are read

    def fits(self, cache_bytes: int) -> tuple[bool, bool]:
        """Is the data of each call no larger than a cache; or that of an average call alone?"""
        return all_and_some_fit(self.n_bytes, self.n_calls, self.largest_bytes, cache_bytes)

    @property
    def kernels_per_call(self) -> float:
        """1: the kernel is all of its operator."""
        return self.n_events / self.n_calls if self.n_calls else 1.0


@dataclass(frozen=True)
class Roofline:
    """One side. None: not known."""

    label: str  # of the run
    time_ns: float  # per step, of what the rest is of
    bytes_moved: float | None = None  # per step, at least
    bytes_per_s: float | None = None
    memory_share: float | None = None  # of the memory's peak
    fits_cache: bool | None = None  # is the data of each call smaller than the L2?
    some_fit_cache: bool = False  # that of an average call alone; the largest one's is not
    flops: float | None = None  # per step
    flops_per_s: float | None = None  # in `products_ns`
    products_ns: float = 0.0  # per step, of the products that compute them; the rest has none
    # What `products_ns` is of: all that these products start, or one kernel, which computes them.
    products_of: Literal["group", "operator", "kernel"] = "group"
    compute_share: float | None = None  # of the peak of `units`
    units: Units | None = None
    device: str = ""  # whose peaks these are; "": not known
    kernels_per_call: float = 1.0  # above 1: of the operator with all of its kernels
    counts_once: bool = False  # what it changes in place, so that it may move twice as much
    looks_up: bool = False  # rows of tables, so that it may move less where they repeat
    lacks_flops: bool = False  # it computes products, and how many operations is not known
    only_helps: bool = False  # it prepares or finishes a product that another kernel computes
    few_channels: int = 0  # of the input of its longest convolution; 0: enough for Tensor Cores
    # The other side of its group, which shows that the memory is no limit: it moves as many bytes
    # or more, and notably faster.
    outpaced_by: "Roofline | None" = None
    # Of a kernel: how many of the groups that it runs alone in have such a side, and how many not.
    n_outpaced: int = 0
    n_others: int = 0
    share_beside: float = 0.0  # of its time, that of collectives, where its cost is not known

    @property
    def is_beside_collectives(self) -> bool:
        """Is its time not its own, so that it does not say what limits it?"""
        return is_cost_unknown(self.share_beside)

    @property
    def waits_beside_products(self) -> bool:
        """Are neither bytes nor operations at a limit, though one call's data fits a cache?"""
        is_slow = self.memory_share is not None and self.memory_share < AT_PEAK
        return self.limit == "neither" and is_slow and self.compute_share is not None

    @property
    def is_all_products(self) -> bool:
        """Is the time of its products its whole time, but for a few per cent?"""
        return self.products_of == "kernel" or self.products_ns >= _ALL_PRODUCTS * self.time_ns

    @property
    def limit(self) -> Limit:
        """What it is at the limit of."""
        if self.compute_share is not None and self.compute_share >= _AT_COMPUTE_PEAK:
            return "compute" if self.is_all_products else "products"
        if self.memory_share is None or self.is_beside_collectives:
            return "unknown"
        past_cache = self.fits_cache is False and not self.some_fit_cache
        if self.memory_share >= AT_PEAK and past_cache:
            return "memory" if self.outpaced_by is None else "unknown"
        if self.counts_once and past_cache and 2 * self.memory_share >= AT_PEAK:
            return "unknown"
        return "unknown" if self.lacks_flops or self.only_helps else "neither"


def roofline(
    label: str,
    peaks: DevicePeaks | None,
    n_steps: int,
    traffic: Traffic | None,
    products: Sequence[OpWork] = (),
    *,
    kernel: str = "",
) -> Roofline | None:
    """Bytes and FLOPs against the device; None where neither is known.

    Args:
        label: of the run.
        peaks: of its device; None: not known.
        n_steps: profiled steps.
        traffic: bytes of the operators, where shapes tell them.
        products: matrix products and convolutions among these operators.
        kernel: whose name says which units compute; "" where they are several. FLOPs are over its
            own time, or over all that its operators start where others compute parts of them; of
            several kernels over those that compute products.
    """
    flops, product_ns, is_own = _flops(products, kernel)
    if traffic is None and not flops:
        return None
    time_ns = traffic.time_ns if traffic is not None else product_ns
    n = max(1, n_steps)
    bytes_per_s = _rate(traffic.n_bytes, traffic.time_ns) if traffic is not None else None
    flops_per_s = _rate(flops, product_ns) if flops else None
    units = _units(products, kernel) if flops else None
    compute_peak = _peak(peaks, units)
    cache = peaks.l2_bytes if peaks is not None else None
    all_fit, some_fit = traffic.fits(cache) if traffic and cache else (None, False)
    line = Roofline(
        label=label,
        time_ns=time_ns / n,
        bytes_moved=traffic.n_bytes / n if traffic is not None else None,
        bytes_per_s=bytes_per_s,
        memory_share=_share(bytes_per_s, peaks.memory_bytes_per_s if peaks else None),
        fits_cache=all_fit,
        some_fit_cache=some_fit,
        flops=flops / n if flops else None,
        flops_per_s=flops_per_s,
        products_ns=product_ns / n,
        products_of="kernel" if is_own else "operator" if kernel else "group",
        compute_share=_share(flops_per_s, compute_peak),
        units=units,
        device=peaks.name if peaks is not None else "",
    )
    if flops:
        line = replace(line, few_channels=_few_channels(products))
    if traffic is None:
        return line
    return replace(
        line,
        kernels_per_call=traffic.kernels_per_call,
        counts_once=traffic.counts_once,
        looks_up=traffic.looks_up,
    )


def _rate(total: float, time_ns: float) -> float | None:
    """Per second; None without a time."""
    return total / (time_ns * 1e-9) if time_ns else None


def _share(rate: float | None, peak: float | None) -> float | None:
    return rate / peak if rate and peak else None


def marked(
    line: Roofline | None, categories: Iterable[str], *, only_helps: bool = False
) -> Roofline | None:
    """The line with `lacks_flops`, by the categories of its kernels, or with `only_helps`."""
    if line is None or line.flops is not None or _COMPUTING.isdisjoint(categories):
        return line
    return replace(line, only_helps=only_helps, lacks_flops=not only_helps)


def beside(line: Roofline | None, other: Roofline | None) -> Roofline | None:
    """The line of one side of a group with what the other side shows of it."""
    if line is None or other is None or line.limit != "memory":
        return line
    own, others = (each.bytes_moved for each in (line, other))
    speed, others_speed = (each.bytes_per_s for each in (line, other))
    if own is None or others is None or speed is None or others_speed is None:
        return line
    is_slower = is_outpaced(own, speed, others, others_speed)
    return replace(line, outpaced_by=other) if is_slower else line


def in_groups(line: Roofline, lines: Sequence[Roofline]) -> Roofline:
    """The line of a kernel with what the other sides of its groups show of it.

    Args:
        line: of the kernel in one run.
        lines: of that side of the groups in which nothing else runs on it, of `beside`.
    """
    outpaced = [each for each in lines if each.outpaced_by is not None]
    if line.limit != "memory" or not outpaced:
        return line
    longest = max(outpaced, key=lambda each: each.time_ns)
    n_others = len(lines) - len(outpaced)
    return replace(
        line, outpaced_by=longest.outpaced_by, n_outpaced=len(outpaced), n_others=n_others
    )


def _flops(products: Sequence[OpWork], kernel: str) -> tuple[int, int, bool]:
    """(operations, ns, is it one kernel's own time?) of the products whose shapes are known."""
    counted = [op for op in products if op.flops]
    flops = sum((op.flops or 0) * len(op.times_ns) for op in counted)
    own = [op.kernel_ns for op in counted if op.kernel_ns is not None] if kernel else []
    if own and len(own) == len(counted):
        return flops, sum(own), True
    ns = sum(op.time_ns if kernel else op.product_ns for op in counted)
    return flops, ns, False


def _units(products: Sequence[OpWork], kernel: str) -> Units | None:
    """The units that compute them; None where neither types nor the kernel's name tell."""
    if all(op.in_halves for op in products):
        return "16-bit Tensor Core"
    names = {kernel} if kernel else {name for op in products for name in _computing(op)}
    tensor = {uses_tensor_cores(name, "") for name in names}
    if len(tensor) > 1:  # a part whose name does not tell leaves it to the others
        tensor.discard(None)
    if len(tensor) != 1:
        return None
    (on_tensor_cores,) = tensor
    if on_tensor_cores is None:
        return None
    return "TF32 Tensor Core" if on_tensor_cores else "fp32"


def _computing(op: OpWork) -> Iterable[str]:
    """The kernels that compute a product: of a transform all its parts, of a replay its group's."""
    names = {name for parts in op.parts for name, _ in parts if not is_product_helper(name)}
    return names or (op.kernel,)


def _few_channels(products: Sequence[OpWork]) -> int:
    """Of the input of the longest convolution; 0: as many as Tensor Cores take, or more."""
    convolutions = [op for op in products if op.name.startswith("aten::convolution")]
    longest = max(convolutions, key=lambda op: op.time_ns, default=None)
    if longest is None:
        return 0
    image = longest.dims[int(longest.name.endswith("_backward"))]
    n = image[1] if len(image) > 2 else 0
    return n if n < (_CHANNELS_OF_HALVES if longest.in_halves else _CHANNELS) else 0


def _peak(peaks: DevicePeaks | None, units: Units | None) -> float | None:
    if peaks is None or units is None:
        return None
    if units == "fp32":
        return peaks.fp32_flops
    return peaks.tf32_flops if units == "TF32 Tensor Core" else peaks.half_flops


def what_computes(products: Sequence[OpWork]) -> str:
    """The products in the field's words: "depthwise convolution, backward"; "": none.

    Convolutions of several windows are "convolution", of products of both kinds the longest counts.
    """
    if not products:
        return ""
    longest = max(products, key=lambda op: op.time_ns)
    is_convolution = longest.name.startswith("aten::convolution")
    alike = {
        _words(op) for op in products if op.name.startswith("aten::convolution") == is_convolution
    }
    if len(alike) == 1:
        return alike.pop()
    is_backward = all(words.endswith(", backward") for words in alike)
    return f"convolution{', backward' if is_backward else ''}"


def _words(product: OpWork) -> str:
    if not product.name.startswith("aten::convolution"):
        return "matrix product"
    backward = product.name.endswith("_backward")
    weight = product.dims[2 if backward else 1] if len(product.dims) > 2 else ()
    groups = weight[0] if len(weight) > 2 and weight[1] == 1 and weight[0] > 1 else 0
    window = "×".join(str(n) for n in weight[2:])
    words = f"{'depthwise ' if groups else ''}{f'{window} ' if window else ''}convolution"
    return f"{words}, backward" if backward else words
