"""Two pairs that Inductor leaves apart, fused by hand: the bound that the product names, and truth.

    python benchmarks/unfused_by_hand.py --folder FOLDER [--measure | --tell]

On a GPU with Triton; `--measure` needs torch alone, and `--tell` reads what it left where the
product is installed. For each pair two functions give the same result: the plain one, which
torch.compile makes two kernels of, and one in which a Triton kernel does both at once.

* pool: relu(a * x + b), then max_pool2d(2). Inductor writes the activation and reads it again,
  since the two loop over different ranges; by hand each program pools what it activates.
* columns: gelu'(x) * g, then its sum over the rows (the bias' gradient of a linear layer), both of
  which the backward needs. Inductor writes the product and a second kernel reads it by columns; by
  hand each program sums the rows of its block as it writes them, and a small kernel adds up.

Each is compiled and profiled with Inductor's structured log, read by the product, and its pair
looked up; then both functions are timed in turns without the profiler. Printed are the bound
(`at_stake_ns`), what is saved, and the largest difference of the results.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_NAMES = ("pool", "columns")
_ROUNDS, _CALLS = 30, 20


def main() -> None:
    """Print one line for each pair."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="for logs and traces; is made")
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--measure", action="store_true", help="on the GPU, without the product")
    half.add_argument("--tell", action="store_true", help="what was measured, beside the bound")
    asked = parser.parse_args()
    for name in _NAMES:  # of unfused_kernels.py, which needs Triton
        if asked.tell:
            continue
        if (pid := os.fork()) == 0:  # torch opens its structured log once a process
            _measure(name, asked.folder / name)
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            raise SystemExit(f"{name} failed")
    for name in () if asked.measure else _NAMES:
        measured = json.loads((asked.folder / name / "measured.json").read_text())
        bound = _predicted(asked.folder / name, measured["device"], measured["between"])
        print(f"{name}: {measured['text']}; bound {bound}")


def _measure(name: str, folder: Path) -> None:
    logs = folder / "torch_trace"
    shutil.rmtree(folder, ignore_errors=True)  # logs of an earlier call would be read too
    logs.mkdir(parents=True)
    os.environ["TORCH_TRACE"] = str(logs)
    os.environ["TORCH_LOGS"] = "fusion"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache")
    import torch
    from unfused_kernels import PAIRS

    pair = PAIRS[name]
    inputs = pair.inputs()
    compiled = torch.compile(pair.plain)
    with torch.no_grad():
        results = list(zip(compiled(*inputs), pair.by_hand(*inputs), strict=True))
        off = max(float((a - b).abs().max()) for a, b in results)
        if not all(torch.allclose(a, b, rtol=1e-3, atol=1e-2) for a, b in results):
            raise SystemExit(f"{name}: by hand it is another result, off by {off:.2e}")
        _profile(torch, lambda: compiled(*inputs), folder / "trace.json.gz")
        before, after = _in_turns(torch, (lambda: compiled(*inputs), lambda: pair.by_hand(*inputs)))
    text = (
        f"compiled {before:.2f} µs, by hand {after:.2f} µs, saved {before - after:.2f} µs; "
        f"largest difference {off:.2e}"
    )
    measured = {
        "text": text, "device": torch.cuda.get_device_name(), "between": pair.names,
        "compiled_us": round(before, 2), "by_hand_us": round(after, 2),
    }  # fmt: skip
    (folder / "measured.json").write_text(json.dumps(measured))
    print(f"{name}: {text}")


def _predicted(folder: Path, device: str, between: Sequence[str]) -> str:
    """What the product says of the pair whose calls have these texts in their names."""
    from profiler_core.analysis.device_peaks import peaks_of
    from profiler_core.analysis.ledger.sides import LedgerSide
    from profiler_core.analysis.unfused.report import unfused
    from profiler_core.ingest.inductor.reader import read_inductor
    from profiler_core.ingest.kineto.reader import read_kineto

    side = LedgerSide(
        read_kineto(folder / "trace.json.gz"),
        read_inductor(tuple((folder / "torch_trace").iterdir())),
    )
    pairs = unfused(side, None, peaks_of(device))
    for pair in pairs:
        if between[0] in pair.writer and between[1] in pair.reader:
            cached = ", fits in the cache" if pair.fits_in_cache else ""
            return f"{pair.at_stake_ns / 1e3:.2f} µs ({pair.reason.key}{cached})"
    return "none: " + "; ".join(f"{pair.writer} -> {pair.reader}" for pair in pairs)


def _profile(torch, call: Callable[[], object], path: Path) -> None:
    """Write a trace of 5 calls, as soon as their cycle ends: the next one begins empty."""
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=3, active=5, repeat=1),
        record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        for _ in range(8):
            call()
            torch.cuda.synchronize()
            profiler.step()
    if not path.exists():
        raise SystemExit(f"{path}: the profiler wrote no trace")


def _in_turns(torch, calls) -> list[float]:
    """Median time of one call of each, µs, between events on the device."""
    rounds: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    for _ in range(_ROUNDS):
        for times, call in zip(rounds, calls, strict=True):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(2_000_000)  # the host is ahead: the device alone is timed
            start.record()
            for _ in range(_CALLS):
                call()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) * 1e3 / _CALLS)
    return [statistics.median(times) for times in rounds]


if __name__ == "__main__":
    main()
