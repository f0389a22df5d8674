"""From what stands on the command line to summarised runs."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from profiler_core import run_directory
from profiler_core.analysis.compare import Side, make_side
from profiler_core.analysis.compilation.compile_time import compile_time
from profiler_core.analysis.explanation import Material, explain_run
from profiler_core.analysis.findings import Finding
from profiler_core.analysis.run_labels import short_variants
from profiler_core.analysis.summary import Summary, summarise
from profiler_core.analysis.telemetry.run import RunTelemetry, run_telemetry
from profiler_core.errors import FusionscopeError, NotARun, NothingToAnalyse
from profiler_core.ingest.compile_log.reader import read_compile_log
from profiler_core.ingest.counters.reader import read_run_counters
from profiler_core.ingest.inductor.reader import read_inductor
from profiler_core.ingest.open import open_trace
from profiler_core.ingest.run import open_run
from profiler_core.ingest.telemetry.reader import read_run_samples
from profiler_core.model.run import RunFiles
from profiler_core.model.trace import Trace


def summary_and_findings_of(
    path: Path,
) -> tuple[RunFiles, Summary, tuple[Finding, ...] | None, tuple[str, ...]]:
    """The run or trace at `path`, its summary, what stands out in it, and notes about that.

    Raises:
        NotARun: nothing we know lies there.
        NothingToAnalyse: the run has no trace.
    """
    run, trace = _traced(path)
    summary = summarise(trace, run.record.measurement)
    notes: tuple[str, ...] = ()
    log = None
    try:
        log = read_compile_log(run)
    except FusionscopeError as error:  # the numbers of the trace stand without it
        notes = (f"The compiler's log cannot be read: {error.problem}",)
    material = Material(trace, compile_log=log)
    found, more = explain_run(run.record, summary, material, telemetry_of(run))
    return run, summary, found, (*notes, *more)


def _traced(path: Path) -> tuple[RunFiles, Trace]:
    run = open_run(path)
    if run.trace is None:
        state = "" if run.record.status == "finished" else f" (it is {run.record.status})"
        raise NothingToAnalyse(
            f"The run {path} has no trace{state}.", remedy="Capture it with the profiled pass."
        )
    return run, open_trace(run.trace)


def side_of(path: Path) -> tuple[Side, Material]:
    """One side of a comparison with its files; a run without a trace is one too."""
    run = open_run(path)
    trace = open_trace(run.trace) if run.trace is not None else None
    counters = read_run_counters(run)
    material = Material(
        trace,
        code=read_inductor(run.torch_trace) if run.torch_trace else None,
        compile_log=read_compile_log(run),
        stacks=open_trace(run.trace_stacks) if run.trace_stacks is not None else None,
        counters=counters.counters,
        problems=counters.problems,
    )
    summary = summarise(trace, run.record.measurement) if trace is not None else None
    side = make_side(
        run,
        summary,
        compiling=compile_time(material.compile_log),
        telemetry=telemetry_of(run),
    )
    return side, material


def telemetry_of(run: RunFiles) -> RunTelemetry | None:
    """What was sampled of a run; None without samples."""
    samples = read_run_samples(run)
    return run_telemetry(run.record, samples.gpus, samples.hosts, samples.problems)


def sides_of(paths: Sequence[Path]) -> tuple[list[Side], list[Material]]:
    """One side for each path; options that all share are left out of their names.

    Those of the same name also carry their folder's.
    """
    sides, materials = zip(*(side_of(path) for path in paths), strict=True)
    labels = short_variants([side.label for side in sides])
    return [
        replace(
            side,
            label=f"{path.resolve().parent.name}/{label}" if labels.count(label) > 1 else label,
        )
        for side, label, path in zip(sides, labels, paths, strict=True)
    ], list(materials)


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare `baseline` and `candidates`, as the verbs that compare take them."""
    parser.add_argument(
        "baseline",
        type=Path,
        metavar="BASELINE_OR_FOLDER",
        help="a run, a trace, or the folder of a capture (sides by their role)",
    )
    parser.add_argument("candidates", type=Path, nargs="*", metavar="CANDIDATE")


def paths_by_role(folder: Path) -> tuple[Path, list[Path]]:
    """(baseline, candidates) among the runs of a capture's folder, by the role in run.json.

    Candidates come in the order in which they were timed, else by name.

    Raises:
        NotARun: the folder does not hold exactly one baseline and at least one candidate.
    """
    if not folder.exists():
        raise NotARun(
            f"{folder} does not exist.", remedy="Pass the folder of a capture, or two runs."
        )
    if not folder.is_dir() or (folder / run_directory.RUN_JSON).is_file():
        raise NotARun(
            f"{folder} is one run, and a comparison needs two.",
            remedy="Name a candidate too, or pass the folder of a whole capture.",
        )
    runs = [
        open_run(path)
        for path in sorted(folder.iterdir())
        if path.is_dir() and (path / run_directory.RUN_JSON).is_file()
    ]
    baselines = [run for run in runs if run.record.role == "baseline"]
    candidates = [run for run in runs if run.record.role == "candidate"]
    if len(baselines) != 1 or not candidates:
        raise NotARun(
            f"{folder} holds {len(runs)} run{'' if len(runs) == 1 else 's'}, of which "
            f"{len(baselines)} say that they are the baseline and {len(candidates)} that they are "
            "a candidate.",
            remedy="Pass the folder of one capture, or name the runs: compare BASELINE CANDIDATE.",
        )
    candidates.sort(key=_place)
    return baselines[0].path, [run.path for run in candidates]


def _place(run: RunFiles) -> tuple[int, str]:
    rounds = run.record.measurement.rounds if run.record.measurement else ()
    return (rounds[0].order if rounds else len(run.record.variant) + 1_000, run.path.name)
