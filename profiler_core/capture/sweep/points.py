"""The captures of a sweep: one spec for each value, checked before the first one starts."""

from dataclasses import dataclass, replace

from profiler_core.capture.spec import CaptureSpec
from profiler_core.capture.sweep.parameters import Value, parameter
from profiler_core.errors import BadInput


@dataclass(frozen=True)
class Point:
    """One value of a sweep, ready to capture.

    `series` has a name for each variant of `spec`, the same in all points: what a line of a
    chart is called.
    """

    name: str  # of the parameter
    label: str
    value: Value
    index: int
    values: tuple[Value, ...]  # of the whole sweep
    spec: CaptureSpec
    series: tuple[str, ...]

    @property
    def text(self) -> str:
        """For people: `batch size 8`."""
        return f"{self.label} {self.value}"

    def record(self, sweep_id: str, variant_index: int) -> dict[str, object]:
        """`sweep` of run.json for the variant at this place."""
        return {
            "id": sweep_id,
            "name": self.name,
            "label": self.label,
            "value": self.value,
            "index": self.index,
            "values": list(self.values),
            "series": self.series[variant_index],
        }


def captures_of(spec: CaptureSpec) -> tuple[CaptureSpec, ...]:
    """The spec of each capture that is made of one: of a sweep those of its points, else itself.

    Raises:
        BadInput: as `points_of`.
    """
    return tuple(point.spec for point in points_of(spec)) or (spec,)


def points_of(spec: CaptureSpec) -> tuple[Point, ...]:
    """The captures that a spec with a sweep asks for; a spec without one asks for itself.

    Raises:
        BadInput: the option is unknown, is given beside the sweep, or a value makes no sense.
    """
    if spec.sweep is None:
        return ()
    sweep = spec.sweep
    swept = parameter(sweep.parameter)
    values = tuple(swept.read(text) for text in sweep.values)
    if len(set(values)) < len(values):
        raise BadInput(
            f"The sweep of {swept.label} has the same value twice: {', '.join(sweep.values)}.",
            remedy="Name each value once.",
        )
    alone = replace(spec, sweep=None)
    series = tuple(swept.series(variant) for variant in spec.variants)
    points = []
    for index, value in enumerate(values):
        point_spec = swept.apply(alone, value)
        name = f"{alone.title}, {swept.label} {value}"
        points.append(
            Point(
                swept.name,
                swept.label,
                value,
                index,
                values,
                replace(point_spec, name=name),
                series,
            )
        )
    return tuple(points)
