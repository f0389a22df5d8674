"""Which backends of torch.compile an interpreter has, those of other packages one by one."""

from typing import Any

from profiler_core.capture.child.backends import declared
from profiler_core.cli.diagnosis.finding import Finding

_HIDDEN = ("TESTING_ONLY", "minifier", "debug", "crossref", "_ts", "with_mode")
_N_OPTIONS = 4  # named in a line of the table; docs/backends.md has all


def backends(facts: dict[str, Any]) -> list[Finding]:
    """What `torch.compile(backend=…)` takes there, then each backend that needs a package.

    Args:
        facts: of the probe, asked with its backends.
    """
    engines: dict[str, dict[str, str | None]] = facts.get("engines") or {}
    absent = {name for name, engine in engines.items() if engine["problem"] is not None}
    names = [name for name in facts["backends"] if not any(word in name for word in _HIDDEN)]
    offered = [name for name in names if _family(name) not in absent]
    return [
        Finding("backends", "yes", ", ".join(offered)),
        *(_engine(name, engine) for name, engine in engines.items()),
    ]


def _family(name: str) -> str:
    """The backend that a name is an alias of: one line is about all of its names."""
    backend = declared(name)
    return name if backend is None else backend.name


def _engine(name: str, engine: dict[str, str | None]) -> Finding:
    question, key = f"backend {name}", f"backend_{name}"
    if engine["problem"] is not None:
        why = engine["problem"] or "not installed"
        return Finding(question, "no", why, f"Install {engine['install']}.", key=key)
    backend = declared(name)
    options = backend.options[:_N_OPTIONS] if backend is not None else ()
    takes = ", ".join(option.key.rstrip(".") for option in options)
    detail = engine["version"] or "version unknown"
    return Finding(question, "yes", f"{detail}, options: {takes}" if takes else detail, key=key)
