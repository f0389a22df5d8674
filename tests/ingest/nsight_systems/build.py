"""Made-up exports of Nsight Systems in the tables and columns of real ones.

The columns are those of public files, looked at in 2026: of 2020 (quasiben/nvtx-examples,
cudf.sqlite), of 2022.2.1, schema 2.9.1 (hpcgroup/pipit, saxpy-mpi-cuda_nsys_perlmutter0.sqlite),
of 2024.5.1, schema 3.13.2 (pipit, perlmutter-cloverleaf-cuda.sqlite) and of 2026.2.1, schema
3.25.0 (GindaChen/nsys-ai, h100_2gpu_1s.sqlite); CUPTI_ACTIVITY_KIND_GRAPH_TRACE is as in NVIDIA's
"SQLite Schema Reference" of nsys-exporter.
"""

import sqlite3
from collections import defaultdict
from pathlib import Path

PID, TID, AUTOGRAD = 4711, 4712, 4713
START_NS = 1_700_000_000_000_000_000  # epoch, at 0 of the file
HARDWARE = 1 << 48

_KERNEL = (
    "start end deviceId contextId {green}streamId correlationId globalPid demangledName shortName "
    "{mangled}launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ "
    "staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId "
    "sharedMemoryExecuted graphNodeId{more}"
)
_MEMCPY = (
    "start end deviceId contextId {green}streamId correlationId globalPid bytes copyKind "
    "deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId "
    "{cause}graphNodeId{more}"
)
_MEMSET = (
    "start end deviceId contextId {green}streamId correlationId globalPid value bytes graphNodeId "
    "memKind"
)
_RUNTIME = "start end eventClass globalTid correlationId nameId returnValue{more}"
_SYNC = "start end deviceId contextId {green}streamId correlationId globalPid {old}syncType eventId"
_NVTX = (
    "start end eventType rangeId category color text globalTid endGlobalTid textId domainId "
    "uint64Value int64Value doubleValue uint32Value int32Value floatValue jsonTextId jsonText{more}"
)
_GPU = (
    "vmId id name busLocation isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount "
    "pwGpuId uuid luid chipName cuDevice maxRegistersPerBlock maxShmemPerBlock maxShmemPerSm "
    "maxRegistersPerSm threadsPerWarp maxThreadsPerBlock computeMajor computeMinor"
)
_GRAPH = (
    "start end deviceId contextId greenContextId streamId correlationId globalPid graphId "
    "graphExecId"
)


def _tables(
    *, green: str, mangled: str, kernel: str, cause: str, memcpy: str, runtime: str, nvtx: str,
    sync: str, others: dict[str, str],
) -> dict[str, str]:  # fmt: skip
    return {
        "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL.format(green=green, mangled=mangled, more=kernel),
        "CUPTI_ACTIVITY_KIND_MEMCPY": _MEMCPY.format(green=green, cause=cause, more=memcpy),
        "CUPTI_ACTIVITY_KIND_MEMSET": _MEMSET.format(green=green),
        "CUPTI_ACTIVITY_KIND_RUNTIME": _RUNTIME.format(more=runtime),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _SYNC.format(green=green, old=sync),
        "NVTX_EVENTS": _NVTX.format(more=nvtx),
        "StringIds": "id value",
        "PROFILER_OVERHEAD": "start end globalTid nameId returnValue",
        **others,
    }


