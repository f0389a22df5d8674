"""What a capture is asked to do. The page and the command line build the very same object.

`CaptureSpec.to_argv()` gives the words after `python -m profiler_core capture`, and
`spec_arguments.spec_from_namespace` reads them back to an equal spec. No torch in here.
"""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from profiler_core.capture.round_plan import (
    DEFAULT_ROUND_SECONDS,
    DEFAULT_ROUND_STEPS,
    DEFAULT_ROUNDS,
    DEFAULT_TELEMETRY_SECONDS,
    TIMING_CAP_SECONDS,
)
from profiler_core.capture.sweep.asked import Sweep, parse_sweep
from profiler_core.capture.torch_settings import OPTIONAL_LOGS
from profiler_core.capture.variant_spec import (
    COMMON_BACKENDS,
    MODES,
    PRECISIONS,
    Mode,
    Precision,
    VariantSpec,
    parse_variant,
    parse_variants,
)
from profiler_core.errors import BadInput

__all__ = [
    "BUILT_IN_WORKLOADS",
    "COMMON_BACKENDS",
    "DEFAULT_ROUNDS",
    "DEFAULT_ROUND_SECONDS",
    "DEFAULT_ROUND_STEPS",
    "DEFAULT_TELEMETRY_SECONDS",
    "MODES",
    "OPTIONAL_LOGS",
    "PRECISIONS",
    "TIMING_CAP_SECONDS",
    "CaptureSpec",
    "Mode",
    "Precision",
    "Sweep",
    "VariantSpec",
    "parse_option",
    "parse_shapes",
    "parse_sweep",
    "parse_variant",
    "parse_variants",
]

Shape = tuple[int, ...]

# name -> what it is, shown by doctor and by the page. Any other torchvision model goes by its own
# name; the child knows how each is built.
BUILT_IN_WORKLOADS: dict[str, str] = {
    "customcnn": "three-convolution CNN, batch 1, 224 x 224",
    "simplecnn": "SimpleCNN training loop, batch 64, 32 x 32",
    "resnet50": "ResNet-50 of torchvision, batch 8, 224 x 224",
    "bert": "BERT-base of transformers with random weights, batch 8, length 128",
    "transformer": "transformer encoder block, batch 8, length 256, width 512",
    "unet": "U-Net block of the Stable Diffusion kind, batch 2, 64 x 64",
    "breaky": "two linear layers with graph breaks: data-dependent if, print, counter",
    "dynshape": "two convolutions under twelve input shapes in turn: recompiles",
    "ddp": "transformer blocks trained on several ranks with DistributedDataParallel",
    "fsdp": "transformer blocks trained on several ranks with FSDP2 (fully_shard)",
}

# These are training loops, asked for or not.
DISTRIBUTED_WORKLOADS = frozenset({"ddp", "fsdp"})
TRAINING_WORKLOADS = DISTRIBUTED_WORKLOADS | {"simplecnn"}


