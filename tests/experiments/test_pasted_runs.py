"""The pasted code of every target and lever, run with the real torch.compile, as the capture was.

Both write down each graph that Inductor gets, with its options (`pasted_runs`): they are the same.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from profiler_core.capture.variant_spec import parse_variant
from profiler_core.experiments.levers import LEVERS
from profiler_core.experiments.machine import Machine

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]
CPU = min(os.sched_getaffinity(0))
OPTIONS = (
    "coordinate_descent_tuning=true+max_autotune_gemm=true+max_autotune_pointwise=true+"
    "combo_kernels=true+aggressive_fusion=true+epilogue_fusion=false+shape_padding=false+"
    "layout_optimization=false+conv_1x1_as_mm=true+permute_fusion=true+"
    "loop_ordering_after_fusion=false+reorder_for_peak_memory=false+triton.cudagraphs=true+"
    "triton.multi_kernel=1+cpp.enable_tiling_heuristics=false+freezing=true+"
    "reorder_for_compute_comm_overlap=true+bucket_all_gathers_fx=all+"
    "bucket_reduce_scatters_fx=all+bucket_all_reduces_fx=all"
)
DYNAMO = (
    "dynamo.capture_scalar_outputs=true+dynamo.capture_dynamic_output_shape_ops=true+"
    "dynamo.allow_unspec_int_on_nn_module=true+dynamo.recompile_limit=64+"
    "dynamo.automatic_dynamic_shapes=false"
)
# kind of step, variant, target of the experiment
CASES = [
    ("inference", "default+channels_last+threads=1+NCCL_MAX_CTAS=8+NCCL_MIN_CTAS=32", []),
    ("inference", f"default+{OPTIONS}", []),
    ("inference", "default+max_autotune_gemm=true+max_autotune_gemm_backends=TRITON", []),
    ("inference", f"default+{DYNAMO}+dynamic", ["blocks"]),
    ("inference", f"max-autotune-no-cudagraphs+cpus={CPU}+fullgraph", ["layers.*", "head"]),
    ("inference", "default+regions=nested+static+sdpa=flash", []),
    ("inference", "default+sdpa=cudnn", []),
    ("inference", "default+sdpa=efficient", []),
    ("with_loss", "max-autotune+combo_kernels=true", ["loss"]),
    ("with_loss", "default+tf32+sdpa=math", ["whole", "loss"]),
    ("loop", "reduce-overhead+optimizer=fused", []),
    ("loop", "default+fp16-autocast", []),
    ("loop", "default+dynamo.optimize_ddp=python_reducer+dynamo.compiled_autograd=true", []),
    ("loop", "default+bf16-autocast", ["loss", "optimizer"]),
    ("lightning", "default+target=blocks", []),
    ("lightning", "default+target=optimizer", []),
    ("lightning", "default", ["loss"]),
    ("step", "reduce-overhead+bf16-autocast", []),
    ("step_and_model", "default+channels_last", []),
    ("step_and_model", "default+bf16-autocast", ["blocks"]),
    ("step_and_model", "default", ["step"]),
    ("generating", "default", []),
    ("generating", "default+dynamic", ["step"]),
    ("own_generate", "default", ["step"]),
    ("decoding", "default+fp16-autocast", ["step"]),
    ("handed", "max-autotune+combo_kernels=true", []),
    ("handed", "default", ["as-is"]),
    ("compiles_itself", "max-autotune", ["as-is"]),
]  # fmt: skip
JOBS = [
    ("inference", "default+bucket_cap_mb=100", "DistributedDataParallel"),
    ("sharded", "default+prefetch=2", "FSDPModel"),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict, dict]]:
    """By case: what the capture compiled, and what its pasted code did."""
    folder = tmp_path_factory.mktemp("pasted")
    asked = [*CASES, *((kind, variant, ["of a job"]) for kind, variant, _ in JOBS)]
    (folder / "cases.json").write_text(json.dumps(asked))
    command = [sys.executable, "-m", "tests.experiments.pasted_runs", "cases.json", "out.json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    answers = json.loads((folder / "out.json").read_text())
    return {json.dumps(case): answer for case, answer in zip(asked, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[2]}-{case[1][:40]}")
def test_the_code_compiles_what_the_capture_of_it_compiled(answers, case):
    kind, variant, _ = case
    captured, pasted = answers[json.dumps(case)]
    for key in ("graphs", "error", "threads", "cpus", "tf32"):
        assert pasted[key] == captured[key], f"{key}\n{pasted['code']}\n{pasted.get('trace')}"
    assert captured["trains"] is (kind in ("with_loss", "loop", "lightning"))
    if variant in ("default+sdpa=cudnn", "default+sdpa=efficient"):  # a GPU's
        assert "RuntimeError when making fake tensor call" in pasted["error"]
    else:
        assert (bool(pasted["graphs"]), pasted["error"]) == (True, None)


@pytest.mark.parametrize(("kind", "variant", "wrapper"), JOBS)
def test_the_code_of_how_ranks_exchange_runs(answers, kind, variant, wrapper):
    _, pasted = answers[json.dumps((kind, variant, ["of a job"]))]
    assert (pasted["error"], pasted.get("wrapper")) == (None, wrapper)


def test_each_lever_is_run():
    """Every word that is of a kind of its own; of numbers one."""
    machine = Machine(True, True, "", {}, n_cores=1, first_threads=(CPU,), n_ranks=2)
    run = {word for _, variant, *_ in (*CASES, *JOBS) for word in words_of(variant)}
    for lever in LEVERS:
        words = lever.values(machine)
        is_number = all(word.rpartition("=")[2].isdigit() for word in words)
        assert (any if is_number else all)(set(w.split("+")) <= run for w in words), lever.name


def words_of(variant: str) -> list[str]:
    return parse_variant(variant).label.split("+")
