"""The table of mutants fits the code, and docs/mutants.md names each that survives."""

from pathlib import Path

from tests.mutants.table import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
ANALYSIS = ROOT / "profiler_core" / "analysis"


def test_what_a_mutant_replaces_stands_in_its_module_once():
    counts = {
        f"{mutant.module}: {mutant.rule}": (ANALYSIS / mutant.module)
        .read_text(encoding="utf-8")
        .count(mutant.old)
        for mutant in MUTANTS
    }
    assert {rule: n for rule, n in counts.items() if n != 1} == {}


def test_the_tests_that_are_to_notice_are_there():
    named = {ROOT / "tests" / "analysis" / name for mutant in MUTANTS for name in mutant.tests}
    assert [path for path in named if not path.exists()] == []


def test_survivors_are_explained():
    text = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    explained = [line for line in text.splitlines() if line.startswith("| `")]
    survivors = [
        f"| `{mutant.module}` | {mutant.rule} | {mutant.survives} |"
        for mutant in MUTANTS
        if mutant.survives
    ]
    assert explained == survivors
