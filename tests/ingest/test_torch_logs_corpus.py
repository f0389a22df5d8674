"""Every log of the corpus against its truth: text alone, structured alone, merged."""

import json

import pytest

from profiler_core.ingest.compile_log.reader import is_structured, read_compile_log_files
from profiler_core.ingest.torch_logs.reader import read_torch_logs
from profiler_core.ingest.torch_trace.reader import read_torch_trace
from tests.ingest.compile_corpus import (
    FIXTURES,
    LARGER_CORPUS,
    WITH_ARTIFACTS,
    Scenario,
    check_merged,
    check_structured,
    check_text,
    found_breaks,
    found_skips,
    scenarios,
    setting_of,
)


def _ids(found):
    return [pytest.param(scenario, id=scenario.name) for scenario in found]


def _check_all(scenario: Scenario) -> None:
    for path in scenario.texts:
        setting = setting_of(path)
        if scenario.version == (2, 2) and setting == "short":
            continue  # `import torch` dies there: a traceback, no log
        check_text(scenario, read_torch_logs([path]), on=setting in WITH_ARTIFACTS)
    if scenario.structured:
        check_structured(scenario, read_torch_trace(scenario.structured))
        for path in scenario.texts:
            if setting_of(path) in WITH_ARTIFACTS - {"plus_dynamo", "short"}:
                check_merged(scenario, read_compile_log_files([path, *scenario.structured]))


@pytest.mark.parametrize("scenario", _ids(scenarios(FIXTURES)))
def test_the_fixtures_agree_with_the_truth(scenario):
    _check_all(scenario)


@pytest.mark.parametrize("scenario", _ids(scenarios(LARGER_CORPUS)))
def test_the_full_corpus_agrees_with_the_truth(scenario):
    _check_all(scenario)


def _noise(root):
    return [
        pytest.param(path, id=path.name.split(".")[0])
        for path in sorted(root.glob("2.*/i_noise/*.txt*"))
    ]


@pytest.mark.parametrize("path", _noise(FIXTURES))
def test_noise_around_the_records_changes_nothing(path):
    expected = json.loads((path.parent / "expected.json").read_text())[path.name.split(".")[0]]
    log = read_torch_logs([path])
    assert len(log.recompiles) + len(log.limit_hits) == expected["recompiling"]
    assert len(log.limit_hits) == expected["limit_hit"]
    # The first lines counted there are full records; repeats come on top.
    assert (
        sum(found_breaks(log).values()) + sum(s.n for s in log.frame_skips)
        >= (expected["graph_break_first_lines"])
    )
    assert log.n_unparsed == 0


def test_noise_hides_no_place_and_adds_none():
    clean = read_torch_logs([FIXTURES / "2.15.0" / "b2_break_places" / "torch_logs.rg.txt.gz"])
    for name in (
        "tqdm",
        "prefix_ray",
        "prefix_k8s_cri",
        "utf16le_powershell",
        "ansi",
        "user_noise",
    ):
        noisy = read_torch_logs([FIXTURES / "2.15.0" / "i_noise" / f"{name}.txt.gz"])
        assert set(found_breaks(noisy)) <= set(found_breaks(clean))
        assert found_skips(noisy) <= found_skips(clean)


def test_a_record_in_the_file_and_on_stderr_counts_once():
    folder = FIXTURES / "2.13.0" / "b1_break_kinds"
    both = [folder / "torch_logs.out.txt.gz", folder / "torch_logs_out_file.out.txt.gz"]
    assert found_breaks(read_torch_logs(both)) == found_breaks(read_torch_logs(both[:1]))


def test_structured_logs_are_told_from_text_by_content():
    scenario = FIXTURES / "2.7.1" / "d1_recompile_limit"
    assert is_structured(next((scenario / "torch_trace").iterdir()))
    assert not is_structured(scenario / "torch_logs.rg.txt.gz")


@pytest.mark.parametrize("chunk_bytes", [7, 1000])
def test_the_size_of_a_read_changes_nothing(chunk_bytes):
    path = FIXTURES / "2.15.0" / "i_noise" / "ansi.txt.gz"
    small = read_torch_logs([path], chunk_bytes=chunk_bytes)
    assert small == read_torch_logs([path])
    traces = tuple((FIXTURES / "2.7.1" / "d1_recompile_limit" / "torch_trace").iterdir())
    assert read_torch_trace(traces, chunk_bytes=chunk_bytes * 97) == read_torch_trace(traces)
