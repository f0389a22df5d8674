"""What a variant sets in its process beside torch.compile: `+dynamo.KEY=VALUE`, `+threads=4`, ….

`capture/child/settings.py` obeys them, in the user's interpreter.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from profiler_core.errors import BadInput

Settings = tuple[tuple[str, str], ...]
DYNAMO = "dynamo."


@dataclass(frozen=True)
class ProcessSetting:
    """One of them. pattern: what its value must match; example: a value.

    only_compiled: it means nothing to an eager run. in_environment: a variable of the process.
    """

    key: str
    about: str
    pattern: str
    example: str
    only_compiled: bool = False
    in_environment: bool = False


SETTINGS: dict[str, ProcessSetting] = {
    setting.key: setting
    for setting in (
        ProcessSetting("threads", "torch.set_num_threads", r"[1-9]\d*", "4"),
        ProcessSetting(
            "cpus", "CPUs that the process is bound to", r"\d+(-\d+)?(:\d+(-\d+)?)*", "0-3"
        ),
        ProcessSetting(
            "sdpa",
            "the one backend of scaled_dot_product_attention",
            r"flash|efficient|cudnn|math",
            "flash",
        ),
        ProcessSetting(
            "optimizer", "implementation of the optimizer's step", r"fused|foreach", "fused"
        ),
        ProcessSetting(
            "regions",
            "each class of repeated blocks compiled once (torch.compiler.nested_compile_region)",
            r"nested",
            "nested",
            only_compiled=True,
        ),
        ProcessSetting(
            "bucket_cap_mb",
            "size of the buckets in which DistributedDataParallel sums gradients, MB",
            r"[1-9]\d{0,5}",
            "100",
        ),
        ProcessSetting(
            "prefetch", "how many blocks ahead FSDP2 gathers the weights", r"[1-9]\d?", "2"
        ),
        *(
            ProcessSetting(name, about, r"[1-9]\d?", "8", in_environment=True)
            for name, about in (
                ("NCCL_MAX_CTAS", "multiprocessors that a collective of NCCL takes at most"),
                ("NCCL_MIN_CTAS", "… at least"),
                ("NCCL_MAX_NCHANNELS", "the same of an NCCL before 2.17, at most"),
                ("NCCL_MIN_NCHANNELS", "… at least"),
            )
        ),
    )
}


def parted(given: Iterable[tuple[str, str]]) -> tuple[Settings, Settings]:
    """Keys and values of `+KEY=VALUE`: those that are settings, and the backend's options."""
    settings: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    for key, value in given:
        is_setting = key in SETTINGS or key.startswith(DYNAMO)
        (settings if is_setting else options).append((key, value))
    return tuple(settings), tuple(options)


def check(settings: Settings, text: str, *, is_compiled: bool) -> None:
    """Refuse what cannot be obeyed.

    Args:
        settings: keys and values.
        text: the whole variant, for the sentence.
        is_compiled: it runs under torch.compile.

    Raises:
        BadInput: a key twice, a value that its setting cannot have, or one without torch.compile.
    """
    keys = [key for key, _ in settings]
    for key, value in settings:
        if keys.count(key) > 1:
            raise BadInput(f"Variant '{text}' sets {key} twice.", remedy="Keep one of the two.")
        setting = SETTINGS.get(key)
        if setting is not None and not re.fullmatch(setting.pattern, value):
            raise BadInput(
                f"Variant '{text}' sets {key} to '{value}'.",
                remedy=f"Write it like {key}={setting.example}.",
            )
        if not is_compiled and (setting is None or setting.only_compiled):
            raise BadInput(
                f"Variant '{text}' sets {key} without torch.compile.",
                remedy="Use this word with a mode such as default.",
            )


def environment(settings: Settings) -> dict[str, str]:
    """The variables that a process is started with."""
    return {
        key: value for key, value in settings if key in SETTINGS and SETTINGS[key].in_environment
    }


def words(settings: Sequence[tuple[str, str]]) -> list[str]:
    """As they stand in a variant."""
    return [f"{key}={value}" for key, value in settings]
