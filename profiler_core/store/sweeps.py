"""Which sweeps there are: comparisons whose runs say that they are points of the same one."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.model.run import SweepPlace
from profiler_core.store.key_parts import encode_part
from profiler_core.store.library import Comparable, Entry, Origin

_LONGEST = 60  # characters of a name or a value in a title; a file may hold anything


@dataclass(frozen=True)
class SweepGroup:
    """The points of one sweep that are here, in the order in which they were captured."""

    key: str  # "<prefix>/<sweep id>", as in a URL
    origin: Origin
    point: SweepPlace  # of the first point
    points: tuple[Comparable, ...]

    @property
    def title(self) -> str:
        """The workload and what was swept: "resnet50, batch size 1 to 128"."""
        workload = next((e.run.workload for e in self.points[0].entries if e.run.workload), "")
        label = (self.point.label or self.point.name)[:_LONGEST]
        return f"{workload}, {label} {self.values_text}"

    @property
    def values_text(self) -> str:
        """All values that were asked for; of many the first and the last one."""
        values = self.point.values or tuple(place_of(p).value for p in self.points)  # type: ignore[union-attr]
        texts = [str(value)[:_LONGEST] for value in values]
        if len(texts) > 5:
            return f"{texts[0]}, {texts[1]} … {texts[-1]}"
        return ", ".join(texts)

    @property
    def created_at(self) -> str:
        """When its latest point was captured, ISO 8601; "" where no run says it."""
        return max(point.created_at for point in self.points)

    @property
    def is_alive(self) -> bool:
        """True while one of its points is being captured."""
        return any(point.is_alive for point in self.points)


def place_of(group: Comparable) -> SweepPlace | None:
    """Which point of a sweep this comparison is; None: of none, or its sweep has no id."""
    point = group.baseline.run.sweep
    return point if point is not None and point.id else None


def sweeps(groups: Sequence[Comparable]) -> tuple[SweepGroup, ...]:
    """The sweeps among these comparisons, in the order of their newest point."""
    points_by_key: dict[str, list[tuple[SweepPlace, Comparable]]] = {}
    for group in groups:
        point = place_of(group)
        if point is not None:
            points_by_key.setdefault(key_of(group, point), []).append((point, group))
    sweep_groups = []
    for key, points in points_by_key.items():
        points.sort(key=_index)
        point, first = points[0]
        sweep_groups.append(
            SweepGroup(key, first.origin, point, tuple(group for _, group in points))
        )
    return tuple(sorted(sweep_groups, key=lambda sweep: sweep.created_at, reverse=True))


def key_of(group: Comparable, point: SweepPlace) -> str:
    """The key of the sweep to which a comparison belongs, as in the URL."""
    return f"{group.key.partition('/')[0]}/{encode_part(point.id)}"


def sweep_of_entry(entry: Entry) -> str | None:
    """The key of the sweep that a run of the library belongs to; None: to none."""
    point, prefix = entry.run.sweep, entry.key.partition("/")[0]
    if point is None or not point.id or prefix not in ("run", "upload", "sample"):
        return None
    return f"{prefix}/{encode_part(point.id)}"


def _index(point: tuple[SweepPlace, Comparable]) -> tuple[int, str]:
    return point[0].index, point[1].key
