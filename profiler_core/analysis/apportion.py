"""Parts of a total as whole numbers that add up to the rounded total."""

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")


def apportion(parts: Mapping[Key, float], total: int | None = None) -> dict[Key, int]:
    """Round parts to whole numbers whose sum is `total` (default: the rounded sum).

    Largest remainder: each part is rounded down, and what is missing goes one by one to those
    that lost most. No part moves by more than 1, unless the total is not theirs.
    """
    floors = {key: int(value // 1) for key, value in parts.items()}
    rounded_total = round(sum(parts.values())) if total is None else total
    missing = rounded_total - sum(floors.values())
    by_loss = sorted(parts, key=lambda key: floors[key] - parts[key])
    for position in range(abs(missing)):
        if not by_loss:
            break
        key = (
            by_loss[position % len(by_loss)]
            if missing > 0
            else by_loss[-1 - position % len(by_loss)]
        )
        floors[key] += 1 if missing > 0 else -1
    return floors
