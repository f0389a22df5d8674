"""Loops that people run, captured side by side on one GPU: training, fp16, graphs, decoding.

    python -m benchmarks.loop_captures OUT [NAME …] [--minutes 4] [--device auto] [--size small]

Their answers and their breaks are what matters here: the captures share the GPU, so their step
times do not count. Each has a home of its own, so that no lock keeps them apart, and goes as
`OUT/NAME.tar.xz` when it ends, or when the time is over.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812, everybody writes it so

_EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
_LLAMA = str(_EXAMPLES / "llama_generate.py")
_ACCELERATE = str(_EXAMPLES / "accelerate_loop.py")
_BY_BLOCKS = "eager,default,default+target=blocks"
# name -> workload, variants, options
CAPTURES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "loss": (f"{__file__}:vit", "eager+bf16-autocast,default+bf16-autocast+target=loss", ()),
    "loss-optimizer": (f"{__file__}:vit", "eager+bf16-autocast,"
                       "default+bf16-autocast+target=loss:optimizer", ()),
    "as-is": (f"{__file__}:vit", "eager+bf16-autocast,as-is+bf16-autocast", ("own_compile=1",)),
    "fp16": (f"{__file__}:vit", "eager+fp16-autocast,default+fp16-autocast,"
             "reduce-overhead+fp16-autocast", ()),
    "graphs": (f"{__file__}:vit", "eager+bf16-autocast,reduce-overhead+bf16-autocast,"
               "reduce-overhead+bf16-autocast+target=loss", ()),
    "graphs-optimizer": (f"{__file__}:vit", "eager+bf16-autocast,"
                         "reduce-overhead+bf16-autocast+target=loss:optimizer", ("capturable=1",)),
    "graphs-optimizer-fp32": (f"{__file__}:vit", "eager,reduce-overhead+target=loss:optimizer",
                              ("capturable=1",)),
    "decode": ("decode", "eager,default,reduce-overhead", ()),
    "generate": (f"{_LLAMA}:build", "eager,default,reduce-overhead", ()),
    "generate-graphs": (f"{_LLAMA}:build", "eager,reduce-overhead", ()),
    "generate-steps": (f"{_LLAMA}:build_steps", "eager,reduce-overhead", ()),
    "accelerate": (f"{_ACCELERATE}:build", _BY_BLOCKS, ("size=large",)),
    "accelerate-bf16": (f"{_ACCELERATE}:build", _BY_BLOCKS,
                        ("size=large", "mixed_precision=bf16")),
    "lightning": (f"{_EXAMPLES / 'lightning_loop.py'}:build", "eager,default", ("size=large",)),
    "diffusion": (f"{_EXAMPLES / 'diffusion.py'}:build", "eager,default,reduce-overhead",
                  ("size=large",)),
}  # fmt: skip
_QUICK = (
    "--rounds=5", "--round-steps=5", "--round-seconds=0.05", "--telemetry-seconds=0", "--steps=3",
    "--no-memory", "--no-warm-compile",
)  # fmt: skip
_SIZES = {"tiny": (32, 2, 2, 16), "small": (384, 6, 6, 64)}  # width, heads, layers, pixels


class Block(nn.Module):
    """Of a vision transformer, with dropout."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x: (batch, patches, width)."""
        batch, n, width = x.shape
        shape = (batch, n, 3, self.n_heads, width // self.n_heads)
        parts = self.qkv(self.attention_norm(x)).view(shape).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts)
        x = x + self.dropout(self.out(seen.transpose(1, 2).reshape(batch, n, width)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm(x)))))


class ViT(nn.Module):
    """A small one."""

    def __init__(self, width: int, n_heads: int, n_layers: int, n_pixels: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.positions = nn.Parameter(torch.randn(1, (n_pixels // 8) ** 2, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, n_heads) for _ in range(n_layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """images: (batch, 3, pixels, pixels)."""
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def vit(
    size="small", batch_size=16, accumulate=2, own_compile=False, capturable=False, device="cpu"
):  # fmt: skip
    """AdamW over `accumulate` batches, clipped; its rate is a tensor that a scheduler changes."""
    model = ViT(*_SIZES[os.environ.get("LOOP_SIZE", size)])
    rate = torch.tensor(1e-3, device=device if capturable else "cpu")
    if own_compile:
        for block in model.blocks:
            block.compile()
    n_pixels = _SIZES[os.environ.get("LOOP_SIZE", size)][-1]
    return {
        "model": model,
        "batches": [
            (torch.randn(batch_size, 3, n_pixels, n_pixels), torch.randint(0, 100, (batch_size,)))
            for _ in range(2 * accumulate)
        ],
        "loss": lambda output, batch: F.cross_entropy(output, batch[1], label_smoothing=0.1),
        "optimizer": lambda parameters: torch.optim.AdamW(
            parameters, lr=rate, weight_decay=0.05, capturable=bool(capturable)
        ),
        "scheduler": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9),
        "accumulate": accumulate,
        "clip": 1.0,
    }


def main() -> None:
    """Capture what the command line names, all by default, until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=list(CAPTURES))
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", default="small", choices=list(_SIZES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory() as scratch:
        running = {name: _start(name, Path(scratch), arguments) for name in arguments.names}
        while running:
            for name, process in list(running.items()):
                if process.poll() is None and time.monotonic() > until:
                    process.terminate()
                    process.wait()
                if process.poll() is not None:
                    del running[name]
                    _keep(Path(scratch) / name, arguments.out / f"{name}.tar.xz")
                    left = until - time.monotonic()
                    print(f"{name}: status {process.returncode}, {left:.0f} s left", flush=True)
            time.sleep(0.2)


def _start(name: str, scratch: Path, arguments: argparse.Namespace) -> "subprocess.Popen[bytes]":
    workload, variants, options = CAPTURES[name]
    folder = scratch / name
    folder.mkdir()
    command = [
        *(sys.executable, "-m", "profiler_core", "capture", workload, "--variants", variants),
        *(part for option in options for part in ("--option", option)),
        *("--device", arguments.device, "--name", name, "--out", str(folder / "runs"), *_QUICK),
    ]
    environment = {
        **os.environ, "FUSIONSCOPE_HOME": str(scratch / f"{name}.home"),
        "TORCHINDUCTOR_COMPILE_THREADS": "2", "OMP_NUM_THREADS": "2",
        "LOOP_SIZE": arguments.size,
    }  # fmt: skip
    with (folder / "log.txt").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)


def _keep(folder: Path, archive: Path) -> None:
    with tarfile.open(archive, "w:xz", preset=6) as file:
        file.add(folder, folder.name)


if __name__ == "__main__":
    main()
