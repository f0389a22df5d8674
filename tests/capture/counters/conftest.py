"""A machine that seems to have Nsight Compute."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def program(path: Path, script: Path) -> Path:
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def fake_ncu(tmp_path, monkeypatch):
    """`ncu` on the PATH; it and its program speak through a file of marks."""
    folder = tmp_path / "nsight"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_NCU_MARKS", str(tmp_path / "marks.txt"))
    return program(folder / "ncu", HERE / "fake_ncu.py")
