"""Capture the shipped samples anew with the product's own command (`make samples`, on a GPU).

Each line of SAMPLES is one call of `python -m profiler_core capture`; its runs land in
sample_traces/<name>/<variant>/. README.md beside this file says which GPU and versions made the
ones that are committed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
THREE = "eager,default,reduce-overhead"
BF16 = "bf16-autocast+channels_last"

SAMPLES: dict[str, list[str]] = {
    "resnet50": ["resnet50", "--batch-size=32", f"--variants={THREE}"],
    "resnet50-bf16": [
        "resnet50",
        "--batch-size=32",
        "--variants=" + ",".join(f"{mode}+{BF16}" for mode in THREE.split(",")),
    ],
    "bert": ["bert", f"--variants={THREE}"],
    "customcnn": ["customcnn", f"--variants={THREE}"],
    "simplecnn-training": ["simplecnn", f"--variants={THREE}"],
    "breaky": ["breaky", f"--variants={THREE}"],
    "dynshape": ["dynshape", f"--variants={THREE}"],
    "ddp": [  # needs two GPUs
        "ddp",
        "--ranks=2",
        "--option=slow_rank=1",
        "--option=layers=6",
        "--rounds=10",
        "--steps=3",
        "--variants=eager,default",
    ],
}


def capture(name: str, out: Path) -> Path:
    """Capture one sample into `out`; returns the folder of the capture.

    Raises:
        subprocess.CalledProcessError: the capture command failed; its own words are on stderr.
    """
    argv = [sys.executable, "-m", "profiler_core", "capture", *SAMPLES[name]]
    subprocess.run(
        [*argv, f"--name={name}", f"--out={out}"], check=True, cwd=HERE.parent
    )
    return max(out.iterdir(), key=lambda folder: folder.stat().st_mtime)


def main(names: list[str]) -> None:
    """Capture the named samples, or all, and put them in the place of the old ones."""
    for name in names or list(SAMPLES):
        with tempfile.TemporaryDirectory() as scratch:
            captured = capture(name, Path(scratch))
            shutil.rmtree(HERE / name, ignore_errors=True)
            shutil.move(captured, HERE / name)
        print(f"{name}: {sum(f.stat().st_size for f in (HERE / name).rglob('*')) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
