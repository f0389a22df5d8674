"""The child runs on every Python that torch 2.1 runs on, from 3.8 on."""

import ast
from pathlib import Path

import pytest

CHILD = Path(__file__).resolve().parents[2] / "profiler_core" / "capture" / "child"


@pytest.mark.parametrize("path", sorted(CHILD.rglob("*.py")), ids=lambda path: path.name)
def test_it_parses_as_python_3_8(path):
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", sorted(CHILD.rglob("*.py")), ids=lambda path: path.name)
def test_new_annotations_are_not_evaluated(path):
    """`list[int]` as an annotation needs the future import on 3.8; everything else is typing's."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    has_future = any(
        isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
    )
    builtin_generics = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"list", "dict", "tuple", "set", "type"}
    ]
    assert has_future or not builtin_generics
