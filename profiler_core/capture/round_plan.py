"""How many rounds, and how long each: the same for captures and for the Recorder.

Standard library only, for the Recorder runs on Python 3.8 (see `profiler_core/record`).
"""

from __future__ import annotations

from dataclasses import dataclass

# The whole of the timing is capped at two minutes per variant, never under 10 rounds.
TIMING_CAP_SECONDS = 120.0
LEAST_ROUNDS = 10
DEFAULT_ROUNDS = 20
DEFAULT_ROUND_STEPS = 10
DEFAULT_ROUND_SECONDS = 0.1
# On a CPU, where a step takes long, less timing is enough.
CPU_CAP_SECONDS = 10.0
# NVML's utilisation is an average over 1/6 to 1 s: shorter than this says nothing.
DEFAULT_TELEMETRY_SECONDS = 3.0


@dataclass(frozen=True)
class RoundPlan:
    """`rounds` turns, capped in time, never under `least`.

    The cap is for each variant: with n variants the whole may take n times as long.
    """

    rounds: int
    cap_seconds: float = TIMING_CAP_SECONDS
    least: int = LEAST_ROUNDS

    def is_enough(self, n_turns: int, n_variants: int, elapsed_seconds: float) -> bool:
        """Whether timing stops after `n_turns` whole turns."""
        if n_turns >= self.rounds:
            return True
        return n_turns >= self.least and elapsed_seconds >= self.cap_seconds * n_variants


def steps_per_round(step_ns: int, least_steps: int, least_seconds: float, cycle: int) -> int:
    """At least so many steps and so many seconds, in whole cycles of input shapes."""
    for_time = -int(-least_seconds * 1e9 // max(step_ns, 1))
    steps = max(least_steps, for_time, 1)
    return steps + -steps % cycle
