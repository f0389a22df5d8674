"""What a search can choose from, and settings as variants."""

from collections.abc import Sequence
from dataclasses import dataclass

from profiler_core.model.experiment import Setting

MODE = "mode"
EAGER = "eager"
DEFAULT_MODE = "default"
# Inductor compiles and times up to some twenty kernels for each shape: on an H200, ResNet-50 with
# max-autotune was not compiled after 335 s, of which autotuning took 294.
_SLOW_TO_COMPILE = ("max-autotune", "max_autotune_gemm=true")


def is_slow_to_compile(setting: Setting) -> bool:
    """Whether it compiles for minutes, where others take seconds."""
    return any(word.startswith(_SLOW_TO_COMPILE) for _, word in setting)


@dataclass(frozen=True)
class Choice:
    """One value of a lever. worth: what is tried first among those that no finding speaks for."""

    lever: str
    word: str
    worth: float = 0.0


def with_choice(setting: Setting, choice: Choice) -> Setting:
    """The setting with this value of the lever; the mode stands first, others as they came."""
    if choice.lever == MODE and choice.word == DEFAULT_MODE:
        return without(setting, MODE)
    pair = (choice.lever, choice.word)
    if choice.lever in dict(setting):
        return tuple(pair if lever == choice.lever else (lever, word) for lever, word in setting)
    return (pair, *setting) if choice.lever == MODE else (*setting, pair)


def without(setting: Setting, lever: str) -> Setting:
    """The setting with the lever left alone."""
    return tuple(pair for pair in setting if pair[0] != lever)


def same(setting: Setting) -> frozenset[tuple[str, str]]:
    """Equal for settings that differ in nothing but the order of their words."""
    return frozenset(setting)


def variant_of(setting: Setting) -> str:
    """As `capture` takes it: `max-autotune+bf16-autocast`."""
    chosen = dict(setting)
    rest = [word for lever, word in setting if lever != MODE]
    return "+".join([chosen.get(MODE, DEFAULT_MODE), *rest])


def difference(setting: Setting, other: Setting) -> tuple[str, ...]:
    """The levers in which two settings differ."""
    mine, others = dict(setting), dict(other)
    levers = dict.fromkeys([*mine, *others])
    return tuple(lever for lever in levers if mine.get(lever) != others.get(lever))


def combined(setting: Setting, choices: Sequence[Choice]) -> Setting:
    """The setting with all of them; of one lever the first."""
    for choice in reversed(choices):
        setting = with_choice(setting, choice)
    return setting
