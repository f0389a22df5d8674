"""What the owner of this installation decided: `<home>/settings.toml`, all of it optional.

    allow_capture = true                 # on a server that others can reach; sign-in is needed too
    open_below = ["/data/traces"]        # folders from which files may be opened by their path
    largest_upload_gb = 8.0

Decisions, not preferences: what a person picks on a page lives in the URL.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profiler_core.errors import BadInput
from profiler_core.home import home_directory

FILE = "settings.toml"
_GB = 10**9


@dataclass(frozen=True)
class Settings:
    """The decisions, with what holds where nothing was decided."""

    allow_capture: bool = False
    open_below: tuple[Path, ...] | None = None  # None: the user's home, on a local server only
    largest_upload_bytes: int = 8 * _GB


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    allow_capture: bool = False
    open_below: list[str] | None = None
    largest_upload_gb: float = 8.0


def settings() -> Settings:
    """Read the file anew: it is small, and a change should hold without a restart.

    Raises:
        BadInput: it cannot be read or says something unknown. Nothing is guessed then, since
            these are decisions about safety.
    """
    path = home_directory() / FILE
    try:
        said = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _File)
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError) as error:  # both decoders raise kinds of ValueError
        raise BadInput(
            f"{path} cannot be used: {error}.",
            remedy="Correct it; it may hold allow_capture, open_below and largest_upload_gb.",
        ) from error
    below = said.open_below
    return Settings(
        allow_capture=said.allow_capture,
        open_below=None if below is None else tuple(Path(p).expanduser() for p in below),
        largest_upload_bytes=int(said.largest_upload_gb * _GB),
    )
