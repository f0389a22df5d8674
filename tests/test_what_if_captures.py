"""The captures that `benchmarks.what_if_captures` makes on a GPU can be asked for."""

import argparse
import ast
from pathlib import Path

import pytest

from benchmarks import what_if_captures, what_if_judge
from profiler_core.capture.built_in import BUILT_IN_WORKLOADS
from profiler_core.capture.spec_arguments import add_spec_arguments, spec_from_namespace

FAULTS = ast.parse(Path(what_if_captures.__file__).with_name("what_if_faults.py").read_text())


@pytest.mark.parametrize("name", what_if_captures.ORDER)
def test_each_workload_is_one_that_there_is(name, tmp_path):
    job = what_if_captures.job_of(name, tmp_path)
    parser = argparse.ArgumentParser()
    add_spec_arguments(parser)
    spec = spec_from_namespace(parser.parse_args(job.arguments))
    functions = {node.name for node in FAULTS.body if isinstance(node, ast.FunctionDef)}
    file, _, function = spec.workload.rpartition(":")
    assert function in (functions if file else BUILT_IN_WORKLOADS)
    assert (spec.against is not None) == (name in what_if_judge.REPAIRED)
    assert spec.profile
