"""Is torch.compile worth it for a model, what did it do, and what holds it back: from Python.

    import fusionscope

    comparison = fusionscope.capture(model, inputs)        # eager against compiled, measured
    comparison                                             # in a notebook: verdict and pictures
    comparison.leading.step_time.ratio                     # 2.05: times as fast
    comparison.table("kernels").to_pandas()
    comparison.report("report.html")

What stands here is imported when it is first asked for: `import fusionscope` imports neither torch
nor polars. docs/python.md lists it all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from profiler_core import __version__

if TYPE_CHECKING:
    from fusionscope.capturing import capture
    from fusionscope.opening import compare, open, sample  # noqa: A004
    from fusionscope.results import Comparison, Pair, Run
    from fusionscope.trying import Experiment, try_
    from profiler_core.errors import FusionscopeError

__all__ = [
    "Comparison",
    "Experiment",
    "FusionscopeError",
    "Pair",
    "Run",
    "__version__",
    "capture",
    "compare",
    "open",
    "sample",
    "try_",
]

# Name -> the module that has it.
_HOMES = {
    "Comparison": "fusionscope.results",
    "FusionscopeError": "profiler_core.errors",
    "Pair": "fusionscope.results",
    "Run": "fusionscope.results",
    "Experiment": "fusionscope.trying",
    "capture": "fusionscope.capturing",
    "try_": "fusionscope.trying",
    "compare": "fusionscope.opening",
    "open": "fusionscope.opening",
    "sample": "fusionscope.opening",
}


def __getattr__(name: str) -> Any:
    """What is asked for, imported at this moment."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'fusionscope' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext fusionscope`: the cell magic `%%compiled`."""
    from fusionscope.notebook import load

    load(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
