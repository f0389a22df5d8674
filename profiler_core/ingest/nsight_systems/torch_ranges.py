"""NVTX texts of `torch.autograd.profiler.emit_nvtx`: an operator's name with what it adds.

torch writes "aten::addmm, seq = 12, op_id = 345, sizes = [[128], [32, 64]], input_op_ids = …",
each part where it has it (`getNvtxStr` in torch/csrc/profiler/util.cpp, torch 1.9 to 2.15).
"""

import polars as pl

_SUFFIX = r"(?:, seq = (-?\d+))?(?:, op_id = \d+)?(?:, sizes = (\[.*?\]))?(?:, input_op_ids = .*)?$"
_MARK = r", (?:seq|op_id|sizes) = "

# Names of RecordFunction that Kineto writes as cpu_op. Ranges of people, and those of FSDP and the
# optimizer, which torch records as user annotations, stay annotations. Only what autograd knows has
# a sequence number, functions of people among it.
_OPERATOR = (
    r"^(?:[A-Za-z_][\w.]*::[\w.:]+$|autograd::engine::evaluate_function: |torch::autograd::"
    r"|\w+Backward\d*$|triton_|graph_\d+_cpp_fused|Torch-Compiled Region|CompiledFunction)"
)
_ANNOTATION = r"^(?:FSDP::|c10::)"


def with_operators(ranges: pl.DataFrame) -> pl.DataFrame:
    """Add name without torch's parts, sequence_number, input_dims, is_operator and by_torch.

    Args:
        ranges: with `text`.
    """
    by_torch = pl.col("text").str.contains(_MARK)
    if not ranges.select(by_torch.any()).item():
        return ranges.with_columns(
            name="text",
            sequence_number=pl.lit(None, pl.Int64),
            input_dims=pl.lit(None, pl.String),
            is_operator=pl.lit(value=False),
            by_torch=pl.lit(value=False),
        )
    parts = pl.col("text").str.extract_groups(_SUFFIX)
    bare = pl.col("text").str.replace(_SUFFIX, "")
    named = ranges.with_columns(
        name=pl.when(by_torch).then(bare).otherwise("text"),
        sequence_number=pl.when(by_torch)
        .then(parts.struct.field("1"))
        .cast(pl.Int64, strict=False),
        input_dims=pl.when(by_torch).then(parts.struct.field("2")).str.replace_all(", ", ","),
    )
    # A sequence number below 0 stands for none.
    return named.with_columns(
        pl.when(pl.col("sequence_number") >= 0).then("sequence_number").alias("sequence_number"),
        is_operator=(
            by_torch
            & (pl.col("name").str.contains(_OPERATOR) | pl.col("sequence_number").is_not_null())
            & ~pl.col("name").str.contains(_ANNOTATION)
        ).fill_null(value=False),
        by_torch=by_torch.fill_null(value=False),
    )
