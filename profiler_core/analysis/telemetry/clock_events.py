"""Bits of NVML's clocks event reasons in words, and which of them make a run an unfair one.

Source: nvml.h, group nvmlClocksEventReasons (called nvmlClocksThrottleReasons up to 12.1); the
names of bits 0x200 and 0x400 as in nvidia-ml-py 13.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["idle", "setting", "power", "thermal", "hardware", "unknown"]

# Kinds that slow one variant down and not the other, without anybody having asked for it.
THROTTLING: tuple[Kind, ...] = ("power", "thermal", "hardware")
# A bit is set in single samples whenever clocks change; from this share on it is the run's state.
MOST_SHARE = 0.05


@dataclass(frozen=True)
class ClockReason:
    """One bit."""

    bit: int
    name: str  # NVML's, without its prefix
    kind: Kind
    words: str


REASONS: tuple[ClockReason, ...] = (
    ClockReason(0x001, "GpuIdle", "idle", "nothing ran on the GPU"),
    ClockReason(
        0x002, "ApplicationsClocksSetting", "setting", "held at the application clocks that are set"
    ),
    ClockReason(0x004, "SwPowerCap", "power", "held back to stay below the power limit"),
    ClockReason(
        0x008,
        "HwSlowdown",
        "hardware",
        "halved by the hardware: too hot, power brake, or too much power drawn at once",
    ),
    ClockReason(0x010, "SyncBoost", "setting", "held at the slowest GPU of its sync boost group"),
    ClockReason(0x020, "SwThermalSlowdown", "thermal", "held back because the GPU is too hot"),
    ClockReason(
        0x040, "HwThermalSlowdown", "thermal", "halved by the hardware because the GPU is too hot"
    ),
    ClockReason(
        0x080, "HwPowerBrakeSlowdown", "power", "halved by the power brake of the power supply"
    ),
    ClockReason(0x100, "DisplayClockSetting", "setting", "held at the clocks of a display"),
    ClockReason(0x200, "BoardLimit", "power", "held back by a limit of the board"),
    ClockReason(0x400, "Reliability", "hardware", "held back to keep the voltage reliable"),
)


@dataclass(frozen=True)
class ClockEvent:
    """A reason with the share of samples that had it.

    rank: of a job, whose GPU had it in the largest share of its samples.
    """

    name: str
    kind: Kind
    words: str
    share: float
    rank: int | None = None

    @property
    def is_lasting(self) -> bool:
        """In more samples than those in which clocks change."""
        return self.share >= MOST_SHARE

    @property
    def is_throttling(self) -> bool:
        """It slowed this run down for long enough to count."""
        return self.kind in THROTTLING and self.is_lasting


def clock_events(masks: Sequence[int]) -> tuple[ClockEvent, ...]:
    """Reasons that were met, the most frequent first; a bit without a name is kept by its value."""
    if not masks:
        return ()
    reason_of_bit = {reason.bit: reason for reason in REASONS}
    bits = sorted({1 << n for mask in masks for n in range(mask.bit_length()) if mask >> n & 1})
    events = []
    for bit in bits:
        reason = reason_of_bit.get(bit) or ClockReason(
            bit, f"0x{bit:x}", "unknown", "held back for a reason that has no name here"
        )
        share = sum(1 for mask in masks if mask & bit) / len(masks)
        events.append(ClockEvent(reason.name, reason.kind, reason.words, share))
    return tuple(sorted(events, key=lambda event: -event.share))
