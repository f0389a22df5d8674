"""Capture workloads with and without what their findings ask for, to judge the what-if engine.

    python -m benchmarks.what_if_captures OUT [--minutes 9.2] [--device auto] [--parts FOLDER]

Built-in workloads under the settings that answer findings, and the models of `what_if_faults`
beside their repaired copies. What torch.compile makes is made first, several variants at a time
and untimed, so that each capture finds its caches full; then one after the other is measured, in
order of importance, until the time is over. `what_if_judge --captures OUT` reads the result.

`--parts` gets all captures as tar.xz files of at most 15 MB, written anew after each capture.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from profiler_core.capture.interpreter import Interpreter
from profiler_core.capture.launcher import run_capture
from profiler_core.capture.selection import Selection
from profiler_core.capture.spec import CaptureSpec, parse_variants
from profiler_core.capture.variant_spec import VariantSpec
from profiler_core.home import VARIABLE as HOME

_FAULTS = Path(__file__).with_name("what_if_faults.py")
_FILL_SHARE = 0.4  # of the time, at most
_CHILD_SECONDS = 7.0  # of one variant, before any was measured
_PART_BYTES = 15_000_000
_MOST_PARTS = 6
_DYNAMIC = "dynamo.capture_dynamic_output_shape_ops=true+dynamo.capture_scalar_outputs=true"


@dataclass(frozen=True)
class Wanted:
    """One capture. A fault is a function of `what_if_faults`; it runs beside its repaired copy."""

    workload: str
    variants: str
    is_fault: bool = False
    is_paired: bool = False

    @property
    def n_children(self) -> int:
        """Processes that it needs."""
        return len(self.variants.split(",")) * (2 if self.is_paired else 1)


def _fault(name: str, variants: str) -> Wanted:
    return Wanted(name, variants, is_fault=True, is_paired=True)


WANTED = (
    Wanted("moe", f"eager,default,reduce-overhead,default+{_DYNAMIC}"),
    Wanted("decode", "eager,default,reduce-overhead"),
    Wanted("dit", "eager,default,reduce-overhead"),
    Wanted("gnn", "eager,default,reduce-overhead"),
    Wanted("flex", "eager,default,reduce-overhead"),
    Wanted("dlrm", "eager,default,reduce-overhead"),
    Wanted("breaky", "eager,default,reduce-overhead"),
    Wanted(
        "resnet50",
        "eager,eager+bf16-autocast,default,default+tf32,default+bf16-autocast,reduce-overhead",
    ),
    _fault("breaks", "default,reduce-overhead"),
    _fault("shape_breaks", "default"),
    _fault("value_breaks", "default"),
    _fault("guards", "default"),
    Wanted("small_kernels", "eager,default,reduce-overhead", is_fault=True),
    _fault("syncs", "eager,default"),
    _fault("pageable_copies", "eager,default"),
    Wanted(
        "plain_fp32",
        "eager,eager+tf32,eager+bf16-autocast,default,default+tf32,default+bf16-autocast",
        is_fault=True,
    ),
    Wanted("contiguous_images", "eager,eager+channels_last", is_fault=True),
    _fault("plain_optimizer", "eager,default"),
    _fault("small_copies", "default"),
    _fault("uneven_shapes", "default"),
    Wanted("shape_breaks", f"default,default+{_DYNAMIC}", is_fault=True),
)


def _nobody(_: Mapping[str, Mapping[str, Any]], __: int) -> Collection[str]:
    return ()


@dataclass(frozen=True)
class Captures:
    """All captures of one call.

    out: the folder of all captures. scratch: for copies of the faults, and for caches.
    device: as `capture` takes it. interpreters: those that were asked already.
    """

    out: Path
    scratch: Path
    device: str
    interpreters: dict[str | None, Interpreter] = field(default_factory=dict)

    def plant(self) -> None:
        """Copy the faults, and their repaired version."""
        for folder in ("faulty", "repaired"):
            (self.scratch / folder).mkdir()
            shutil.copy(_FAULTS, self.scratch / folder)

    def spec(self, wanted: Wanted, variants: Sequence[VariantSpec] = ()) -> CaptureSpec:
        """As it is measured: timing and trace, nothing else."""
        workload = wanted.workload
        faulty, repaired = (self.scratch / name / _FAULTS.name for name in ("faulty", "repaired"))
        return CaptureSpec(
            workload=f"{faulty}:{workload}" if wanted.is_fault else workload,
            variants=tuple(variants) or tuple(parse_variants(wanted.variants)),
            device=self.device,
            against=f"path:{repaired}" if wanted.is_paired else None,
            name=workload,
            rounds=10,
            round_seconds=0.05,
            telemetry_seconds=0.0,
            memory=False,
            numerics=False,
            warm_compile=False,
        )

    def fill(self, wanted: Wanted, variant: VariantSpec) -> None:
        """Compile one variant, untimed, in a process that has a lock of its own."""
        words = [sys.executable, "-m", "benchmarks.what_if_captures", str(self.out)]
        words += ["--device", self.device]
        words += ["--fill", str(self.scratch), str(WANTED.index(wanted)), variant.label]
        with tempfile.TemporaryDirectory() as home:
            environment = {**os.environ, HOME: home, "TORCHINDUCTOR_COMPILE_THREADS": "4"}
            subprocess.run(words, check=False, env=environment, stdout=subprocess.DEVNULL)

    def run(self, wanted: Wanted, spec: CaptureSpec) -> str:
        """One capture; says what became of it."""
        caches = self.scratch / "caches" / str(WANTED.index(wanted))
        finished = run_capture(
            spec,
            self.out,
            selection=Selection(caches, _stop_nobody),
            interpreters=self.interpreters,
        )
        failed = [f"{run.variant}: {run.error}" for run in finished.runs if run.status == "failed"]
        return "; ".join(failed) or "finished"


def _stop_nobody(_: Mapping[str, Mapping[str, Any]], __: int) -> Collection[str]:
    return ()


def _fill_all(captures: Captures, chosen: Sequence[Wanted], until: float) -> None:
    compiled = [
        (wanted, variant)
        for wanted in chosen
        for variant in parse_variants(wanted.variants)
        if variant.compile
    ]

    def fill(pair: tuple[Wanted, VariantSpec]) -> None:
        if time.monotonic() < until:
            captures.fill(*pair)

    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) * 3 // 4)) as pool:
        list(pool.map(fill, compiled))


def _fill_one(captures: Captures, number: int, label: str) -> None:
    """What `Captures.fill` starts: a capture of one round, whose runs nobody keeps."""
    wanted = WANTED[number]
    variant = next(v for v in parse_variants(wanted.variants) if v.label == label)
    with tempfile.TemporaryDirectory() as out:
        own = replace(captures, out=Path(out))
        spec = replace(
            own.spec(wanted, [variant]),
            rounds=1, round_steps=1, round_seconds=0.0, profile=False,
        )  # fmt: skip
        print(own.run(wanted, spec))


def _measure_all(
    captures: Captures, chosen: Sequence[Wanted], until: float, parts: Path | None
) -> None:
    child_seconds = _CHILD_SECONDS
    for wanted in chosen:
        left = until - time.monotonic()
        if left < child_seconds * wanted.n_children:
            print(f"left out: {wanted.workload}, {wanted.variants}: {left:.0f} s left", flush=True)
            continue
        began = time.monotonic()
        status = captures.run(wanted, captures.spec(wanted))
        took = time.monotonic() - began
        child_seconds = max(1.0, (child_seconds + took / wanted.n_children) / 2)
        print(f"{wanted.workload:18} {took:6.1f} s  {status}", flush=True)
        if parts is not None:
            _pack(captures.out, parts)


def _pack(out: Path, parts: Path) -> None:
    """Write the captures that came last as one more file, or anew with those that fit into it."""
    groups: list[list[Path]] = []
    room = 0
    for directory in sorted(path for path in out.iterdir() if path.is_dir()):
        size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
        if size > room:
            groups.append([])
            room = _PART_BYTES
        groups[-1].append(directory)
        room -= size
    if len(groups) > _MOST_PARTS:
        print(f"not packed: {groups[-1][-1].name}", flush=True)
        return
    parts.mkdir(parents=True, exist_ok=True)
    with tarfile.open(parts / f"captures{len(groups)}.tar.xz", "w:xz", preset=1) as packed:
        for directory in groups[-1]:
            packed.add(directory, directory.name)


def main() -> None:
    """Fill the caches, then measure until the time is over; print what each capture took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=9.2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--parts", type=Path)
    parser.add_argument("--only", metavar="WORKLOAD,…", help="those, in place of all")
    parser.add_argument("--fill", nargs=3, metavar=("SCRATCH", "NUMBER", "VARIANT"))
    arguments = parser.parse_args()
    if arguments.fill is not None:
        scratch, number, label = arguments.fill
        _fill_one(Captures(arguments.out, Path(scratch), arguments.device), int(number), label)
        return
    names = (arguments.only or "").split(",")
    chosen = [wanted for wanted in WANTED if not arguments.only or wanted.workload in names]
    began = time.monotonic()
    seconds = 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as scratch:
        captures = Captures(arguments.out, Path(scratch), arguments.device)
        captures.plant()
        _fill_all(captures, chosen, began + _FILL_SHARE * seconds)
        print(f"caches filled after {time.monotonic() - began:.0f} s", flush=True)
        _measure_all(captures, chosen, began + seconds, arguments.parts)


if __name__ == "__main__":
    main()
