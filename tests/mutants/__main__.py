"""Run the mutants; `python -m tests.mutants WORD …` those with a WORD in their module or rule."""

import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.table import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
_N_COPIES = 2
_SECONDS = 300  # a mutant that makes a test hang counts as killed
_OK, _TESTS_FAILED = 0, 1  # exit statuses of pytest


def main(words: list[str]) -> int:
    """Print a line for each mutant; 1 where one did otherwise than the table says."""
    chosen = [
        mutant
        for mutant in MUTANTS
        if not words or any(word in f"{mutant.module} {mutant.rule}" for word in words)
    ]
    unexpected = 0
    with tempfile.TemporaryDirectory() as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(_N_COPIES):
            copies.put(_copy(Path(scratch) / str(number)))
        with ThreadPoolExecutor(_N_COPIES) as pool:
            for mutant, answer in zip(
                chosen, pool.map(lambda mutant: _outcome(mutant, copies), chosen), strict=True
            ):
                expected = "survived" if mutant.survives else "killed"
                unexpected += answer != expected
                mark = "" if answer == expected else f"   EXPECTED: {expected}"
                print(f"{answer:<9} {mutant.module}: {mutant.rule}{mark}", flush=True)
    print(f"{len(chosen)} mutants, {unexpected} not as the table says")
    return int(unexpected > 0)


def _copy(folder: Path) -> Path:
    """The code and its tests, which a mutant may change without anybody seeing it."""
    ignored = shutil.ignore_patterns("__pycache__", "actual", "screenshots")
    for name in ("profiler_core", "tests", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / "sample_traces").symlink_to(ROOT / "sample_traces")
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    return folder


def _outcome(mutant: Mutant, copies: SimpleQueue[Path]) -> str:
    folder = copies.get()
    path = folder / "profiler_core" / "analysis" / mutant.module
    whole = path.read_text(encoding="utf-8")
    try:
        if whole.count(mutant.old) != 1:
            return "missing"  # the table is out of date
        path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
        return _answer_of_tests(folder, mutant.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
        copies.put(folder)


def _answer_of_tests(folder: Path, tests: tuple[str, ...]) -> str:
    command = [
        sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider",
        "-m", "not gpu and not browser and not matrix and not torch",
        *(f"tests/analysis/{name}" for name in tests),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return "killed"
    return {_OK: "survived", _TESTS_FAILED: "killed"}.get(done.returncode, "broken")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
