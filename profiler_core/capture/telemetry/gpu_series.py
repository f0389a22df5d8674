"""The series of GPUs: the measured ones at full rate, PCIe and the others once a second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from profiler_core.capture.telemetry.sampler import Loop, Series, Wait

READING_S = 0.008  # of one GPU: eight at full rate would miss every deadline
OTHERS_EVERY_S = 1.0
PCIE_PERIOD_S = 1.0  # a pair of calls takes 40 ms


class Device(Protocol):
    """A GPU, whoever's library reads it."""

    index: int
    reasons: dict[str, str]

    @property
    def name(self) -> str | None:
        """The product name; None where it is unknown."""
        ...

    def facts(self) -> dict[str, Any]:
        """What does not change while a capture runs."""
        ...

    def sample(self, t_ns: int) -> dict[str, Any]:
        """One row without PCIe; a null has a sentence in `reasons`."""
        ...

    def pcie(self) -> tuple[int | None, int | None]:
        """(tx, rx) in kB/s; slow."""
        ...


class GpuReader:
    """Rows of one GPU.

    The first has a key `sampler` {source, gpu, period_s}; a row after whose reading the reasons
    for nulls differ from what was said has them in a key `reasons` {key: sentence}. All other
    keys are those of docs/columns.md, Telemetry.
    """

    def __init__(self, device: Device, source: str, period_s: float) -> None:
        self._device = device
        self._sampler: dict[str, Any] | None = {
            "source": source,
            "gpu": device.name,
            "period_s": period_s,
        }
        self._written_reasons: dict[str, str] = {}
        self._pcie: tuple[int | None, int | None] | None = None

    def __call__(self, t_ns: int) -> dict[str, Any]:
        """A row; with PCIe where it was read since the last one."""
        row = self._device.sample(t_ns)
        if self._pcie is not None:
            (row["pcie_tx_kbps"], row["pcie_rx_kbps"]), self._pcie = self._pcie, None
        if self._sampler is not None:
            row["sampler"], self._sampler = self._sampler, None
        if self._device.reasons != self._written_reasons:
            self._written_reasons = dict(self._device.reasons)
            row["reasons"] = self._written_reasons
        return row

    def read_pcie(self, wait: Wait) -> None:
        """Read PCIe once a second until `wait(seconds)` says True."""
        while True:
            self._pcie = self._device.pcie()
            if wait(PCIE_PERIOD_S):
                return


def gpu_series(
    measured: Sequence[Device],
    others: Sequence[Device],
    source: str,
    paths: Sequence[Path],
    period_s: float,
) -> tuple[list[Series], list[Loop]]:
    """(series, loops beside them) for the measured devices and, once a second, the others.

    More of the former than can be read within a period are read in every second one, or third.

    Args:
        measured: by rank; PCIe is read of the first.
        others: of this machine.
        source: "nvml" or "amdsmi".
        paths: all rows go into each of these files.
        period_s: of the measured ones.
    """
    at_once = max(1, int(period_s / READING_S))
    often = -(-len(measured) // at_once)
    rarely = max(often, round(OTHERS_EVERY_S / period_s))
    readers = [
        *((GpuReader(device, source, period_s * often), often) for device in measured),
        *((GpuReader(device, source, period_s * rarely), rarely) for device in others),
    ]
    series = [Series(reader, tuple(paths), every) for reader, every in readers]
    return series, [reader.read_pcie for reader, _ in readers[:1]]
