"""The options of verbs that read an export of Nsight Systems: which ranges are steps, whose."""

import argparse
import os

from profiler_core.ingest.nsight_systems.choice import PROCESS, STEP_RANGE


def add_nsight_options(parser: argparse.ArgumentParser) -> None:
    """Declare --step-range and --process."""
    group = parser.add_argument_group("exports of Nsight Systems (docs/nsight_systems.md)")
    group.add_argument(
        "--step-range",
        metavar="NAME",
        help="the NVTX ranges that are the steps; digits do not matter, * is anything",
    )
    group.add_argument(
        "--process", type=int, metavar="PID", help="which process, where several used a GPU"
    )


def apply_nsight_options(arguments: argparse.Namespace) -> None:
    """Let them hold for this process and those that it starts to read traces."""
    if arguments.step_range is not None:
        os.environ[STEP_RANGE] = arguments.step_range
    if arguments.process is not None:
        os.environ[PROCESS] = str(arguments.process)
