"""A metric: its name, kind, labels and meaning. Each declaration is a row of docs/deploy.md."""

from dataclasses import dataclass
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily

Kind = Literal["gauge", "counter", "histogram"]


@dataclass(frozen=True)
class Metric:
    """One family of numbers.

    name: with its unit at the end, and of a counter without `_total`, which the format adds.
    labels: name -> the values that occur, as the documentation says them.
    """

    name: str
    kind: Kind
    what: str
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """In the order in which values are given."""
        return tuple(name for name, _ in self.labels)

    @property
    def unit(self) -> str:
        """By the name; empty for a plain number."""
        ending = self.name.rpartition("_")[2]
        return ending if ending in ("seconds", "bytes") else ""

    @property
    def sample_name(self) -> str:
        """As a query names it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name

    def counter(self, registry: CollectorRegistry) -> Counter:
        """It, counting from 0."""
        return Counter(self.name, self.what, self.label_names, registry=registry)

    def histogram(self, registry: CollectorRegistry, buckets: tuple[float, ...]) -> Histogram:
        """It, without observations."""
        return Histogram(self.name, self.what, self.label_names, registry=registry, buckets=buckets)

    def gauge(self) -> GaugeMetricFamily:
        """It, without a value."""
        return GaugeMetricFamily(self.name, self.what, labels=self.label_names)
