"""Homes of their own, and jobs whose traces are small."""

import gzip
import json

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSIONSCOPE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def a_trace_file():
    """Writes a small Kineto trace: one step of 100 µs, `compute` µs, then an all-reduce."""

    def write(path, rank=None, world=2, compute=40, wait=20, packed=True):
        info = {} if rank is None else {
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}
        }  # fmt: skip
        nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        events = [
            _event("user_annotation", "ProfilerStep#1", 0, 100, 1, 1),
            _event("cuda_runtime", "cudaLaunchKernel", 1, 1, 1, 1, correlation=1),
            _event("cpu_op", "record_param_comms", 3, 3, 1, 1, **{
                "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                "Out msg nelems": 1000, "Group size": world, "Process Group Name": "0",
                "Process Group Ranks": str(list(range(world)))}),
            _event("cuda_runtime", "cudaLaunchKernelExC", 4, 1, 1, 1, correlation=2),
            _event("kernel", "a_kernel", 5, compute, 0, 7, correlation=1, stream=7, device=0),
            _event("kernel", nccl, 5 + compute, 10 + wait, 0, 13, correlation=2, stream=13,
                   device=0),
        ]  # fmt: skip
        text = json.dumps({"schemaVersion": 1, **info, "traceEvents": events}).encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text) if packed else text)
        return path

    return write


@pytest.fixture
def a_run_of_a_rank(a_trace_file):
    """Writes the run directory of one rank, as a Recorder under torchrun leaves it."""

    def write(path, rank, world=2, variant="eager", workload="mine", capture_id="", trace=True):
        if trace:
            a_trace_file(path / "trace.json.gz", rank=rank, world=world, wait=20 - 10 * rank)
        path.mkdir(parents=True, exist_ok=True)
        record = {
            "schema_version": 1, "run_id": f"{path.name}", "capture_id": capture_id, "rank": rank,
            "world_size": world, "workload": workload, "variant": variant,
        }  # fmt: skip
        (path / "run.json").write_text(json.dumps(record))
        return path

    return write


def _event(cat, name, ts, dur, pid, tid, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid,
            "args": args}  # fmt: skip
