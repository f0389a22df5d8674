"""The pasted code launches the kernels that its capture launched, on the GPU, name by name.

Each runs in a process of its own, counted by torch.profiler. Modes that choose kernels by timing
them (max-autotune) may choose differently in two processes, and are not among these.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.torch, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
# kind of step (`own_steps`), variant, target of the experiment
CASES = [
    ("inference", "default", []),
    ("inference", "default+channels_last", []),
    ("inference", "default+regions=nested+static+sdpa=flash+bf16-autocast", []),
    ("inference", "default+sdpa=efficient", []),
    ("inference", "reduce-overhead", []),
    ("inference", "default+dynamo.capture_scalar_outputs=true+dynamic", ["blocks"]),
    ("with_loss", "default+combo_kernels=true", ["loss"]),
    ("with_loss", "default+tf32+sdpa=math", ["whole", "loss"]),
    ("with_loss", "reduce-overhead", []),
    ("loop", "reduce-overhead+optimizer=fused", []),
    ("loop", "default+fp16-autocast", []),
    ("loop", "default+bf16-autocast", ["loss", "optimizer"]),
    ("lightning", "default+target=blocks", []),
    ("lightning", "default+target=optimizer", []),
    ("lightning", "default", ["loss"]),
    ("step", "default", []),
    ("step_and_model", "default+channels_last", []),
    ("step_and_model", "default+bf16-autocast", ["blocks"]),
    ("step_and_model", "default", ["step"]),
    ("generating", "default", []),
    ("own_generate", "default", ["step"]),
    ("own_generate", "reduce-overhead", []),
    ("decoding", "default+fp16-autocast", ["step"]),
    ("decoding", "reduce-overhead", ["step"]),
    ("handed", "default+combo_kernels=true", []),
    ("handed", "default", ["as-is"]),
    ("compiles_itself", "default", ["as-is"]),
]  # fmt: skip


def _answer(case: list, out: Path) -> dict:
    """What both launched; or the error of the one that failed."""
    for what in ("captured", "pasted"):
        run = subprocess.run(
            [sys.executable, "-m", "tests.experiments.pasted_kernels", what, json.dumps(case), out],
            cwd=ROOT, text=True, capture_output=True, check=False,
        )  # fmt: skip
        if run.returncode:
            return {"error": f"{what}: {run.stderr[-3000:]}"}
    return json.loads(out.read_text())


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[str, dict]:
    """By case; nothing of it is timed, so several run at once."""
    folder = tmp_path_factory.mktemp("pasted")
    outs = [folder / f"{number}.json" for number in range(len(CASES))]
    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)) // 2)) as pool:
        answers = pool.map(_answer, CASES, outs)
    return {json.dumps(case): answer for case, answer in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[1][:40]}")
def test_the_code_launches_what_the_capture_of_it_launched(case, answers):
    answer = answers[json.dumps(case)]
    assert "error" not in answer, answer["error"]
    assert answer["captured"]
    assert answer["pasted"] == answer["captured"], answer["code"]
