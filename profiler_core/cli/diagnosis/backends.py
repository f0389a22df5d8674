"""Which backends of torch.compile an interpreter has, those of other packages one by one."""

from typing import Any

from profiler_core.capture.backend_options import OPTIONS
from profiler_core.cli.diagnosis.finding import Finding

_HIDDEN = ("TESTING_ONLY", "minifier", "debug", "crossref", "_ts", "with_mode")
# Said with the backend of its family.
_ALIASES = {"openxla_eval": "openxla", "torch_tensorrt": "tensorrt"}


def backends(facts: dict[str, Any]) -> list[Finding]:
    """What `torch.compile(backend=…)` takes there, then each backend that needs a package.

    Args:
        facts: of the probe, asked with its backends.
    """
    engines: dict[str, dict[str, str | None]] = facts.get("engines") or {}
    absent = {name for name, found in engines.items() if found["problem"] is not None}
    names = [name for name in facts["backends"] if not any(word in name for word in _HIDDEN)]
    offered = [name for name in names if _ALIASES.get(name, name) not in absent]
    return [
        Finding("backends", "yes", ", ".join(offered)),
        *(_engine(name, found) for name, found in engines.items()),
    ]


def _engine(name: str, found: dict[str, str | None]) -> Finding:
    what, key = f"backend {name}", f"backend_{name}"
    if found["problem"] is not None:
        why = found["problem"] or "not installed"
        return Finding(what, "no", why, f"Install {found['install']}.", key=key)
    takes = ", ".join(option.key.rstrip(".") for option in OPTIONS.get(name, ())[:4])
    detail = found["version"] or "version unknown"
    return Finding(what, "yes", f"{detail}, options: {takes}" if takes else detail, key=key)
