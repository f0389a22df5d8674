"""What a Recorder is asked to measure, and over how many steps."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Optional

from profiler_core.capture import round_plan
from profiler_core.errors import BadInput


@dataclass(frozen=True)
class Plan:
    """The options of `Recorder`, named as those of `fusionscope capture`.

    None for the warm-up's floor and ceiling: by the device, and fixed for several ranks.
    """

    skip_steps: int = 0
    warm_up_floor: Optional[int] = None
    warm_up_ceiling: Optional[int] = None
    rounds: int = round_plan.DEFAULT_ROUNDS
    round_steps: int = round_plan.DEFAULT_ROUND_STEPS
    round_seconds: float = round_plan.DEFAULT_ROUND_SECONDS
    telemetry_seconds: float = round_plan.DEFAULT_TELEMETRY_SECONDS
    profile: bool = True
    graphs: bool = False
    profile_wait: int = 1
    profile_warmup: int = 2
    steps: int = 5
    stacks: bool = False
    memory_snapshot: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be measured, before the loop begins."""
        for name, least in (
            ("skip_steps", 0),
            ("warm_up_floor", 1),
            ("warm_up_ceiling", 1),
            ("rounds", 0),
            ("round_steps", 1),
            ("round_seconds", 0),
            ("telemetry_seconds", 0),
            ("profile_wait", 0),
            ("profile_warmup", 0),
            ("steps", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise BadInput(
                    "Recorder({}={}) is too small.".format(name, value),
                    remedy="Pass {} or more.".format(least),
                )
        floor, ceiling = self.warm_up_floor, self.warm_up_ceiling
        if floor is not None and ceiling is not None and floor > ceiling:
            raise BadInput(
                "The warm-up's floor {} lies above its ceiling {}.".format(floor, ceiling),
                remedy="Pass warm_up_floor <= warm_up_ceiling.",
            )

    def to_dict(self) -> Dict[str, Any]:
        """Plain JSON, for `spec` of run.json."""
        return asdict(self)
