"""What the first calls do beside compiling, by torch's own records."""

import gzip
import json
import re
from pathlib import Path

import pytest

from profiler_core.analysis.wording.compile_cost import at_first_calls
from profiler_core.cli.main import main
from profiler_core.session.comparison import Comparison

SAMPLE = Path(__file__).resolve().parents[2] / "sample_traces" / "dynshape"


def recorded(run: Path, kind: str) -> list[dict[str, object]]:
    """The metrics of a kind in a run's structured log, by plain JSON."""
    (path,) = (run / "torch_trace").glob("*.log.gz")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    texts = (re.search(r"\] (\{.*\})$", line) for line in lines if f'{{"{kind}"' in line)
    return [json.loads(text[1])[kind] for text in texts if text is not None]


def test_recording_cuda_graphs_is_no_autotuning() -> None:
    """117 ms of dynshape's "autotuning" were 97 ms of it, and 21 ms of recording."""
    every = recorded(SAMPLE / "reduce-overhead", "compilation_metrics_runtime")
    autotuning = sum(int(each["runtime_triton_autotune_time_us"] or 0) for each in every)
    recording = sum(int(each["runtime_cudagraphify_time_us"] or 0) for each in every)
    comparison = Comparison.open([SAMPLE / "eager", SAMPLE / "reduce-overhead"])
    (candidate,) = comparison.numbers.candidates
    cost = candidate.compile
    assert cost.recording_seconds * 1e6 == pytest.approx(recording)
    assert cost.autotuning_seconds * 1e6 == pytest.approx(autotuning + recording)
    told = at_first_calls(cost.autotuning_seconds, cost.recording_seconds)
    assert told == "at the first calls autotuning 96.7 ms and recording CUDA graphs 20.6 ms"


def test_what_autotunes_is_no_compilation(capsys) -> None:
    """Of 28 records two compile."""
    run = SAMPLE / "reduce-overhead"
    n = len(recorded(run, "compilation_metrics")) + len(recorded(run, "bwd_compilation_metrics"))
    assert main(["logs", str(run)]) == 0
    assert f", {n} compilations\n" in capsys.readouterr().out
