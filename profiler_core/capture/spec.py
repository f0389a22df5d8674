"""What a capture is asked to do. The page and the command line build the very same object.

`CaptureSpec.to_argv()` gives the words after `python -m profiler_core capture`, and
`spec_arguments.spec_from_namespace` reads them back to an equal spec. No torch in here.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from profiler_core.capture.built_in import (
    BUILT_IN_WORKLOADS,
    DISTRIBUTED_WORKLOADS,
    TRAINING_WORKLOADS,
)
from profiler_core.capture.compile_target import TARGETS, parse_targets
from profiler_core.capture.option import BadOption, Group, declared, option
from profiler_core.capture.option_texts import (
    Shape,
    parse_metrics,
    parse_option,
    parse_shapes,
    write_shapes,
)
from profiler_core.capture.round_plan import (
    DEFAULT_ROUND_SECONDS,
    DEFAULT_ROUND_STEPS,
    DEFAULT_ROUNDS,
    DEFAULT_TELEMETRY_SECONDS,
    TIMING_CAP_SECONDS,
)
from profiler_core.capture.sweep.request import Sweep, parse_sweep
from profiler_core.capture.torch_settings import OPTIONAL_LOGS
from profiler_core.capture.variant_spec import (
    BASES,
    COMMON_BACKENDS,
    MODES,
    PRECISIONS,
    Mode,
    Precision,
    VariantSpec,
    aimed,
    modifier_words,
    parse_variant,
    parse_variants,
)
from profiler_core.errors import BadInput

__all__ = [
    "BASES",
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


def _swept_names() -> str:
    from profiler_core.capture.sweep.parameters import PARAMETERS  # which sets fields of a spec

    return f"NAME is one of {', '.join(PARAMETERS)}, or option.KEY"


_WHAT: Group = "what is run"
_HOW: Group = "how it is measured"


@dataclass(frozen=True)
class CaptureSpec:
    """One capture: a workload, its variants (the first is the baseline), and how to measure.

    Every field is an option, declared here and nowhere else (`option.py` says what follows).
    `None` means that the workload or the machine decides. With a `sweep` it is a series of
    captures: `sweep.points.points_of` says which.
    """

    workload: str = option(
        help=f"one of {', '.join(BUILT_IN_WORKLOADS)}, any torchvision model by name, or your own "
        "path/to/file.py:function",
        positional=True,
    )
    variants: tuple[VariantSpec, ...] = option(
        (VariantSpec(), VariantSpec(compile=True, mode="default", backend="inductor")),
        help="comma-separated, the first is the baseline: "
        f"{', '.join((*BASES, *COMMON_BACKENDS))} or backend:NAME, each with "
        f"{', '.join(f'+{word}' for word in modifier_words())}, +target=… for what of it is "
        "compiled (as --compile-target, colons for commas), and +KEY=VALUE for an option of the "
        "backend (docs/backends.md)",
        parse=parse_variants,
        write=lambda variants: ",".join(variant.label for variant in variants),
        always=True,
    )
    device: str = option(
        "auto",
        help="where it runs: auto, cpu, cuda or cuda:N, xpu or xpu:N (Intel), mps (Apple)",
        pattern=r"auto|cpu|(cuda|xpu|mps)(:\d+)?",
        examples="auto, cpu, cuda, cuda:0, xpu, xpu:0 or mps",
    )
    python: str | None = option(
        None,
        label="Python environment",
        help="the environment that holds torch and the model: its folder, or its interpreter "
        "(default: the one that runs this)",
        placeholder="this server's own, or path/to/venv",
    )
    against: str | None = option(
        None,
        label="Against another version",
        help="another version to time in turns with this one, as the baseline: a branch, tag or "
        "commit of the repository of your file, the path of another copy of the file or its "
        "folder, or another environment; git:, path: or python: before it says which; "
        "patch:FILE takes your file as it is for the baseline, and times a copy with that unified "
        "diff applied",
        placeholder="main, path/to/copy or path/to/venv",
    )
    directory: str | None = option(
        None,
        label="Working directory",
        help="where the files lie that your code names by relative paths (default: the folder of "
        "its file, or of the outermost package around it)",
        placeholder="the folder of your project",
    )
    training: bool = option(
        False,
        group=_WHAT,
        label="One step is",
        help="training, where a step is forward, loss, backward and optimizer",
    )
    compile_target: tuple[str, ...] = option(
        (),
        group=_WHAT,
        metavar="TARGET,…",
        label="What is compiled",
        help="what each compiled variant compiles that has no +target= of its own: "
        + "; ".join(f"{name}, {meaning}" for name, meaning in TARGETS.items())
        + "; or paths of modules such as model.layers.* (default: what your function compiles by "
        "its argument compile, else the whole model)",
        parse=parse_targets,
        write=",".join,
        placeholder="blocks, or model.layers.*",
    )
    ranks: int | None = option(
        None,
        group=_WHAT,
        least=1,
        most=256,
        help="processes of one step, each on a GPU of its own: your function finds a process group "
        f"(default: 2 for {', '.join(sorted(DISTRIBUTED_WORKLOADS))}, else 1)",
        placeholder="auto",
    )
    batch_size: int | None = option(
        None,
        group=_WHAT,
        least=1,
        help="samples of one step (default: the workload's own)",
        placeholder="default",
    )
    shapes: tuple[Shape, ...] = option(
        (),
        group=_WHAT,
        label="Input shapes, cycled",
        help="whole shapes, batch included: each step takes the next one",
        parse=parse_shapes,
        write=write_shapes,
        placeholder="8x3x32x32,16x3x32x32",
    )
    options: tuple[tuple[str, str], ...] = option(
        (),
        group=_WHAT,
        flag="option",
        metavar="KEY=VALUE",
        label="Arguments of the workload's function",
        help="keyword argument of the workload's builder or of your function; repeatable",
        parse=parse_option,
        write="=".join,
        repeats=True,
        placeholder="layers=2",
    )
    logs: tuple[str, ...] = option(
        (),
        group=_HOW,
        metavar="NAME,…",
        label="Further logs",
        help="large ones, beside breaks, recompiles and CUDA graphs, which are always logged",
        choices=OPTIONAL_LOGS,
        placeholder="none",
    )
    name: str | None = option(
        None,
        label="Name of the comparison",
        help="what the comparison is called on the pages (default: the workload's name)",
        placeholder="the workload's",
    )
    seed: int = option(0, group=_WHAT, help="of weights, inputs and random numbers")
    rounds: int = option(
        DEFAULT_ROUNDS,
        group=_HOW,
        least=1,
        most=1_000_000,
        help="timed rounds, in which the variants take turns",
    )
    round_steps: int = option(
        DEFAULT_ROUND_STEPS,
        group=_HOW,
        least=1,
        most=1_000_000,
        label="Steps per round",
        help="least number of steps in a round",
    )
    round_seconds: float = option(
        DEFAULT_ROUND_SECONDS,
        group=_HOW,
        least=0,
        most=3600,
        step=0.1,
        label="Seconds per round",
        help="least time of a round",
        unit="s",
    )
    telemetry_seconds: float = option(
        DEFAULT_TELEMETRY_SECONDS,
        group=_HOW,
        least=0,
        most=3600,
        step=0.5,
        label="Seconds sampled",
        help="how long power, clocks and utilisation of a GPU are sampled; 0 switches sampling off",
        unit="s",
    )
    profile_wait: int = option(
        1, group=_HOW, least=0, most=5000, help="steps before the profiler's warm-up", on_page=False
    )
    profile_warmup: int = option(
        2, group=_HOW, least=0, most=5000, help="steps of the profiler's warm-up", on_page=False
    )
    steps: int = option(
        5, group=_HOW, least=1, most=10_000, label="Profiled steps", help="profiled steps"
    )
    profile: bool = option(
        True, group=_HOW, label="Profiled pass", help="what every step ran, and for how long"
    )
    stacks: bool = option(
        False,
        group=_HOW,
        label="Python stacks",
        help="a further pass with Python stacks; its times are not used",
    )
    counters: bool = option(
        False,
        group=_HOW,
        label="Hardware counters",
        help="what each kernel moves through DRAM and L2, measured by Nsight Compute (ncu) in a "
        "process of its own: about 0.3 s a kernel",
    )
    metrics: tuple[str, ...] = option(
        (),
        group=_HOW,
        metavar="NAME,…",
        label="Sampled metrics",
        help="performance metrics that torch's profiler samples meanwhile (NVIDIA, torch 2.15 "
        "and later); the GPU's clocks are locked then",
        parse=parse_metrics,
        write=",".join,
        placeholder="sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
    )
    memory: bool = option(
        True,
        group=_HOW,
        label="Memory snapshot",
        help="what was allocated, and where, in one step",
    )
    numerics: bool = option(
        True,
        group=_HOW,
        label="Check the answers",
        help="compare each variant's answers with an eager reference in fp64",
    )
    warm_compile: bool = option(
        True,
        group=_HOW,
        label="Warm compile time",
        help="compile again in a second process with the compiler's cache filled",
    )
    sweep: Sweep | None = option(
        None,
        group=_WHAT,
        metavar="NAME=V1,V2,…",
        label="Repeat for several values",
        help="a whole comparison for each value, one after another (batch-size=1,8,32,128), and "
        "the value from which compiling pays off",
        parse=parse_sweep,
        write=lambda sweep: sweep.text,
        only_once=True,
        more_help=_swept_names,
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be measured, and give each variant its compile target."""
        if not self.workload.strip():
            raise BadInput("No workload is given.", remedy="Name one, for example customcnn.")
        if not self.variants:
            raise BadInput("No variant is given.", remedy="Pass --variants eager,default.")
        for name, entry in declared(CaptureSpec).items():
            entry.check(getattr(self, name))
        if self.compile_target:
            # As if each variant had been written so: it reads back to an equal spec.
            try:
                object.__setattr__(self, "variants", aimed(self.variants, self.compile_target))
            except BadInput as bad:
                raise BadOption("compile_target", bad.problem, remedy=bad.remedy) from None
        if self.batch_size is not None and self.shapes:
            raise BadOption(
                "shapes",
                "Both a batch size and whole input shapes are given.",
                remedy="Put the batch into the shapes and leave --batch-size out.",
            )
        if self.counters and self.n_ranks > 1:
            raise BadOption(
                "counters",
                "Counters are measured kernel by kernel, and ranks would wait for each other.",
                remedy="Leave --counters out, or measure one rank.",
            )
        if self.against and self.sweep is not None:
            raise BadOption(
                "against",
                "A sweep has its own baselines.",
                remedy="Leave --sweep or --against out.",
            )
        if any(size < 1 for shape in self.shapes for size in shape):
            raise BadOption(
                "shapes", "An input shape has a size below 1.", remedy="Use positive sizes."
            )

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
    def parallel(self) -> str | None:
        """How ranks share the work, of a built-in workload; None: its own code alone knows."""
        return self.workload if self.workload in DISTRIBUTED_WORKLOADS else None

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
        return [
            argument
            for name, entry in declared(CaptureSpec).items()
            for argument in entry.words(getattr(self, name))
        ]
