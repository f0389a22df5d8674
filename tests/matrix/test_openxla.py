"""openxla for real, on the CPU, in an environment of its own: captured beside eager, compared.

The last torch_xla is 2.9 and wants that torch; its wheel is on PyPI, for Linux.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.matrix.environments import ROOT, NotPossible, Wanted, environment, folder

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(3600)]

XLA = Wanted(
    "xla",
    ("torch==2.9.0", "torch_xla==2.9.0", "numpy"),
    ("3.11", "3.12", "3.13", "3.10"),
)
_SHORT = ("--device=cpu", "--rounds=3", "--round-seconds=0", "--steps=3")
_CASES = {
    "inference": ("customcnn", "--option=size=64"),
    "training": ("customcnn", "--option=size=64", "--training"),
    "breaks": ("breaky",),
}


@pytest.fixture(scope="module")
def python():
    try:
        return environment(XLA).python
    except NotPossible as problem:
        pytest.fail(str(problem))


def said(home, *words):
    """The JSON of one command of ours, typed as a user would."""
    done = subprocess.run(
        [sys.executable, "-m", "profiler_core", *words, "--json"],
        cwd=ROOT,
        env={**os.environ, "FUSIONSCOPE_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answers(python):
    """(capture, comparison of its runs) of each case."""
    place = folder() / "trial-xla"
    shutil.rmtree(place, ignore_errors=True)
    found = {}
    for name, words in _CASES.items():
        captured = said(
            place / "home", "capture", *words, "--variants", "eager,openxla",
            "--python", str(python), *_SHORT, "--out", str(place / name),
        )  # fmt: skip
        runs = {run["variant"]: run for run in captured["runs"]}
        paths = [runs[variant]["directory"] for variant in ("eager", "openxla")]
        found[name] = runs, said(place / "home", "compare", *paths)["candidates"][0]
    return found


def test_doctor_finds_it(python, tmp_path):
    findings = {
        one["what"]: one for one in said(tmp_path, "doctor", "--python", str(python))["findings"]
    }
    assert findings["backend openxla"]["state"] == "yes"
    assert findings["backend openxla"]["detail"].startswith("2.9.0")


@pytest.mark.parametrize("case", _CASES)
def test_both_finish_and_compare_on_the_unprofiled_clock(answers, case):
    runs, compared = answers[case]
    assert {run["status"] for run in runs.values()} == {"finished"}
    assert compared["step_time"]["clock"] == "unprofiled"
    assert compared["compile"]["source"] == "first call"


@pytest.mark.parametrize("case", _CASES)
def test_the_answer_is_right(answers, case):
    numerics = answers[case][1]["numerics"]
    assert numerics["verdict"] == "right", numerics["reason"]


@pytest.mark.parametrize("case", ["inference", "training"])
def test_the_engine_is_opaque_groups_of_the_ledger(answers, case):
    fusion = answers[case][1]["fusion"]
    assert fusion["coverage_baseline"] > 0.99
    assert fusion["coverage_candidate"] > 0.95
    engine = [
        group
        for group in fusion["groups"]
        if any(kernel["name"] == "engine::openxla" for kernel in group["candidate_kernels"])
    ]
    replaced = {one["op"] for group in engine for one in group["baseline_ops"]}
    assert "aten::conv2d" in replaced
    if case == "training":
        assert "aten::convolution_backward" in replaced


def test_graph_breaks_are_seen_as_in_any_other_run(answers):
    directory = answers["breaks"][0]["openxla"]["directory"]
    breaks = said(folder() / "trial-xla" / "home", "logs", directory)["graph_breaks"]
    assert {one["kind"] for one in breaks} >= {"tensor_item", "print"}
    assert all(one["file"].endswith("models.py") for one in breaks)
