"""The command line of a capture: argparse words <-> CaptureSpec."""

import argparse

from profiler_core.capture import spec as defaults
from profiler_core.capture.spec import (
    CaptureSpec,
    Sweep,
    parse_option,
    parse_shapes,
    parse_sweep,
    parse_variants,
)
from profiler_core.capture.sweep.parameters import PARAMETERS
from profiler_core.capture.sweep.points import points_of
from profiler_core.errors import BadInput


def add_spec_arguments(parser: argparse.ArgumentParser) -> None:
    """Add every word that `CaptureSpec.to_argv` can write."""
    known = ", ".join(defaults.BUILT_IN_WORKLOADS)
    parser.add_argument(
        "workload",
        help=f"{known}, any torchvision model by name, or your own path/to/file.py:function",
    )
    parser.add_argument(
        "--variants",
        default="eager,default",
        help="comma-separated, the first is the baseline: eager, default, reduce-overhead, "
        "max-autotune, backend:NAME, torchscript, each with +dynamic, +static, +fullgraph, "
        "+tf32, +bf16-autocast, +fp16-autocast, +bf16, +fp16, +channels_last, and +KEY=VALUE for "
        "an option of the backend (docs/backends.md)",
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    parser.add_argument(
        "--python",
        help="interpreter whose environment holds the model, or that environment's folder",
    )
    parser.add_argument(
        "--directory",
        help="working directory of your code (default: the folder of its file, or of the outermost "
        "package around it)",
    )
    parser.add_argument("--name", help="what the comparison is called on the pages")
    what = parser.add_argument_group("what is run")
    what.add_argument("--training", action="store_true", help="a training step, not inference")
    what.add_argument("--batch-size", type=int)
    what.add_argument(
        "--ranks",
        type=int,
        help="processes of one step, each on a GPU of its own: your function finds a process group",
    )
    what.add_argument("--shapes", help="whole input shapes, cycled: 8x3x32x32,16x3x32x32")
    what.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE",
        help="keyword argument of the workload's builder or of your function; repeatable",
    )  # fmt: skip
    what.add_argument("--seed", type=int, default=0)
    what.add_argument(
        "--sweep", action="append", default=[], metavar="NAME=V1,V2,…",
        help="a whole comparison for each value, one after another: batch-size=1,8,32,128; "
        f"NAME is one of {', '.join(PARAMETERS)}, or option.KEY",
    )  # fmt: skip
    how = parser.add_argument_group("how it is measured")
    how.add_argument("--rounds", type=int, default=defaults.DEFAULT_ROUNDS)
    how.add_argument("--round-steps", type=int, default=defaults.DEFAULT_ROUND_STEPS)
    how.add_argument("--round-seconds", type=float, default=defaults.DEFAULT_ROUND_SECONDS)
    how.add_argument("--telemetry-seconds", type=float, default=defaults.DEFAULT_TELEMETRY_SECONDS)
    how.add_argument("--steps", type=int, default=5, help="profiled steps")
    how.add_argument("--profile-wait", type=int, default=1)
    how.add_argument("--profile-warmup", type=int, default=2)
    how.add_argument(
        "--logs",
        default="",
        metavar="NAME,…",
        help="further TORCH_LOGS, large: " + ", ".join(defaults.OPTIONAL_LOGS),
    )
    how.add_argument("--no-profile", action="store_true", help="leave the profiled pass out")
    how.add_argument("--stacks", action="store_true", help="add a pass with Python stacks")
    how.add_argument(
        "--counters",
        action="store_true",
        help="add a pass under Nsight Compute (ncu): what each kernel moves through DRAM and L2",
    )
    how.add_argument("--no-memory", action="store_true", help="leave the memory pass out")
    how.add_argument("--no-numerics", action="store_true", help="do not check the answers")
    how.add_argument("--no-warm-compile", action="store_true", help="skip the warm compile time")


def spec_from_namespace(arguments: argparse.Namespace) -> CaptureSpec:
    """Build the spec; the inverse of `CaptureSpec.to_argv`.

    Raises:
        BadInput: a value cannot be read or used.
    """
    spec = CaptureSpec(
        workload=arguments.workload,
        variants=parse_variants(arguments.variants),
        device=arguments.device,
        python=arguments.python,
        directory=arguments.directory,
        training=arguments.training,
        ranks=arguments.ranks,
        batch_size=arguments.batch_size,
        shapes=parse_shapes(arguments.shapes) if arguments.shapes else (),
        options=tuple(parse_option(text) for text in arguments.option),
        logs=tuple(name.strip() for name in arguments.logs.split(",") if name.strip()),
        name=arguments.name,
        seed=arguments.seed,
        rounds=arguments.rounds,
        round_steps=arguments.round_steps,
        round_seconds=arguments.round_seconds,
        telemetry_seconds=arguments.telemetry_seconds,
        profile_wait=arguments.profile_wait,
        profile_warmup=arguments.profile_warmup,
        steps=arguments.steps,
        profile=not arguments.no_profile,
        stacks=arguments.stacks,
        counters=arguments.counters,
        memory=not arguments.no_memory,
        numerics=not arguments.no_numerics,
        warm_compile=not arguments.no_warm_compile,
        sweep=_sweep(arguments.sweep),
    )
    points_of(spec)  # each point is checked before the first one starts
    return spec


def _sweep(texts: list[str]) -> Sweep | None:
    if len(texts) > 1:
        raise BadInput(
            f"{len(texts)} sweeps are given: {' and '.join(texts)}.",
            remedy="Sweep one option at a time.",
        )
    return parse_sweep(texts[0]) if texts else None
