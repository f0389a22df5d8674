"""A first step whose start the device spends on the warm-up's work."""

import gzip
import json

from profiler_core.analysis.summary import summarise
from profiler_core.ingest.kineto.reader import read_kineto
from tests.analysis.ledger.pairs import CAPTURES

TRAIN = CAPTURES / "resnet50_train.eager+amp+cl" / "trace.json.gz"


def test_how_much_shorter_steps_look_is_told():
    """22.3 ms per step stood there, of steps none of which took less than 22.7."""
    events = json.loads(gzip.decompress(TRAIN.read_bytes()))["traceEvents"]
    steps_us = [
        event["dur"]
        for event in events
        if str(event.get("name")).startswith("ProfilerStep") and event["cat"] == "user_annotation"
    ]
    summary = summarise(read_kineto(TRAIN))
    mean_us = sum(steps_us) / len(steps_us)
    assert summary.profiled_step_ns / 1e3 < min(steps_us)
    (note,) = (note for note in summary.notes if "work of the warm-up" in note)
    assert f"on the host a step took {mean_us / 1e3:.1f} ms." in " ".join(note.split())


def test_a_first_step_that_begins_on_time_is_not_mentioned():
    summary = summarise(read_kineto(CAPTURES / "smallcnn_cpu.eager" / "trace.json.gz"))
    assert not any("on the host" in note for note in summary.notes)


def test_a_device_that_stays_behind_its_host_has_steps_of_the_hosts_length():
    """Of a device-bound run the first step begins late, too, and the last one ends as late."""
    summary = summarise(read_kineto(CAPTURES / "bert.default" / "trace.json.gz"))
    assert any("work of the warm-up" in note for note in summary.notes)
    assert not any("on the host" in note for note in summary.notes)
