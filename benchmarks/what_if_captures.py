"""Capture workloads with and without what their findings ask for, to judge the what-if engine.

    python -m benchmarks.what_if_captures FOLDER [NAME …] [--packed FOLDER] [--seconds 260]

Built-in workloads under the settings that answer findings, and the models of `what_if_faults`
beside their repaired copies. All captures prepare together and are measured one after another, in
order of importance (`benchmarks.waves`), until the time is over.
`what_if_judge --captures FOLDER` reads the result.

`--packed` gets all captures as tar.xz files of at most 15 MB, written anew after each capture.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.waves import Job, Wave, capture_in_turn, say
from profiler_core.capture import variant_run
from profiler_core.capture.interpreter import Interpreter, probe

_FAULTS = Path(__file__).with_name("what_if_faults.py")
_COPIES = ("faulty", "repaired")
_INTERPRETER = ".interpreter.json"
_QUICK = (
    "--rounds=20", "--round-steps=25", "--round-seconds=0.03", "--steps=4", "--telemetry-seconds=0",
    "--no-memory", "--no-numerics", "--no-warm-compile",
)  # fmt: skip
_PREPARE_SHARE = 0.5  # of the time, at most
_TURN_S = 9.0  # that a capture is timed and profiled in, about
_PACK_S = 8.0
_PART_BYTES = 15_000_000
_MOST_PARTS = 6
_DYNAMIC = "dynamo.capture_dynamic_output_shape_ops=true+dynamo.capture_scalar_outputs=true"

# Name -> variants. Of a fault that is `paired` each runs in the faulty and in the repaired version.
_PAIRED = {
    "breaks": "default",
    "shape_breaks": "default",
    "value_breaks": "default",
    "syncs": "default",
    "pageable_copies": "default",
    "guards": "default",
    "plain_optimizer": "eager",
    "uneven_shapes": "eager",
    "small_copies": "eager",
}
_FAULTY = {
    "small_kernels": "default,reduce-overhead",
    "contiguous_images": "eager,eager+channels_last",
    "plain_fp32": "eager,eager+tf32,eager+bf16-autocast",
}
_BUILT_IN = {
    "moe": f"default,reduce-overhead,default+{_DYNAMIC}",
    "gnn": "default,reduce-overhead",
    "decode": "default,reduce-overhead",
    "dit": "default,reduce-overhead,default+tf32",
    "flex": "default,reduce-overhead",
    "dlrm": "default,reduce-overhead",
    "breaky": "default,reduce-overhead",
    "resnet50": "eager,eager+bf16-autocast,eager+tf32,eager+channels_last,default,reduce-overhead",
}
ORDER = (
    *("breaks", "shape_breaks", "value_breaks", "contiguous_images", "resnet50", "flex", "dlrm"),
    *("plain_optimizer", "uneven_shapes", "small_copies", "breaky", "syncs", "dit", "moe"),
    *("guards", "decode", "gnn", "small_kernels", "pageable_copies", "plain_fp32"),
)


def job_of(name: str, folder: Path) -> Job:
    """The capture of one workload.

    Args:
        name: of `ORDER`.
        folder: where `plant` copied the faults to.
    """
    faulty, repaired = (str(folder / f".{copy}" / copy / _FAULTS.name) for copy in _COPIES)
    workload = name if name in _BUILT_IN else f"{faulty}:{name}"
    against = (f"--against=path:{repaired}",) if name in _PAIRED else ()
    variants = {**_PAIRED, **_FAULTY, **_BUILT_IN}[name]
    return Job(name, (workload, f"--variants={variants}", *against, f"--name={name}", *_QUICK))


def plant(folder: Path) -> None:
    """Copy the faults into a folder each, by which the file knows which version it is."""
    for copy in _COPIES:
        into = folder / f".{copy}" / copy
        into.mkdir(parents=True, exist_ok=True)
        shutil.copy(_FAULTS, into)


def capture_all(
    folder: Path, names: Sequence[str], seconds: float, packed: Path | None = None
) -> None:
    """Capture what is named, and pack it as it comes.

    Args:
        folder: gets a folder for each workload, and what each printed.
        names: of workloads; empty: all.
        seconds: for everything.
        packed: gets the archives; None: no archive.
    """
    deadline = time.monotonic() + seconds - (_PACK_S if packed else 0.0)
    folder.mkdir(parents=True, exist_ok=True)
    plant(folder)
    # Asked once: each capture would import torch for it.
    (folder / _INTERPRETER).write_text(json.dumps(asdict(probe(None))))
    say("asked the interpreter")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool beside each process
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    jobs = [job_of(name, folder) for name in ORDER if not names or name in names]
    over = threading.Event()
    packer = threading.Thread(target=_pack_as_it_comes, args=(folder, packed, over))
    packer.start()
    try:
        prepare_s = _PREPARE_SHARE * seconds
        wave = Wave(
            jobs, "benchmarks.what_if_captures", folder, deadline,
            prepare_s=prepare_s, turn_s=_TURN_S,
        )  # fmt: skip
        list(wave.run())
    finally:
        over.set()
        packer.join()


def _pack_as_it_comes(folder: Path, packed: Path | None, over: threading.Event) -> None:
    groups: list[list[Path]] = []
    room = 0
    done: set[Path] = set()
    while packed is not None:
        is_over = over.wait(1.0)
        for directory in sorted(set(folder.glob("*/*/")) - done):
            if not _has_ended(directory):
                continue
            done.add(directory)
            size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
            if size > room:
                groups.append([])
                room = _PART_BYTES
            groups[-1].append(directory)
            room -= size
            _pack(folder, packed, groups)
        if is_over:
            break


def _has_ended(directory: Path) -> bool:
    """Was all of this capture written, and was it measured?"""
    try:
        text = (directory / "progress.jsonl").read_text()
    except OSError:
        return False
    return '"finished"' in text


def _pack(folder: Path, packed: Path, groups: list[list[Path]]) -> None:
    """Write the last group as an archive, and put it into place when it is whole."""
    if len(groups) > _MOST_PARTS:
        say(f"not packed: {groups[-1][-1].name}")
        return
    packed.mkdir(parents=True, exist_ok=True)
    name = f"captures{len(groups)}.tar.xz"
    with tarfile.open(folder / name, "w:xz", preset=1) as archive:
        for directory in groups[-1]:
            archive.add(directory, str(directory.relative_to(folder)))
    shutil.move(folder / name, packed / name)


def main() -> None:
    """Capture what the command line names, all by default."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ORDER)}")
    parser.add_argument("--packed", type=Path, help="gets the captures as archives")
    parser.add_argument("--seconds", type=float, default=260.0, help="for everything")
    parser.add_argument("--only", choices=ORDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        asked = Interpreter(**json.loads((arguments.folder / _INTERPRETER).read_text()))
        job = job_of(arguments.only, arguments.folder)
        # No second process: it would capture the graphs under the profiler in the turn of others.
        variant_run.questions = lambda **_: ()  # type: ignore[attr-defined]
        capture_in_turn(job, arguments.folder, {None: asked})
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what it started, too
    capture_all(arguments.folder, arguments.names, arguments.seconds, arguments.packed)


if __name__ == "__main__":
    main()
