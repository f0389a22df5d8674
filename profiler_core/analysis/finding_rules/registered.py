"""The modules of this package with RULES: they are found by being there."""

import importlib
import pkgutil

from profiler_core.analysis import finding_rules
from profiler_core.analysis.finding_rules.facts import Rule

_LAST = 1_000


def rules() -> tuple[Rule, ...]:
    """Of all modules, in the order of their places."""
    names = sorted(module.name for module in pkgutil.iter_modules(finding_rules.__path__))
    modules = [importlib.import_module(f"{finding_rules.__name__}.{name}") for name in names]
    modules.sort(key=lambda module: getattr(module, "PLACE", _LAST))
    return tuple(rule for module in modules for rule in getattr(module, "RULES", ()))
