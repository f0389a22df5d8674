"""What a comparison is called where nobody gave it a name."""

from pathlib import Path

import pytest

from profiler_core.analysis.run_labels import shared_part
from profiler_core.model.run import RunRecord
from profiler_core.store.library import Comparable, Entry


def a_comparison(*names):
    entries = [
        Entry(f"run/week47/{n}", Path(f"/runs/week47/{n}"), RunRecord(name=name), "capture")
        for n, name in enumerate(names)
    ]
    return Comparable("run/week47", "capture", Path("/runs/week47"), entries[0],
                      tuple(entries[1:]), "")  # fmt: skip


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("my_model_eager_trace.json", "my_model_compiled_trace.json"), "my_model"),
        (("trace_a.json", "trace_b.json"), "trace_a.json and trace_b.json"),
        (("before.json", "after.json"), "before.json and after.json"),
        (("only.json",), "only.json"),
        (("", ""), "week47"),  # not "eager and default", which any two are
    ],
)
def test_a_title_is_what_the_files_share(names, title):
    assert a_comparison(*names).title == title


def test_equal_names_share_no_part_that_tells():
    assert shared_part(("trace.json", "trace.json")) == ""
    assert shared_part(("resnet50-eager", "resnet50-default")) == "resnet50"
