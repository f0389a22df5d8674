"""How the allocator's memory is cut up: pools, segments, and what lies idle in them."""

from dataclasses import dataclass

import polars as pl

from profiler_core.model.memory_snapshot import DEFAULT_POOL, LIVE_STATES, MemorySnapshot


@dataclass(frozen=True)
class Pool:
    """One pool of segments. Tensors of a CUDA graph live in a private pool of its own."""

    name: str  # "default", "private 0.1", …
    is_private: bool
    n_segments: int
    reserved_bytes: int
    allocated_bytes: int


@dataclass(frozen=True)
class Segment:
    """A piece of memory from the driver, with the blocks it is cut into."""

    number: int
    pool: str
    kind: str | None
    stream: int | None
    total_bytes: int
    allocated_bytes: int
    blocks: tuple[tuple[int, bool], ...]  # (bytes, is it in use), in order of address


@dataclass(frozen=True)
class Segments:
    """The segments of one device when the snapshot was taken.

    reserved == allocated + free; free == split_free + whole_free + private_free. What was rounded
    up is inside allocated.
    """

    device: int
    reserved_bytes: int
    allocated_bytes: int
    rounding_bytes: int | None  # allocated beyond what was asked for; None: not in the file
    split_free_bytes: int  # free blocks in segments that are partly in use: cannot be given back
    whole_free_bytes: int  # segments with nothing in them: empty_cache gives them back
    private_free_bytes: int  # in private pools: kept for the next replay
    largest_free_bytes: int  # of the default pool alone
    n_free_blocks: int
    pools: tuple[Pool, ...]  # largest first
    segments: tuple[Segment, ...]  # largest first

    @property
    def has_private_pools(self) -> bool:
        """Then the largest free block is not the largest that is free on the device."""
        return any(pool.is_private for pool in self.pools)

    @property
    def free_bytes(self) -> int:
        """Reserved, not allocated."""
        return self.reserved_bytes - self.allocated_bytes

    @property
    def fragmented_fraction(self) -> float:
        """Share of the reserved memory that is free but locked in by its neighbours."""
        return self.split_free_bytes / self.reserved_bytes if self.reserved_bytes else 0.0

    @property
    def private_bytes(self) -> int:
        """Reserved by private pools: CUDA graphs, or a torch.cuda.MemPool."""
        return sum(pool.reserved_bytes for pool in self.pools if pool.is_private)


def segments_of(snapshot: MemorySnapshot) -> tuple[Segments, ...]:
    """One answer a device, the fullest first; empty without segments."""
    devices = snapshot.segments["device"].unique().drop_nulls().to_list()
    answers = [_device(snapshot, device) for device in devices]
    return tuple(sorted(answers, key=lambda answer: -answer.reserved_bytes))


def _device(snapshot: MemorySnapshot, device: int) -> Segments:
    segments = snapshot.segments.filter(pl.col("device") == device).with_columns(
        pl.col("total_bytes", "allocated_bytes").fill_null(0),
        pl.col("pool").fill_null(DEFAULT_POOL),
    )
    blocks = snapshot.blocks.join(
        segments.select("segment", "pool", used="allocated_bytes"), on="segment"
    ).with_columns(is_live=pl.col("state").is_in(LIVE_STATES), bytes=pl.col("bytes").fill_null(0))
    all_free = blocks.filter(~pl.col("is_live"))
    free = all_free.filter(pl.col("pool") == DEFAULT_POOL)
    live = blocks.filter("is_live")
    with_request = live.filter(pl.col("requested_bytes").is_not_null())
    by_segment = {
        key[0]: tuple(zip(rows["bytes"], rows["is_live"], strict=True))
        for key, rows in blocks.sort("segment", "address").group_by("segment")
    }
    pools = (
        segments.group_by("pool")
        .agg(
            n=pl.len(),
            reserved=pl.col("total_bytes").sum(),
            allocated=pl.col("allocated_bytes").sum(),
        )
        .sort("reserved", "pool", descending=[True, False])
    )
    return Segments(
        device=device,
        reserved_bytes=int(segments["total_bytes"].sum()),
        allocated_bytes=int(segments["allocated_bytes"].sum()),
        rounding_bytes=int(with_request["bytes"].sum()) - int(with_request["requested_bytes"].sum())
        if with_request.height
        else None,
        split_free_bytes=int(free.filter(pl.col("used") > 0)["bytes"].sum()),
        whole_free_bytes=int(free.filter(pl.col("used") == 0)["bytes"].sum()),
        private_free_bytes=int(all_free["bytes"].sum()) - int(free["bytes"].sum()),
        largest_free_bytes=max(free["bytes"], default=0),
        n_free_blocks=free.height,
        pools=tuple(
            Pool(pool_name(row["pool"]), row["pool"] != DEFAULT_POOL, row["n"], row["reserved"],
                 row["allocated"])
            for row in pools.iter_rows(named=True)
        ),
        segments=tuple(
            Segment(
                row["segment"],
                pool_name(row["pool"]),
                row["kind"],
                row["stream"],
                row["total_bytes"],
                row["allocated_bytes"],
                by_segment.get(row["segment"], ()),
            )
            for row in segments.sort("total_bytes", "segment", descending=[True, False]).iter_rows(
                named=True
            )
        ),
    )  # fmt: skip


def pool_name(pool: str) -> str:
    """`default` or `private 0.1`: the ids as torch numbers its pools."""
    return "default" if pool == DEFAULT_POOL else f"private {pool}"
