"""One rank of two that check the built-in jobs' answers; prints what each candidate is.

python rank_checks.py RANK FOLDER WORKLOAD …
"""

import json
import sys
from pathlib import Path

import torch

from profiler_core.capture.child import numerics, parallel, variants, workloads
from profiler_core.capture.spec import parse_variant

SMALL = {"width": "16", "length": "4", "layers": "2", "microbatches": "2"}
CANDIDATES = {
    "whole": "backend:aot_eager",
    "blocks": "backend:aot_eager+target=blocks",
    "planted": "backend:off_on_rank_1",
}


def off_on_rank_1(graph, example_inputs):
    """A compiler that is wrong on one rank of the job."""
    factor = 1.01 if torch.distributed.get_rank() == 1 else 1.0
    return lambda *arguments: tuple(value * factor for value in graph(*arguments))


def main():
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    cpu = torch.device("cpu")
    ranks = {"rank": rank, "world_size": 2, "store": str(folder / "store")}
    parallel.join(ranks, cpu)
    torch._dynamo.register_backend(off_on_rank_1, name="off_on_rank_1")
    answers = {}
    for workload in sys.argv[3:]:
        options = {**SMALL, "layers": "4"} if workload == "pp" else dict(SMALL)
        if workload != "pp":
            del options["microbatches"]
        bench = numerics.Bench(workloads.Request(workload, 2, (), options, True, 0), cpu)
        path = str(folder / f"{workload}-{rank}.pt")
        numerics.make_reference(bench, _variant("eager"), path)
        for name, text in CANDIDATES.items():
            torch._dynamo.reset()
            answers[f"{workload} {name}"] = numerics.compare(bench, _variant(text), path, None)
    print(json.dumps(answers))


def _variant(text):
    return variants.variant_from(parse_variant(text).to_dict())


if __name__ == "__main__":
    main()
