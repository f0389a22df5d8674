"""What the numerics say about models that are compiled rightly, and about planted faults.

    python -m benchmarks.numerics_models [--device cuda] [--only NAME…] [--processes 4] [--out FILE]

Every model of clean_models.py, in inference and in training, and every fault of
tests/capture/workloads/faults.py, is compiled by Inductor and judged as `capture` judges. A clean
model called wrong, or a fault called right, is an error of the check. Needs torch alone beside the
models' libraries. The table is docs/numerics.md's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CLEAN = ROOT / "benchmarks" / "clean_models.py"
FAULTS = ROOT / "tests" / "capture" / "workloads" / "faults.py"

# Function, fault, in training?
PLANTED = (
    *(("autoencoder", fault, training) for fault in ("sign", "scale", "no noise")
      for training in (False, True)),
    *(("layers", fault, False) for fault in ("sign", "scale", "wrong constant", "swapped layer")),
    *(("layers", fault, True) for fault in (
        "sign", "scale", "wrong constant", "swapped layer", "dropped dropout", "stale buffer")),
    ("cache", "off by one", False),
    ("wrong_gradient", "", True),
    ("stale_weights", "stale", True),
)  # fmt: skip


def main() -> None:
    """Judge, and print a line for each case and the errors of the check at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="*", help="cases whose name holds one of these")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--out", type=Path, help="append each answer here, a JSON line")
    parser.add_argument("--share", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.share is None and arguments.processes > 1:
        _in_shares(arguments.processes)
        return
    part, of = map(int, (arguments.share or "0/1").split("/"))
    cases = [
        case
        for case in _cases()
        if not arguments.only or any(text in case["name"] for text in arguments.only)
    ]
    n_errors = 0
    for case in cases[part::of]:
        started = time.perf_counter()
        answer = _judged(case, arguments.device, arguments.precision, arguments.mode)
        is_error = answer["verdict"] == ("right" if case["fault"] else "wrong")
        n_errors += is_error
        line = {
            **case, **answer, "precision": arguments.precision, "mode": arguments.mode,
            "is_error": is_error, "seconds": round(time.perf_counter() - started, 1),
        }  # fmt: skip
        print(
            f"{case['name']}: {answer['verdict']}, error {answer.get('rms_error')}, "
            f"tolerance {answer.get('tolerance')}, {answer.get('reference')}, "
            f"{line['seconds']} s {answer['reason']}{'  <-- ERROR' if is_error else ''}",
            flush=True,
        )
        if arguments.out:
            with arguments.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
    print(f"share {part}/{of}: {n_errors} errors of {len(cases[part::of])}", flush=True)


def _in_shares(n_processes: int) -> None:
    """The cases dealt to processes, each with a compiler cache of its own."""
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "benchmarks.numerics_models", *sys.argv[1:]),
                f"--share={part}/{n_processes}",
            ],
            cwd=ROOT,
            env={
                **os.environ,
                "TORCHINDUCTOR_CACHE_DIR": tempfile.mkdtemp(),
                "TORCHINDUCTOR_COMPILE_THREADS": "2",
                "OMP_NUM_THREADS": "2",
            },
        )
        for part in range(n_processes)
    ]
    for process in processes:
        process.wait()


def _cases() -> Iterator[dict[str, Any]]:
    from benchmarks.clean_models import NAMES

    for training in (False, True):
        for name in NAMES:
            yield {
                "name": f"{name}{', training' if training else ''}", "fault": "",
                "workload": f"{CLEAN}:model", "options": {"name": name}, "training": training,
            }  # fmt: skip
    for function, fault, training in PLANTED:
        yield {
            "name": f"fault:{function} {fault}{', training' if training else ''}",
            "fault": fault or function, "workload": f"{FAULTS}:{function}",
            "options": {"fault": fault} if fault else {}, "training": training,
        }  # fmt: skip


def _judged(case: dict[str, Any], device: str, precision: str, mode: str) -> dict[str, Any]:
    import torch

    from profiler_core.capture.child import numerics, variants, workloads

    fields = {
        "compile": False, "mode": None, "backend": None, "torchscript": False, "dynamic": None,
        "fullgraph": False, "precision": precision, "channels_last": False,
    }  # fmt: skip
    eager = variants.variant_from(fields)
    torch.compiler.reset()
    request = workloads.Request(
        case["workload"], None, (), case["options"], case["training"], seed=0
    )
    bench = numerics.Bench(request, torch.device(device))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "reference.pt")
        try:
            numerics.make_reference(bench, eager, path)
            return numerics.compare(bench, eager._replace(compile=True, mode=mode), path, None)
        except Exception as error:  # a library without this model, say: the line tells
            return {"verdict": "did not run", "reason": f"{type(error).__name__}: {error}"[:300]}


if __name__ == "__main__":
    main()
