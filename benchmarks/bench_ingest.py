"""Fusionscope, HTA and TraceLens on the same files: whole process, median of several runs.

    python -m benchmarks.bench_ingest [TRACE…] [--source TRACE] [--runs 5] [--out docs/…]

Each peer lives in an environment of its own below the work folder, made on the first run. Without
TRACE, traces of 200 MB and 1 GB are made by repeating --source (see make_traces).
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import venv
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.make_traces import repeat
from benchmarks.measure import Run, measure

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"

HTA = "HolisticTraceAnalysis==0.5.0"
# Not on the package index: its name there belongs to something else.
TRACELENS = "git+https://github.com/AMD-AGI/TraceLens@171dd74721ca1ec45709e5805b68ae1f65e27811"

# A peer that takes a minute and more is not run as often.
_LONG_S = 60.0


class NotInstalledError(Exception):
    """pip cannot get a peer; the text says why."""


@dataclass(frozen=True)
class Tool:
    """Something that reads a trace. python: whose interpreter; cold: its cache is deleted."""

    name: str
    script: Path
    python: Path
    cold: bool = False


@dataclass(frozen=True)
class Result:
    """The runs of one tool on one trace."""

    tool: Tool
    trace: Path
    runs: tuple[Run, ...]

    @property
    def wall_s(self) -> float:
        """Median of the whole process."""
        return statistics.median(run.wall_s for run in self.runs)

    @property
    def peak_bytes(self) -> int:
        """Largest of all runs."""
        return max(run.peak_bytes for run in self.runs)

    @property
    def answer(self) -> dict[str, object]:
        """What the script printed last; empty where it failed."""
        lines = [line for line in self.runs[-1].output.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {"failed": ["everything"]}


def environment(folder: Path, requirement: str) -> Path:
    """The interpreter of an environment with this one package."""
    python = folder / "bin" / "python"
    marker = folder / "installed"
    if not marker.exists() or marker.read_text() != requirement:
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [python, "-m", "pip", "install", "-q", requirement]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise NotInstalledError(_reason(done.stderr))
        marker.write_text(requirement)
    return python


def _reason(errors: str) -> str:
    """The line of pip's output that says why: git's own, or else the first error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("fatal:")]
    telling += [line for line in lines if line.upper().startswith("ERROR")]
    return (telling or lines or ["pip gave no reason"])[0]


def peer(name: str, script: str, folder: Path, requirement: str) -> Tool | None:
    """A peer with its environment; None, and a sentence, where it cannot be installed."""
    try:
        return Tool(name, PEERS / script, environment(folder, requirement))
    except NotInstalledError as error:
        print(f"{name} is left out: {requirement} cannot be installed ({error}).", file=sys.stderr)
        return None


def run_tool(tool: Tool, trace: Path, work: Path, n_runs: int, timeout_s: float) -> Result:
    """The tool on the trace, several times; each cold run starts without columns."""
    home = work / "home"
    runs: list[Run] = []
    while len(runs) < n_runs and not (runs and runs[0].wall_s > _LONG_S):
        if tool.cold:
            shutil.rmtree(home, ignore_errors=True)
        variables = {"FUSIONSCOPE_HOME": str(home), "PYTHONPATH": str(ROOT)}
        runs.append(measure([str(tool.python), str(tool.script), str(trace)], variables, timeout_s))
        print(f"{trace.name} {tool.name}: {runs[-1].wall_s:.2f} s", file=sys.stderr, flush=True)
    return Result(tool, trace, tuple(runs))


def table(results: list[Result]) -> str:
    """The results as Markdown, one row for each trace and tool."""
    rows = [
        "| trace | tool | runs | wall s (median, min, max) | MB/s | product is faster by | "
        "peak MB | peak / file | busy ms | failed |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        size = result.trace.stat().st_size
        walls = [run.wall_s for run in result.runs]
        product = next(r for r in results if r.trace == result.trace and r.tool.cold)
        answer = result.answer
        rows.append(
            f"| {result.trace.name} ({size / 1e6:.0f} MB) | {result.tool.name} | {len(walls)} | "
            f"{result.wall_s:.2f} ({min(walls):.2f}, {max(walls):.2f}) | "
            f"{size / 1e6 / result.wall_s:.0f} | {result.wall_s / product.wall_s:.1f} × | "
            f"{result.peak_bytes / 1e6:.0f} | {result.peak_bytes / size:.2f} | "
            f"{answer.get('busy_ms', '')} | {', '.join(answer.get('failed', []))} |"  # type: ignore[arg-type]
        )
    return "\n".join(rows)


def machine() -> str:
    """One line on where this ran."""
    import polars

    cpu = next(
        (line.split(":")[1].strip() for line in _cpu_info() if line.startswith("model name")),
        platform.processor(),
    )
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {cpu}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, polars {polars.__version__}, duckdb {_duckdb_version()}, "
        f"load average at the start {load:.1f}"
    )


def _cpu_info() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


def _duckdb_version() -> str:
    import duckdb

    return str(duckdb.__version__)


def tools(work: Path, wanted: list[str], tracelens: str) -> list[Tool]:
    """Ourselves cold and warm, and the peers asked for."""
    python = Path(sys.executable)
    measured = [
        Tool("Fusionscope, cold", PEERS / "run_product.py", python, cold=True),
        Tool("Fusionscope, reopened", PEERS / "run_product.py", python),
    ]
    peers = {
        "hta": ("HTA 0.5.0", "run_hta.py", HTA),
        "tracelens": ("TraceLens", "run_tracelens.py", tracelens),
    }
    for key, (name, script, requirement) in peers.items():
        if key in wanted and (tool := peer(name, script, work / key, requirement)) is not None:
            measured.append(tool)
    return measured


def main() -> None:
    """Measure and print, and write to --out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--source", type=Path, help="repeated to 200 MB and 1 GB")
    parser.add_argument("--mb", type=float, nargs="*", default=[200, 1000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", nargs="*", default=["hta", "tracelens"])
    parser.add_argument("--tracelens", default=TRACELENS, help="what pip installs for it")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--timeout", type=float, default=1800)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    chosen.work.mkdir(parents=True, exist_ok=True)
    where = machine()
    traces = list(chosen.traces)
    if chosen.source:
        for mb in chosen.mb:
            trace = chosen.work / f"repeated_{mb:.0f}mb.json"
            if not trace.exists():
                repeat(chosen.source, trace, int(mb * 1e6))
            traces.append(trace)
    measured = tools(chosen.work, chosen.peers, chosen.tracelens)
    results = [
        run_tool(tool, trace, chosen.work, chosen.runs, chosen.timeout)
        for trace in traces
        for tool in measured
    ]
    text = f"{where}\n\n{table(results)}\n"
    print(text)
    if chosen.out:
        chosen.out.write_text(text)


if __name__ == "__main__":
    main()
