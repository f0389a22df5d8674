"""Stands in for Nsight Compute's `ncu` where there is no NVIDIA GPU.

It takes the arguments that the manual documents and no others, hands no open file on to the
program, measures only between the marks that the program writes into $FAKE_NCU_MARKS (in the place
of cudaProfilerStart and -Stop), and prints at the program's end what ncu 2025.3 printed. What goes
wrong is chosen by $FAKE_NCU. Like the real one it crashes the program where the compiler's cache is
not full.
"""

import argparse
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2].joinpath(
    "fixtures", "counters", "resnet50_b32.default.ncu.csv.gz"
)  # fmt: skip
VERSION = """NVIDIA (R) Nsight Compute Command Line Profiler
Copyright (c) 2018-2025 NVIDIA Corporation
Version 2025.3.1.0 (build 36398880) (public-release)
"""
PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--target-processes", choices=("all", "application-only"), default="all")
    parser.add_argument("--profile-from-start", choices=("on", "off"), default="on")
    parser.add_argument("--graph-profiling", choices=("node", "graph"), default="node")
    parser.add_argument("--clock-control", choices=("base", "none"), default="base")
    parser.add_argument("--cache-control", choices=("all", "none"), default="all")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--page", choices=("details", "raw", "source"), default="details")
    parser.add_argument("--print-units", choices=("auto", "base"), default="auto")
    parser.add_argument("--log-file", type=Path)
    parser.add_argument("--metrics", default="")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args()


def main():
    said = arguments()
    if said.version:
        print(VERSION, end="")
        return 0
    what = os.environ.get("FAKE_NCU", "measures")
    marks = Path(os.environ["FAKE_NCU_MARKS"])
    log = said.log_file.open("w", encoding="utf-8", buffering=1)
    if what == "hangs":
        time.sleep(3600)
    program = subprocess.Popen(said.program, close_fds=True)
    log.write(f"==PROF== Connected to process {program.pid} ({said.program[0]})\n")
    compiles = os.environ["TORCHINDUCTOR_COMPILE_THREADS"] != "1" or what == "finds no cache"
    if compiles or what == "crashes":
        time.sleep(0.2)
        program.send_signal(signal.SIGSEGV)
        program.wait()
        log.write("==ERROR== The application returned an error code (11).\n")
        return 11
    status = program.wait()
    if what == "has no permission":
        log.write(PERMISSION)
        return 1
    log.write(f"==PROF== Disconnected from process {program.pid}\n")
    measured = marks.read_text() if marks.exists() else ""
    if not measured.endswith("start\nstop\n") or said.profile_from_start != "off":
        log.write("==WARNING== No kernels were profiled.\n")
        return status
    assert said.csv and said.page == "raw" and said.print_units == "base"
    table = gzip.decompress(TABLE.read_bytes()).decode()
    log.write("".join(line for line in table.splitlines(True) if not line.startswith("==")))
    return status


if __name__ == "__main__":
    sys.exit(main())
