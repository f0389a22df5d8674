"""Backups of the history and the files of a home, made while a server works, and put back.

    back_up(target, Choice())     -> Manifest; a folder that keeps several, or one .zip
    restore(source)               -> Restored; into an empty home and an empty database
    check(source)                 -> Manifest; reads all of it and compares the hashes

A backup holds the rows of the history from one moment (`store/history/dump.py`), and files, each
known by its SHA-256. Its manifest is written last: without one there is no backup.
"""

from profiler_core.store.backup.making import back_up
from profiler_core.store.backup.manifest import Manifest
from profiler_core.store.backup.restoring import Restored, check, restore
from profiler_core.store.backup.selection import Choice

__all__ = ["Choice", "Manifest", "Restored", "back_up", "check", "restore"]