_GREEN, _CAUSE, _MANGLED = "greenContextId ", "migrationCause ", "mangledName "
_STARTED = "utcEpochNs utcTime localTime"
SCHEMAS: dict[str, dict[str, str]] = {
    "2020": _tables(
        green="", mangled="", kernel="", cause="", memcpy="", runtime="", nvtx="", sync="",
        others={
            "TARGET_INFO_GPU": "vmId deviceId name busLocation isDiscrete",
            "TARGET_INFO_CUDA_GPU": "vmId name numMultiprocessors computeCapabilityMajor "
            "computeCapabilityMinor deviceId processId",
        },
    ),
    "2022.2.1": _tables(
        green="", mangled=_MANGLED, kernel=" sharedMemoryLimitConfig", cause=_CAUSE,
        memcpy=" virtualAddress name", runtime=" callchainId name", nvtx="", sync="",
        others={
            "EXPORT_META_DATA": "name value", "TARGET_INFO_SESSION_START_TIME": _STARTED,
            "TARGET_INFO_GPU": _GPU,
        },
    ),
    "2024.5.1": _tables(
        green=_GREEN, mangled=_MANGLED, kernel=" sharedMemoryLimitConfig", cause=_CAUSE,
        memcpy=" virtualAddress", runtime=" callchainId", nvtx="", sync="",
        others={
            "META_DATA_EXPORT": "name value", "TARGET_INFO_SESSION_START_TIME": _STARTED,
            "TARGET_INFO_GPU": _GPU, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _GRAPH,
        },
    ),
    "2026.2.1": _tables(
        green=_GREEN, mangled=_MANGLED,
        kernel=" sharedMemoryLimitConfig qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId "
        "clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize "
        "maxActiveClusters sharedMemoryRequestedPercentage tensorSizeMinusOneElements",
        cause=_CAUSE, memcpy=" virtualAddress copyCount", runtime=" callchainId",
        nvtx=" binaryData", sync="deprecatedSyncType ",
        others={
            "META_DATA_EXPORT": "name value",
            "TARGET_INFO_SESSION_START_TIME": _STARTED + " systemClockNs",
            "TARGET_INFO_GPU": _GPU, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _GRAPH,
            "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid numMultiprocessors",
            "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end eventClass globalTid correlationId nameId "
            "overheadType",
        },
    ),
}  # fmt: skip
VERSIONS = tuple(SCHEMAS)

Value = int | float | str | bytes | None


class Export:
    """An export in the making; what a version has no column for is left out."""

    def __init__(self, version: str = "2026.2.1") -> None:
        self.version = version
        self._rows: defaultdict[str, list[dict[str, Value]]] = defaultdict(list)
        self._strings: dict[str, int] = {}
        self._correlation = 0

    def string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 100)

    def add(self, table: str, **values: Value) -> None:
        self._rows[table].append(values)

    def last(self, table: str) -> dict[str, Value]:
        return self._rows[table][-1]

    def kernel(self, start: int, dur: int, name: str, correlation: int, **more: Value) -> None:
        self._device(
            "KERNEL", start, dur, correlation, demangledName=self.string(f"void {name}(float*)"),
            shortName=self.string(name), mangledName=self.string(f"_Z{name}"),
            registersPerThread=32, gridX=1568, gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1,
            staticSharedMemory=1024, dynamicSharedMemory=512, **more,
        )  # fmt: skip

    def memcpy(self, start: int, dur: int, n_bytes: int, correlation: int, **more: Value) -> None:
        kinds: dict[str, Value] = {"copyKind": 1, "srcKind": 0, "dstKind": 2}
        self._device("MEMCPY", start, dur, correlation, bytes=n_bytes, **(kinds | more))

    def memset(self, start: int, dur: int, n_bytes: int, correlation: int, **more: Value) -> None:
        self._device("MEMSET", start, dur, correlation, bytes=n_bytes, value=0, memKind=2, **more)

    def replay(self, start: int, dur: int, graph: int, correlation: int, **more: Value) -> None:
        self._device(
            "GRAPH_TRACE", start, dur, correlation, graphId=graph, graphExecId=graph + 1, **more
        )

    def call(
        self, start: int, dur: int, name: str, correlation: int, tid: int = TID, pid: int = PID
    ) -> None:
        self.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=start + dur, eventClass=0,
            globalTid=global_id(pid, tid), correlationId=correlation, nameId=self.string(name),
            returnValue=0,
        )  # fmt: skip

    def launch(self, start: int, name: str, *, after: int = 1_000, dur: int = 5_000,
               tid: int = TID, pid: int = PID, **more: Value) -> int:  # fmt: skip
        """A call of 500 ns, and the kernel that it starts `after` ns later."""
        self._correlation += 1
        self.call(start, 500, "cudaLaunchKernel_v7000", self._correlation, tid, pid)
        self.kernel(start + after, dur, name, self._correlation, globalPid=global_id(pid), **more)
        return self._correlation

    def push(self, start: int, end: int | None, text: str, tid: int = TID, pid: int = PID,
             **more: Value) -> None:  # fmt: skip
        values: dict[str, Value] = {"eventType": 59, "domainId": 0, "text": text} | more
        self.add("NVTX_EVENTS", start=start, end=end, globalTid=global_id(pid, tid), **values)

    def write(self, path: Path, *, without: tuple[str, ...] = ()) -> Path:
        """Write it; `without` names tables, or "table.column", that are to be missing."""
        self._own_rows()
        connection = sqlite3.connect(path)
        for table, columns in SCHEMAS[self.version].items():
            if table in without:
                continue
            names = [c for c in columns.split() if f"{table}.{c}" not in without]
            connection.execute(f"CREATE TABLE {table} ({', '.join(map(_quoted, names))})")
            for row in self._rows[table]:
                connection.execute(
                    f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})",
                    [row.get(name) for name in names],
                )
        connection.commit()
        connection.close()
        return path

    def _own_rows(self) -> None:
        self._rows["StringIds"] = [{"id": n, "value": s} for s, n in self._strings.items()]
        self._rows["TARGET_INFO_SESSION_START_TIME"] = [{"utcEpochNs": START_NS}]
        for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
            said = {"EXPORT_PRODUCT_VERSION": self.version, "EXPORT_SCHEMA_VERSION": "3.25.0"}
            self._rows[table] = [{"name": name, "value": value} for name, value in said.items()]
        gpu: dict[str, Value] = {
            "id": 3, "deviceId": 0, "name": "NVIDIA H200", "cuDevice": 0, "smCount": 132,
            "numMultiprocessors": 132, "totalMemory": 150_109_880_320, "computeMajor": 9,
            "computeMinor": 0, "computeCapabilityMajor": 9, "computeCapabilityMinor": 0,
        }  # fmt: skip
        self._rows["TARGET_INFO_GPU"] = self._rows["TARGET_INFO_CUDA_GPU"] = [gpu]
        self._rows["TARGET_INFO_CUDA_DEVICE"] = [{"gpuId": 3, "cudaId": 0, "pid": PID}]

    def _device(self, kind: str, start: int, dur: int, correlation: int, **more: Value) -> None:
        place: dict[str, Value] = {
            "deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": global_id(PID),
        }  # fmt: skip
        self.add(
            f"CUPTI_ACTIVITY_KIND_{kind}",
            start=start, end=start + dur, correlationId=correlation, **(place | more),
        )  # fmt: skip


