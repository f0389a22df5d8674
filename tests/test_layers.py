"""Who may import whom: one direction, and one home for each heavy library.

The two tables are the architecture; ARCHITECTURE.md shows them in words.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "profiler_core"

# Third-party library -> the places (relative to the checkout) that may import it.
HOMES = {
    "torch": ("profiler_core/capture/child/", "profiler_core/record/"),
    "torchvision": ("profiler_core/capture/child/",),
    "transformers": ("profiler_core/capture/child/",),
    "pynvml": ("profiler_core/capture/nvml.py",),
    "plotly": ("profiler_core/figures/", "profiler_core/report/"),
    "streamlit": ("profiler_core/ui/", "pages/", "app.py"),
    "starlette": ("profiler_core/ui/",),
    "sqlalchemy": ("profiler_core/store/history/",),
    "alembic": ("profiler_core/store/history/",),
    "fsspec": ("profiler_core/store/history/", "profiler_core/ranks/"),
    "distributed": ("profiler_core/ranks/cluster.py",),
    "hta": ("profiler_core/ranks/hta/",),
    "mcp": ("profiler_core/agents/serve.py",),
    "pandas": ("profiler_core/ranks/hta/", "profiler_core/ui/"),
}

# Stage -> the stages of profiler_core that it may import (itself always).
STAGES = {
    "capture": set(),
    "record": {"capture"},  # the user's own loop; what it uses imports nothing but torch
    "model": set(),
    "ingest": {"model"},
    "analysis": {"model"},
    "figures": {"model", "analysis"},
    "store": {"model", "ingest", "analysis", "ranks"},  # the history keeps headline numbers
    "timeline": {"model", "ingest", "analysis"},
    "ranks": {"model", "ingest", "analysis"},
    "export": {"model", "ingest", "analysis", "timeline"},
    "report": {"model", "ingest", "analysis", "figures", "store"},
    "agents": {"capture", "model", "ingest", "analysis", "store", "cli"},  # another way in
    "cli": {"capture", "model", "ingest", "analysis", "store", "ranks", "report"} | {"export"},
    "ui": {"capture", "model", "ingest", "analysis", "figures", "store", "timeline", "ranks"}
    | {"report"},
}

# Modules of the package's root that every stage may use: words, not work.
COMMON = {
    "errors",
    "units",
    "run_directory",
    "home",
    "resources",
    "settings",
    "spreadsheet",
    "person",
}


def _modules() -> list[Path]:
    folders = (PACKAGE, ROOT / "pages")
    return [*sorted(path for folder in folders for path in folder.rglob("*.py")), ROOT / "app.py"]


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", _modules(), ids=_relative)
def test_heavy_libraries_stay_at_home(path):
    for name in _imports(path):
        homes = HOMES.get(name.split(".")[0])
        if homes is not None:
            assert _relative(path).startswith(homes), f"{_relative(path)} imports {name}"


@pytest.mark.parametrize(
    "path", [p for p in _modules() if p.is_relative_to(PACKAGE)], ids=_relative
)
def test_stages_import_in_one_direction(path):
    parts = path.relative_to(PACKAGE).parts
    stage = parts[0] if len(parts) > 1 else None
    for name in _imports(path):
        words = name.split(".")
        if words[0] != "profiler_core" or len(words) < 2 or stage is None:
            continue
        target = words[1]
        if target in COMMON or target == stage or not (PACKAGE / target).is_dir():
            continue
        assert target in STAGES[stage], f"{_relative(path)}: {stage} imports {target}."


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "capture" / "child").glob("*.py")), ids=_relative
)
def test_the_child_needs_nothing_of_ours(path):
    """It runs in the user's environment, where this package is not installed."""
    allowed = {"torch", "torchvision", "transformers", *_standard_library()}
    siblings = {p.stem for p in path.parent.glob("*.py")}
    for name in _imports(path):
        root = name.split(".")[0]
        assert root in allowed | siblings, f"{_relative(path)} imports {name}"


def test_every_stage_is_in_the_table():
    folders = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert folders == set(STAGES)


def test_every_folder_is_a_package():
    """One without an __init__.py works in the checkout, and is missing from the wheel."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [_relative(f) for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


def test_modules_stay_small():
    for path in _modules():
        n_lines = len(path.read_text(encoding="utf-8").splitlines())
        assert n_lines <= 400, f"{_relative(path)} has {n_lines} lines; split it by question."


def _standard_library() -> set[str]:
    import sys

    return set(sys.stdlib_module_names)
