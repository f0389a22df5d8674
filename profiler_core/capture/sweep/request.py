"""The sweep that a spec requests: the option and its values, as text.

`parameters.py` knows the options; this module knows none, so that `CaptureSpec` can hold a sweep.
"""

from dataclasses import dataclass

from profiler_core.errors import BadInput

_MOST_VALUES = 50  # each is a whole capture of a minute and more


@dataclass(frozen=True)
class Sweep:
    """One option with several values; a comparison is captured for each of them.

    `parameter` is a name of `parameters.PARAMETERS` or `option.KEY`; `values` are texts, all
    different, in the order in which they are captured.
    """

    parameter: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse fewer than two values, duplicates, and too many values."""
        twice = next((v for v in self.values if self.values.count(v) > 1), None)
        if twice is not None:
            raise BadInput(
                f"The sweep of {self.parameter} has the value '{twice}' twice.",
                remedy="Name each value once.",
            )
        if len(self.values) < 2:
            raise BadInput(
                f"A sweep of {self.parameter} needs at least two values.",
                remedy=f"Write it like --sweep {self.parameter}=1,8,32.",
            )
        if len(self.values) > _MOST_VALUES:
            raise BadInput(
                f"The sweep of {self.parameter} has {len(self.values)} values.",
                remedy=f"Each of them is a whole capture: name {_MOST_VALUES} at most.",
            )

    @property
    def text(self) -> str:
        """As on the command line; `parse_sweep` reads it back."""
        return f"{self.parameter}={','.join(self.values)}"


def parse_sweep(text: str) -> Sweep:
    """Read `batch-size=1,8,32,128`.

    Raises:
        BadInput: no `=`, or fewer than two values.
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise BadInput(
            f"Sweep '{text}' cannot be read.", remedy="Write it like batch-size=1,8,32,128."
        )
    parts = tuple(part.strip() for part in values.split(",") if part.strip())
    return Sweep(_canonical(name), parts)


def _canonical(name: str) -> str:
    """The canonical name: `batch` and `batch_size` are `batch-size`; `option.KEY` keeps its KEY."""
    from profiler_core.capture.sweep.parameters import ALIASES  # which sets fields of a spec

    head, dot, key = name.strip().partition(".")
    parameter = head.lower().replace("_", "-")
    if parameter == "options":
        parameter = "option"
    return ALIASES.get(parameter, parameter) + dot + key