@dataclass(frozen=True)
class CaptureSpec:
    """One capture: a workload, its variants (the first is the baseline), and how to measure.

    Every default is the design's; `None` means that the workload or the machine decides.
    `shapes` are whole input shapes, batch included, cycled step by step. `options` are keyword
    arguments of the workload's builder (or of the user's function), values as text. With a `sweep`
    it is a series of captures: `sweep.points.points_of` says which.
    """

    workload: str
    variants: tuple[VariantSpec, ...] = (
        VariantSpec(),
        VariantSpec(compile=True, mode="default", backend="inductor"),
    )
    device: str = "auto"  # auto, cpu, cuda or cuda:N
    python: str | None = None  # the interpreter whose environment holds the model
    directory: str | None = None  # working directory of the user's code; None: its project's
    training: bool = False
    ranks: int | None = None  # processes of one step; None: two for DISTRIBUTED_WORKLOADS, else one
    batch_size: int | None = None
    shapes: tuple[Shape, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    logs: tuple[str, ...] = ()  # of OPTIONAL_LOGS, beside those that are always collected
    name: str | None = None
    seed: int = 0
    rounds: int = DEFAULT_ROUNDS
    round_steps: int = DEFAULT_ROUND_STEPS
    round_seconds: float = DEFAULT_ROUND_SECONDS
    telemetry_seconds: float = DEFAULT_TELEMETRY_SECONDS
    profile_wait: int = 1
    profile_warmup: int = 2
    steps: int = 5  # profiled (active) steps
    profile: bool = True
    stacks: bool = False
    counters: bool = False  # a pass under Nsight Compute
    memory: bool = True
    numerics: bool = True
    warm_compile: bool = True
    sweep: Sweep | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be measured, before any process is started."""
        if not self.workload.strip():
            raise BadInput("No workload is given.", remedy="Name one, for example customcnn.")
        if not self.variants:
            raise BadInput("No variant is given.", remedy="Pass --variants eager,default.")
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise BadInput(
                f"Device '{self.device}' is unknown.", remedy="Use auto, cpu, cuda or cuda:0."
            )
        for name in self.logs:
            if name not in OPTIONAL_LOGS:
                raise BadInput(
                    f"Log '{name}' is unknown.", remedy=f"Choose from {', '.join(OPTIONAL_LOGS)}."
                )
        if self.batch_size is not None and self.shapes:
            raise BadInput(
                "Both a batch size and whole input shapes are given.",
                remedy="Put the batch into the shapes and leave --batch-size out.",
            )
        for name, value, least in (
            ("--ranks", self.ranks, 1),
            ("--batch-size", self.batch_size, 1),
            ("--rounds", self.rounds, 1),
            ("--round-steps", self.round_steps, 1),
            ("--round-seconds", self.round_seconds, 0.0),
            ("--telemetry-seconds", self.telemetry_seconds, 0.0),
            ("--profile-wait", self.profile_wait, 0),
            ("--profile-warmup", self.profile_warmup, 0),
            ("--steps", self.steps, 1),
        ):
            if value is not None and value < least:
                raise BadInput(f"{name} is {value}.", remedy=f"Pass {least} or more.")
        if self.counters and self.n_ranks > 1:
            raise BadInput(
                "Counters are measured kernel by kernel, and ranks would wait for each other.",
                remedy="Leave --counters out, or measure one rank.",
            )
        if any(size < 1 for shape in self.shapes for size in shape):
            raise BadInput("An input shape has a size below 1.", remedy="Use positive sizes.")

    @property
    def is_user_code(self) -> bool:
        """The workload is `path/to/file.py:function`."""
        return ".py:" in self.workload or self.workload.endswith(".py")

    @property
    def trains(self) -> bool:
        """A step is forward, loss, backward and optimizer."""
        return self.training or self.workload in TRAINING_WORKLOADS

    @property
    def n_ranks(self) -> int:
        """Processes that make one step together."""
        if self.ranks is not None:
            return self.ranks
        return 2 if self.workload in DISTRIBUTED_WORKLOADS else 1

    @property
    def workload_name(self) -> str:
        """The workload without the folders of its path."""
        return Path(self.workload).name if self.is_user_code else self.workload

    @property
    def title(self) -> str:
        """What people read: the given name, or the workload with its batch size."""
        batch = f" b{self.batch_size}" if self.batch_size is not None else ""
        title = self.name or f"{self.workload_name}{batch}{' training' if self.trains else ''}"
        return title if self.sweep is None else f"{title}, sweep of {self.sweep.parameter}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: `capture.json`."""
        plain = asdict(self)
        plain["variants"] = [variant.label for variant in self.variants]
        return plain

    def to_argv(self) -> list[str]:
        """The words after `python -m profiler_core capture` that give this very spec."""
        words = [self.workload, "--variants", ",".join(v.label for v in self.variants)]
        fresh = CaptureSpec(workload=self.workload)
        for flag, value, default in (
            ("--device", self.device, fresh.device),
            ("--python", self.python, None),
            ("--directory", self.directory, None),
            ("--ranks", self.ranks, None),
            ("--batch-size", self.batch_size, None),
            ("--name", self.name, None),
            ("--seed", self.seed, fresh.seed),
            ("--rounds", self.rounds, fresh.rounds),
            ("--round-steps", self.round_steps, fresh.round_steps),
            ("--round-seconds", self.round_seconds, fresh.round_seconds),
            ("--telemetry-seconds", self.telemetry_seconds, fresh.telemetry_seconds),
            ("--profile-wait", self.profile_wait, fresh.profile_wait),
            ("--profile-warmup", self.profile_warmup, fresh.profile_warmup),
            ("--steps", self.steps, fresh.steps),
        ):
            if value != default:
                words += [f"{flag}={value}"]
        if self.shapes:
            words += ["--shapes", ",".join("x".join(map(str, shape)) for shape in self.shapes)]
        if self.sweep is not None:
            words += [f"--sweep={self.sweep.text}"]
        if self.logs:
            words += ["--logs", ",".join(self.logs)]
        for key, text in self.options:
            words += [f"--option={key}={text}"]
        if self.training:
            words.append("--training")
        if self.stacks:
            words.append("--stacks")
        if self.counters:
            words.append("--counters")
        for flag, wanted in (
            ("--no-profile", self.profile),
            ("--no-memory", self.memory),
            ("--no-numerics", self.numerics),
            ("--no-warm-compile", self.warm_compile),
        ):
            if not wanted:
                words.append(flag)
        return words


def parse_shapes(text: str) -> tuple[Shape, ...]:
    """Read `8x3x32x32,16x3x32x32`.

    Raises:
        BadInput: a size is no whole number.
    """
    try:
        return tuple(
            tuple(int(size) for size in re.split(r"[x*]", part.strip()))
            for part in text.split(",")
            if part.strip()
        )
    except ValueError:
        raise BadInput(
            f"Shapes '{text}' cannot be read.", remedy="Write them like 8x3x32x32,16x3x32x32."
        ) from None


def parse_option(text: str) -> tuple[str, str]:
    """Read `layers=2`, a keyword argument of the workload's builder.

    Raises:
        BadInput: no `=`, or the key is no Python name.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip().isidentifier():
        raise BadInput(f"Option '{text}' cannot be read.", remedy="Write it like layers=2.")
    return key.strip(), value.strip()
