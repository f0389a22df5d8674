"""One AMD GPU through amdsmi, the Python package that comes with ROCm; the same keys as NVML's.

Functions and fields as ROCm's documentation of amdsmi has them (6.x and 7.x); a field may say
"N/A", which is null here. What clocks were held back by is not given in NVML's bits, so it is
null; PCIe throughput likewise.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

SOURCE = "amdsmi"

_NO_REASONS = "amdsmi does not report why clocks were reduced in NVML's terms"
_NO_PCIE = "amdsmi's PCIe rate is not sampled"


def amdsmi_or_reason() -> tuple[Any | None, str]:
    """(the initialised amdsmi module, "") or (None, why not)."""
    try:
        amdsmi = importlib.import_module("amdsmi")
    except (ImportError, OSError) as error:  # OSError: the package is there, its library is not
        return None, f"amdsmi cannot be imported ({error})"
    try:
        amdsmi.amdsmi_init()
    except amdsmi.AmdSmiException as error:
        return None, f"amdsmi reports: {error}"
    return amdsmi, ""


class AmdGpu:
    """One processor of amdsmi; `index` is its place in amdsmi's own list."""

    def __init__(self, amdsmi: Any, index: int) -> None:
        self._amdsmi = amdsmi
        self.reasons: dict[str, str] = {}
        self._handle = amdsmi.amdsmi_get_processor_handles()[index]
        self.index = index

    @property
    def name(self) -> str | None:
        """The product name that the driver reports."""
        product_name = self._field(
            "", lambda a: a.amdsmi_get_gpu_asic_info(self._handle), "market_name"
        )
        return None if product_name is None else str(product_name)

    def facts(self) -> dict[str, Any]:
        """What does not change while a capture runs: driver, power limit, highest clocks."""
        kinds = self._amdsmi.AmdSmiClkType
        return {
            "driver": self._field(
                "", lambda a: a.amdsmi_get_gpu_driver_info(self._handle), "driver_version"
            ),
            "power_limit_w": self._number("", self._power, "power_limit"),
            "sm_clock_max_mhz": self._number("", self._clock(kinds.GFX), "max_clk"),
            "memory_clock_max_mhz": self._number("", self._clock(kinds.MEM), "max_clk"),
            "amdsmi_index": self.index,
        }

    def sample(self, t_ns: int) -> dict[str, Any]:
        """One sample.

        Args:
            t_ns: epoch ns.
        """
        kinds = self._amdsmi.AmdSmiClkType
        self.reasons |= {
            "clocks_event_reasons": _NO_REASONS, "pcie_tx_kbps": _NO_PCIE, "pcie_rx_kbps": _NO_PCIE
        }  # fmt: skip
        used_mb = self._number(
            "memory_used_bytes", lambda a: a.amdsmi_get_gpu_vram_usage(self._handle), "vram_used"
        )
        # Older names first would be wrong: newer ones give both, and mean the same.
        power = self._number("power_w", self._power, "current_socket_power", "average_socket_power")
        return {
            "t_ns": t_ns,
            "gpu_index": self.index,
            "utilization_gpu_pct": self._number(
                "utilization_gpu_pct", self._activity, "gfx_activity"
            ),
            "utilization_memory_pct": self._number(
                "utilization_memory_pct", self._activity, "umc_activity"
            ),
            "memory_used_bytes": None if used_mb is None else round(used_mb * (1 << 20)),
            "power_w": power,
            "energy_mj": self._energy(),
            "sm_clock_mhz": self._number("sm_clock_mhz", self._clock(kinds.GFX), "clk", "cur_clk"),
            "memory_clock_mhz": self._number(
                "memory_clock_mhz", self._clock(kinds.MEM), "clk", "cur_clk"
            ),
            "temperature_c": self._temperature(),
            "clocks_event_reasons": None,
            "pcie_tx_kbps": None,
            "pcie_rx_kbps": None,
            "process_memory_bytes": self.processes(),
        }

    def pcie(self) -> tuple[int | None, int | None]:
        """Not asked for."""
        return None, None

    def processes(self) -> dict[str, int | None] | None:
        """Memory of each process that computes here, by its pid."""
        listed = self._ask(
            "process_memory_bytes", lambda a: a.amdsmi_get_gpu_process_list(self._handle)
        )
        if listed is None:
            return None
        return {
            str(process["pid"]): _number(process.get("mem"))
            for process in listed
            if "pid" in process
        }

    def _energy(self) -> int | None:
        """The accumulator counts in steps of counter_resolution µJ."""
        answer = self._ask("energy_mj", lambda a: a.amdsmi_get_energy_count(self._handle))
        if answer is None:
            return None
        ticks = _number(answer.get("energy_accumulator", answer.get("power")))
        resolution = _number(answer.get("counter_resolution"))
        if ticks is None or resolution is None:
            self.reasons["energy_mj"] = "amdsmi gives no energy counter"
            return None
        return int(ticks * resolution / 1000)

    def _temperature(self) -> Any:
        kinds = self._amdsmi.AmdSmiTemperatureType
        metric = self._amdsmi.AmdSmiTemperatureMetric.CURRENT
        for kind in (kinds.HOTSPOT, kinds.EDGE):  # MI300 has no edge sensor, older cards no hotspot
            temperature = _number(
                self._ask(
                    "temperature_c",
                    partial(_temperature_of, handle=self._handle, kind=kind, metric=metric),
                )
            )
            if temperature is not None:
                return temperature
        return None

    def _power(self, amdsmi: Any) -> Any:
        return amdsmi.amdsmi_get_power_info(self._handle)

    def _activity(self, amdsmi: Any) -> Any:
        return amdsmi.amdsmi_get_gpu_activity(self._handle)

    def _clock(self, kind: Any) -> Callable[[Any], Any]:
        return lambda amdsmi: amdsmi.amdsmi_get_clock_info(self._handle, kind)

    def _number(self, field: str, ask: Callable[[Any], Any], *names: str) -> Any:
        for name in names:
            value = _number(self._field(field, ask, name))
            if value is not None:
                self.reasons.pop(field, None)
                return value
        return None

    def _field(self, field: str, ask: Callable[[Any], Any], name: str) -> Any | None:
        answer = self._ask(field, ask)
        value = None if answer is None else answer.get(name)
        if answer is not None and value in (None, "N/A") and field:
            self.reasons[field] = f"amdsmi reports N/A for {name}"
        return None if value == "N/A" else value

    def _ask(self, field: str, ask: Callable[[Any], Any]) -> Any | None:
        reason = ""
        try:
            answer = ask(self._amdsmi)
        except AttributeError as error:
            answer, reason = None, f"this amdsmi lacks it ({error})"
        except self._amdsmi.AmdSmiException as error:
            answer, reason = None, f"amdsmi: {error}"
        if field and reason:
            self.reasons[field] = reason
        elif field:
            self.reasons.pop(field, None)
        return answer


def _temperature_of(amdsmi: Any, *, handle: Any, kind: Any, metric: Any) -> Any:
    return amdsmi.amdsmi_get_temp_metric(handle, kind, metric)


def _number(value: Any) -> Any:
    """A number, or None for "N/A" and for what is none."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
