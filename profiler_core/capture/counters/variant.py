"""The counters pass of one variant: a process of its own, with the caches of the first filled."""

from pathlib import Path

from profiler_core import run_directory as names
from profiler_core.capture.context import Context
from profiler_core.capture.counters.measure import measure, under_ncu
from profiler_core.capture.pack import pack
from profiler_core.capture.process import Child
from profiler_core.capture.run_writer import RunWriter
from profiler_core.capture.start_variant import ProcessPaths, start_process
from profiler_core.capture.variant_spec import VariantSpec


def count_variant(context: Context, variant: VariantSpec, writer: RunWriter, work: Path) -> None:
    """Measure the counters and write the result into run.json, where counters are asked for.

    A failure here does not change the status of the run.

    Args:
        context: of the capture.
        variant: what is measured.
        writer: of its run.
        work: the variant's folder, with the compiler's caches.
    """
    tool = context.counters
    if tool is None:
        return

    def say(text: str) -> None:
        context.progress.say("counters", text, variant.label)

    def start() -> Child:
        under, environment = under_ncu(tool, work)
        trace, out, err = (work / name for name in ("torch_trace", "ncu.out", "ncu.err"))
        paths = ProcessPaths(writer.directory, work, trace, out, err, under, environment)
        return start_process(context, variant, paths)

    say(f"Measures what each kernel of {variant.label} moves, one by one")
    table = writer.directory / names.COUNTERS
    counted = measure(tool, start, work, table, look=context.look)
    writer.measurement["counters"] = counted.to_dict()
    seconds = writer.measurement.setdefault("phase_seconds", {})
    seconds["counters"] = round(counted.seconds, 3)
    if counted.problem:
        say(f"No counters of {variant.label}: {counted.problem}")
    pack(writer.directory)