def global_id(pid: int, tid: int = 0) -> int:
    """Hardware 1, machine 0, process and thread as the exporter packs them."""
    return HARDWARE | pid << 24 | tid


def _quoted(name: str) -> str:
    return f'"{name}"'


def a_loop(version: str = "2026.2.1", n_steps: int = 3) -> Export:
    """Steps of 100 µs: a copy, an addmm, a relu, a backward on another thread, a memset, a wait.

    Each step has 3 kernels of 5 µs, a copy of 2 µs and a memset of 1 µs.
    """
    export = Export(version)
    for n in range(n_steps):
        at = 1_000_000 + n * 100_000
        export.push(at, at + 90_000, f"step {n}")
        export.call(at + 1_000, 900, "cudaMemcpyAsync_v3020", 1_000 + n)
        export.memcpy(at + 3_000, 2_000, 4_096, 1_000 + n)
        export.push(
            at + 9_000, at + 19_000,
            f"aten::linear, seq = {n}, op_id = {10 * n + 1}, sizes = [[32, 64], [128, 64]]",
        )  # fmt: skip
        export.push(at + 9_500, at + 15_000, f"aten::addmm, seq = {n}, op_id = {10 * n + 2}")
        export.launch(at + 10_000, "gemm")
        export.push(at + 20_000, at + 29_000, f"aten::relu, op_id = {10 * n + 3}")
        export.launch(at + 21_000, "relu")
        export.push(
            at + 30_000, at + 38_000, f"AddmmBackward0, seq = {n}, op_id = {10 * n + 4}", AUTOGRAD
        )
        export.launch(at + 31_000, "gemm", tid=AUTOGRAD)
        export.call(at + 50_000, 700, "cudaMemsetAsync_v3020", 2_000 + n)
        export.memset(at + 52_000, 1_000, 512, 2_000 + n)
        export.call(at + 60_000, 9_000, "cudaStreamSynchronize_v3020", 3_000 + n)
        export.add(
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=at + 60_100, end=at + 68_000, deviceId=0,
            streamId=7, correlationId=3_000 + n, globalPid=global_id(PID), syncType=3,
        )  # fmt: skip
    return export
