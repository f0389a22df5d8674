"""The run.json of each rank names the GPU that this rank ran on."""

import json

from profiler_core.capture.ranks import rank_gpus, rank_uuids, run_folders
from profiler_core.capture.run_writer import RunWriter


def environment(index):
    return {"host": "vm", "device": f"cuda:{index}", "gpu": "NVIDIA H200", "gpu_index": index,
            "gpu_uuid": f"GPU-{index}"}  # fmt: skip


def test_a_further_rank_has_its_own_gpu_and_all_else_of_the_first(tmp_path):
    writer = RunWriter(tmp_path, {"run_id": "c.eager"})
    writer.record["environment"] = {**environment(0), "torch": "2.11", "nvml_index": 4}
    gpus = rank_gpus([environment(0), environment(1)], [{"nvml_index": 4}, {"nvml_index": 6}])
    (tmp_path / "ranks" / "1").mkdir(parents=True)
    folders = list(run_folders(writer, 2, gpus))
    own = json.loads((folders[1] / "run.json").read_text())["environment"]
    assert own == {**environment(1), "torch": "2.11", "nvml_index": 6}
    assert writer.record["environment"]["gpu_uuid"] == "GPU-0"


def test_without_a_sampler_the_gpus_are_those_that_torch_tells():
    gpus = rank_gpus([environment(0), environment(1)], [])
    assert rank_uuids(gpus) == {"rank_gpu_uuids": ["GPU-0", "GPU-1"]}
    assert rank_uuids(gpus[:1]) == {}
    assert rank_gpus([{"gpu": None, "device": "cpu"}] * 2, []) == []
