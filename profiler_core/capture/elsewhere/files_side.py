"""Lists and sends the files of a folder on another machine; standard library only, Python 3.8 on.

Its text goes over ssh. Standard input: one JSON line with `folder` and `names`. Without names it
prints a JSON object, each file's path below the folder with size and time; with them a tar archive.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import tarfile
from pathlib import Path

_MOST_FILES = 20_000


def main() -> int:
    """Do what standard input asks for; returns the exit status, 3 where there is no such folder."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return 1
        line += byte
    order = json.loads(line)
    folder = Path(order["folder"]).expanduser()
    if not folder.is_dir():
        return 3
    if order["names"] is None:
        sys.stdout.write(json.dumps(listing(folder)))
        return 0
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for name in order["names"]:
            archive.add(str(folder / name), arcname=name)
    return 0


def listing(folder: Path) -> dict[str, list[float]]:
    """Size in bytes and time of each plain file below the folder: no links, which lead anywhere."""
    files: dict[str, list[float]] = {}
    for top, _, names in os.walk(str(folder)):
        for name in names:
            path = Path(top) / name
            try:
                status = path.lstat()
            except OSError:  # it was renamed meanwhile
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            files[str(path.relative_to(folder))] = [status.st_size, status.st_mtime]
            if len(files) >= _MOST_FILES:
                return files
    return files


if __name__ == "__main__":
    sys.exit(main())
