"""What a user may choose about one export: its steps and its process.

Kept by the file's content in `<home>/nsight_systems/`, so that the page's choice holds for every
later opening; the command line's holds for the one command, and goes before it.
"""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profiler_core.home import home_directory

STEP_RANGE, PROCESS = "FUSIONSCOPE_STEP_RANGE", "FUSIONSCOPE_PROCESS"


@dataclass(frozen=True)
class Choice:
    """step_range: a range's text, digits do not matter, * is anything; None: by the rule."""

    step_range: str | None = None
    process: int | None = None  # pid; None: the one with most device time

    @property
    def suffix(self) -> str:
        """What tells columns read by this choice from others; empty for none."""
        if self == AS_IT_IS:
            return ""
        return f"-{zlib.crc32(repr((self.step_range, self.process)).encode()):08x}"


AS_IT_IS = Choice()


def chosen(key: str) -> Choice:
    """The choice for the file with this fingerprint."""
    kept = _kept(key)
    process = os.environ.get(PROCESS, "")
    return Choice(
        os.environ.get(STEP_RANGE) or kept.step_range,
        int(process) if process.isdecimal() else kept.process,
    )


def keep(key: str, choice: Choice) -> None:
    """Let this choice hold for the file from now on; AS_IT_IS forgets it.

    Raises:
        OSError: the home cannot be written.
    """
    file = _file(key)
    if choice == AS_IT_IS:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    aside.write_bytes(msgspec.json.encode(choice))
    aside.replace(file)


def _kept(key: str) -> Choice:
    try:
        return msgspec.json.decode(_file(key).read_bytes(), type=Choice)
    except (OSError, msgspec.MsgspecError):
        return AS_IT_IS


def _file(key: str) -> Path:
    return home_directory() / "nsight_systems" / f"{key}.json"
