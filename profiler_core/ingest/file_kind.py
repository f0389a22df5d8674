"""The description of one kind of file: its names, how it is recognised, and what reads it.

Each kind is one module of `ingest/formats/`. A `TraceFormat` is a kind that becomes a Trace.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Protocol

from profiler_core.ingest.columns import Source
from profiler_core.ingest.sniff import PACKED_ENDINGS, STORED_PACKED

# Called with (bytes read, bytes in all) of the file as it lies on the disk. To cancel, raise
# `errors.Cancelled` in it: nothing is left behind.
Progress = Callable[[int, int], None]

Options = Mapping[str, str | int]  # option's name -> what the user chose; absent: by the rule


class Role(Enum):
    """What a file is to its run; kinds of several makers share one. The value: Run's field."""

    TRACE = "trace"
    RECORD = "record"
    TORCH_LOGS = "torch_logs"
    TORCH_TRACE = "torch_trace"
    MEMORY_SNAPSHOT = "memory_snapshot"
    NVML = "nvml"
    HOST = "host"
    COUNTERS = "counters"
    ARCHIVE = "archive"  # holds files of the other roles
    NOT_READ = "not_read"  # known, and closed: `FileKind.remedy` says what to pass instead


# Written by torch's compiler: an upload gives them to the compiled run.
OF_THE_COMPILER = (Role.TORCH_LOGS, Role.TORCH_TRACE)


class Certainty(IntEnum):
    """By what a kind is recognised. The surer one is asked first, so that it wins."""

    MAGIC = 0  # the first bytes are of this format alone
    OWN_KEYS = 1  # words that only this format has, in its structure
    STRUCTURE = 2  # a structure that others have in part
    LINES = 3  # lines somewhere in the text
    WORDS = 4  # words of a program's output


@dataclass(frozen=True)
class RankHeader:
    """Rank and world size from the head of a trace; None where the head does not have them."""

    rank: int | None = None
    world_size: int | None = None


@dataclass(frozen=True)
class ReadOption:
    """What a user may choose about how one file is read.

    On the command line it is --<name>, in the environment FUSIONSCOPE_<NAME>; a choice of the
    page is kept for the file's content.
    """

    name: str  # an identifier
    type: type[str] | type[int]
    metavar: str
    help: str


class Reader(Protocol):
    """Reads one file of a TraceFormat."""

    def __call__(
        self, path: Path, progress: Progress | None, *, scratch: Path, options: Options, name: str
    ) -> AbstractContextManager[Source]:
        """Read the file; its tables are asked for while the context lasts.

        Args:
            path: the file, packed or not.
            progress: called with (bytes read, bytes in all).
            scratch: a folder for temporary files.
            options: those of `TraceFormat.options` that were chosen.
            name: what to call the file in errors.

        Raises:
            NotATrace: it is none after all.
            BadInput: it exceeds a limit, or an option does not fit.
        """


def _no_rank_header(_head: bytes) -> RankHeader:
    return RankHeader()


def _no_check(_path: Path) -> None:
    return None


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A kind of file that Fusionscope knows."""

    slug: str  # for keys: lower case, digits, underscores
    description: str  # in a sentence about one file: "a Kineto trace"
    plural: str  # in the list of what may be uploaded: "Kineto traces"
    role: Role
    certainty: Certainty
    is_it: Callable[[bytes], bool]  # asked with the first unpacked bytes; anything may stand there
    stored_as: str | None = None  # in a run directory, without the ending of a packing
    also_stored_as: tuple[str, ...] = ()  # what others call it there
    several: bool = False  # a run may have more than one; `stored_as` is their folder
    endings: tuple[str, ...] = ()  # of names, lower case; they help to name and to list, no more
    usual_words: frozenset[str] = frozenset()  # of names; they do not tell whose file it is
    remedy: str = ""  # what to pass instead of a file that is not read
    check: Callable[[Path], None] = _no_check  # raises NotATrace where the head deceives

    def stored_names(self) -> Iterator[str]:
        """The names that a file of this kind has in a run directory, packed or not."""
        stems = () if self.stored_as is None or self.several else (self.stored_as,)
        for stem in (*stems, *self.also_stored_as):
            yield from (stem + ending for ending in STORED_PACKED)


@dataclass(frozen=True, kw_only=True)
class TraceFormat(FileKind):
    """A kind of file that becomes a Trace."""

    read: Reader
    version: int = 1  # raise it when the reader's answer changes: kept columns are then read anew
    recorded_by: str  # the tool
    options: tuple[ReadOption, ...] = ()
    options_title: str = ""  # above them in the help of a verb
    # Called with the first unpacked bytes of the file.
    rank_header: Callable[[bytes], RankHeader] = _no_rank_header
    reads_unrecognised: bool = False  # its reader says what is wrong with a file of no kind

    def packed_endings(self) -> Iterator[str]:
        """The endings of its names, packed or not."""
        for ending in self.endings:
            yield ending
            yield from (ending + packed for packed in PACKED_ENDINGS)
