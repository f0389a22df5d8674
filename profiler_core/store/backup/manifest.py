"""What a backup holds, as it stands in its manifest."""

import msgspec

FORMAT = 1
ROWS = "history.jsonl"  # the path of the rows among the files of a backup


class BackupFile(msgspec.Struct, frozen=True):
    """One file. path: below the home, or `ROWS`."""

    path: str
    n_bytes: int
    sha256: str
    mtime_ns: int


class LeftOut(msgspec.Struct, frozen=True):
    """Something of the home that is not in the backup, and why."""

    path: str
    reason: str


class Manifest(msgspec.Struct, frozen=True):
    """A backup."""

    format: int
    made_at: str  # ISO 8601, UTC
    version: str  # of Fusionscope
    n_rows: dict[str, int]  # of each table
    files: tuple[BackupFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    n_new_bytes: int = 0  # that no earlier backup of the same folder held
    n_runs: int | None = None  # that the history lists; None: of a version that did not count them

    @property
    def n_bytes(self) -> int:
        """Of all files."""
        return sum(file.n_bytes for file in self.files)

    @property
    def n_run_folders(self) -> int:
        """Folders of runs in it: one run may lie in several, or only among the artifacts."""
        return sum(file.path.endswith("/run.json") for file in self.files)
