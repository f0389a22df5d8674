"""The spec of a capture from the plain JSON that `CaptureSpec.to_dict` makes of it."""

from collections.abc import Mapping
from typing import Any

from profiler_core.capture.option import declared
from profiler_core.capture.spec import CaptureSpec, Sweep, parse_variants
from profiler_core.errors import BadInput


def recorded_spec(plain: Mapping[str, Any]) -> CaptureSpec | None:
    """The inverse of `to_dict`; None where another version wrote what this one cannot read."""
    values = {name: _as_tuples(plain[name]) for name in declared(CaptureSpec) if name in plain}
    try:
        values["variants"] = parse_variants(",".join(values["variants"]))
        if values.get("sweep") is not None:
            values["sweep"] = Sweep(
                **{name: _as_tuples(value) for name, value in values["sweep"].items()}
            )
        return CaptureSpec(**values)
    except (TypeError, KeyError, AttributeError, BadInput):
        return None


def _as_tuples(value: Any) -> Any:
    """JSON has lists where a spec has tuples."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value
