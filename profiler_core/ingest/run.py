"""A run directory, or a single trace file, -> Run: the record and which files it has."""

from pathlib import Path

import msgspec

from profiler_core import run_directory as names
from profiler_core.errors import NotARun
from profiler_core.model.run import Run, RunRecord


def open_run(path: Path) -> Run:
    """Look at what lies at `path`; no trace is read yet.

    Raises:
        NotARun: nothing we know lies there.
    """
    if not path.exists():
        raise NotARun(f"{path} does not exist.", remedy="Pass a run directory or a trace file.")
    if path.is_file():
        return Run(record=RunRecord(name=path.name, run_id=path.name), path=path, trace=path)

    def present(*candidates: str) -> Path | None:
        for name in candidates:
            for variant in (name, f"{name}.gz", name.removesuffix(".gz")):
                if (path / variant).is_file():
                    return path / variant
        return None

    record_file = present(names.RUN_JSON)
    trace = present(names.TRACE)
    if record_file is None and trace is None:
        raise NotARun(
            f"{path} holds neither {names.RUN_JSON} nor a trace.", remedy="Pass a run directory."
        )
    record = (
        msgspec.json.decode(record_file.read_bytes(), type=RunRecord)
        if record_file
        else RunRecord(name=path.name, run_id=path.name)
    )
    logs = present(names.TORCH_LOGS)
    structured = (
        tuple(sorted((path / names.TORCH_TRACE).glob("*.log*")))
        if (path / names.TORCH_TRACE).is_dir()
        else ()
    )
    single = present("torch_trace.log")
    return Run(
        record=record,
        path=path,
        trace=trace,
        trace_stacks=present(names.TRACE_STACKS),
        torch_logs=(logs,) if logs else (),
        torch_trace=structured or ((single,) if single else ()),
        nvml=present(names.NVML),
        memory_snapshot=present(names.MEMORY_SNAPSHOT, "snapshot.pickle"),
        sources=present(names.SOURCES),
        stdout=present(names.STDOUT),
    )
