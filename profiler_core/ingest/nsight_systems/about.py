"""What the file says about itself: versions, devices, the start, and what is not in it."""

from collections.abc import Mapping
from typing import Any

from profiler_core.ingest.nsight_systems.database import Database, integer, text
from profiler_core.ingest.nsight_systems.processes import Process

TOOL = "Nsight Systems"

# Kineto's name -> the export's. Both write bytes, and numbers of the device.
_PROPERTIES = {
    "totalGlobalMem": "totalMemory",
    "numSms": "smCount",
    "computeMajor": "computeMajor",
    "computeMinor": "computeMinor",
    "regsPerMultiprocessor": "maxRegistersPerSm",
    "regsPerBlock": "maxRegistersPerBlock",
    "sharedMemPerBlock": "maxShmemPerBlock",
    "sharedMemPerMultiprocessor": "maxShmemPerSm",
    "warpSize": "threadsPerWarp",
    "maxThreadsPerBlock": "maxThreadsPerBlock",
}
_GPUS, _DEVICES = "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"
_START = "TARGET_INFO_SESSION_START_TIME"
_EXPORTS = ("META_DATA_EXPORT", "EXPORT_META_DATA")  # the second up to 2022


def started_ns(database: Database) -> int:
    """Epoch ns at time 0 of the file; 0 where it does not say (before 2021)."""
    for frame in database.frames(_START, {"start": integer("utcEpochNs")}):
        starts = frame["start"].drop_nulls()
        return int(starts[0]) if starts.len() else 0
    return 0


def versions(database: Database) -> tuple[str | None, str | None]:
    """(of Nsight Systems that exported, of the schema); None: the file does not say."""
    for table in _EXPORTS:
        values = database.pairs(table, "name", "value")
        if values:
            return values.get("EXPORT_PRODUCT_VERSION"), values.get("EXPORT_SCHEMA_VERSION")
    return None, None


def device_properties(database: Database, process: Process | None) -> list[dict[str, Any]]:
    """As Kineto's deviceProperties: one entry a device, `id` as device events name it."""
    fields = {"id": integer("id", "deviceId"), "name": text("name"), "ordinal": integer("cuDevice")}
    fields |= {name: integer(column) for name, column in _PROPERTIES.items()}
    gpus = [row for frame in database.frames(_GPUS, fields) for row in frame.iter_rows(named=True)]
    if not any(database.has(_GPUS, column) for column in _PROPERTIES.values()):
        gpus = _gpus_of_2020(database) or gpus
    by_id = {gpu["id"]: gpu for gpu in gpus}
    columns = {"gpu": integer("gpuId"), "cuda": integer("cudaId"), "pid": integer("pid")}
    listed = [
        (row["cuda"], by_id[row["gpu"]])
        for frame in database.frames(_DEVICES, columns)
        for row in frame.iter_rows(named=True)
        if row["gpu"] in by_id and (process is None or row["pid"] == process.pid)
    ]
    if not listed:  # before 2025 the device's CUDA number stands with it, before that nothing does
        listed = [(gpu["id"] if gpu["ordinal"] is None else gpu["ordinal"], gpu) for gpu in gpus]
    return [_entry(number, gpu) for number, gpu in dict(listed).items()]


def _gpus_of_2020(database: Database) -> list[dict[str, Any]]:
    """TARGET_INFO_CUDA_GPU, whose size of memory has another unit in each file that was seen."""
    fields = {
        "id": integer("deviceId"),
        "name": text("name"),
        "numSms": integer("numMultiprocessors"),
        "computeMajor": integer("computeCapabilityMajor"),
        "computeMinor": integer("computeCapabilityMinor"),
    }
    return [
        {"ordinal": None, **dict.fromkeys(_PROPERTIES), **row}
        for frame in database.frames("TARGET_INFO_CUDA_GPU", fields)
        for row in frame.iter_rows(named=True)
    ]


def _entry(number: int | None, gpu: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: gpu[name] for name in ("name", *_PROPERTIES) if gpu[name] is not None}
    return {"id": number, **properties}
