"""The options of verbs that read traces: those that the formats declare (`ingest/formats/`)."""

import argparse
import os

from profiler_core.ingest.file_kind import ReadOption
from profiler_core.ingest.formats import trace_formats
from profiler_core.ingest.options import variable


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Declare them, a group for each format; an option that two formats share is declared once."""
    declared: set[str] = set()
    for kind in trace_formats():
        options = [option for option in kind.options if option.name not in declared]
        if not options:
            continue
        group = parser.add_argument_group(kind.options_title)
        for option in options:
            group.add_argument(
                _flag(option), type=option.type, metavar=option.metavar, help=option.help
            )
            declared.add(option.name)


def apply_reading_options(arguments: argparse.Namespace) -> None:
    """Apply them to this process and to the processes that it starts to read traces."""
    for kind in trace_formats():
        for option in kind.options:
            value = getattr(arguments, option.name)
            if value is not None:
                os.environ[variable(option)] = str(value)


def _flag(option: ReadOption) -> str:
    return "--" + option.name.replace("_", "-")
