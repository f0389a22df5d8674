"""What a Recorder imports runs on Python 3.8; nothing in it is evaluated too early there."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = ("profiler_core", "fusionscope.integrations")


def imported(module: str) -> set[str]:
    """The module's own imports of ours, those inside of functions too."""
    path = path_of(module)
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*module.split(".")[: -node.level], *filter(None, [base])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        found |= {name for name in names if name.startswith(OURS) and path_of(name)}
    return found


def path_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def everything() -> list[str]:
    trainers = (ROOT / "fusionscope" / "integrations").glob("*.py")
    found = set()
    new = {"profiler_core.record", "fusionscope"}
    new |= {f"fusionscope.integrations.{path.stem}" for path in trainers}
    new = {name.removesuffix(".__init__") for name in new}
    while new:
        found |= new
        named = {name for module in new for name in imported(module)}
        parents = {name.rpartition(".")[0] for name in named} - {""}
        new = (named | parents) - found
    return sorted(found)


MODULES = everything()


def test_it_is_all_of_the_recorder():
    files = (ROOT / "profiler_core" / "record").rglob("*.py")
    own = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files}
    names = {name.removesuffix(".__init__") for name in own if ".importable" not in name}
    assert names <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_it_parses_as_python_3_8(module):
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"), feature_version=(3, 8))
    newer = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("removeprefix", "removesuffix", "is_relative_to", "bit_count", "UTC")
    ]
    assert newer == []


@pytest.mark.parametrize("module", MODULES)
def test_new_annotations_are_not_evaluated(module):
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    has_future = any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    )
    annotated = [node for node in ast.walk(tree) if isinstance(node, (ast.arg, ast.AnnAssign))]
    evaluated = {
        type(node.annotation).__name__ for node in annotated if node.annotation is not None
    }
    assert has_future or evaluated <= {"Name"}
