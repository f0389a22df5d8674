"""Record the judge's own pairs on a CPU: eager and compiled, two profiled steps each.

    python -m tests.analysis.ledger.judge.make_pairs FOLDER [NAME…]

Makes FOLDER/NAME.eager and FOLDER/NAME.default, each with a trace, the latter with a structured log
that holds only what the ledger and its judge read. Two minutes on two cores.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch._inductor.config

from tests.analysis.ledger.judge.workloads import WORKLOADS

_KEPT_RECORDS = (
    "dynamo_output_graph", "aot_forward_graph", "aot_backward_graph", "aot_inference_graph",
    "inductor_post_grad_graph", "inductor_output_code",
    "inductor_provenance_tracking_node_mappings",
    "inductor_provenance_tracking_kernel_stack_traces",
)  # fmt: skip
_KEPT_EVENTS = ("cpu_op", "user_annotation")


def main() -> None:
    """Record every pair in a process for each side."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(WORKLOADS)
    if os.environ.get("LEDGER_PAIR"):
        _record(names[0], folder, compiled=os.environ["LEDGER_PAIR"] == "default")
        return
    for name in names:
        for variant in ("eager", "default"):
            target = folder / f"{name}.{variant}"
            target.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as logs:
                log = {"TORCH_TRACE": logs, "INDUCTOR_PROVENANCE": "1"}
                env = {**os.environ, "LEDGER_PAIR": variant, **(log if variant != "eager" else {})}
                command = [sys.executable, "-m", "tests.analysis.ledger.judge.make_pairs"]
                subprocess.run([*command, str(target), name], env=env, check=True)
                for path in Path(logs).glob("*.log"):
                    cut_log(path, target / "torch_trace.log.gz")


def _record(name: str, target: Path, compiled: bool) -> None:
    torch.manual_seed(0)
    torch._inductor.config.cpp.enable_kernel_profile = True  # C++ kernels in the trace
    torch.set_num_threads(1)
    step = WORKLOADS[name](torch.compile if compiled else lambda model: model)
    for _ in range(3):
        step()
    raw = target / "raw.json"
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(raw)),
        record_shapes=True,
    ) as profiler:
        for _ in range(3):
            step()
            profiler.step()
    document = json.loads(raw.read_text())
    raw.unlink()
    kept = {
        "schemaVersion": document["schemaVersion"],
        "baseTimeNanoseconds": document.get("baseTimeNanoseconds", 0),
        "traceEvents": [e for e in document["traceEvents"] if e.get("cat") in _KEPT_EVENTS],
    }
    with gzip.GzipFile(target / "trace.json.gz", "wb", mtime=0) as out:
        out.write(json.dumps(kept, separators=(",", ":")).encode())


def cut_log(source: Path, target: Path) -> None:
    """The records that the ledger reads, in their order."""
    keep = False
    with source.open() as lines, gzip.GzipFile(target, "wb", mtime=0) as out:
        for line in lines:
            if not line.startswith("\t"):
                head = line[line.find("{") :]
                keep = any(f'"{kind}"' in head[:400] for kind in _KEPT_RECORDS)
            if keep:
                out.write(line.encode())


if __name__ == "__main__":
    main()
