"""The kept list of all runs: what pages, agents and the command line list without a directory walk.

    groups(Wanted(origins=("capture",), words="bert bf16"), offset=25, limit=25) -> Page
    group("run/20261121-1248-bert")
    newest(100), line_of(keys)   -> lines of menus, with the labels of their runs
    first(), jobs(4), sweep_groups(8), n_sweeps()
    not_noted(where)             -> ended runs that the history there may lack
    refresh(everything=True)     -> looks at each folder anew

The list lies in `<home>/library.sqlite3`, shared by all processes over this home. It says nothing
that the folders do not say, and is made again where it is missing or damaged. `keeping.py` says
when a folder is looked at again.
"""

from profiler_core.store.catalogue.keeping import one_look, refresh
from profiler_core.store.catalogue.query import (
    Line,
    Page,
    Wanted,
    first,
    group,
    groups,
    jobs,
    line_of,
    n_groups,
    n_sweeps,
    newest,
    sweep_groups,
)
from profiler_core.store.catalogue.recorded import not_noted, note_recorded
from profiler_core.store.catalogue.rows import LineOfRun

__all__ = [
    "Line",
    "LineOfRun",
    "Page",
    "Wanted",
    "first",
    "group",
    "groups",
    "jobs",
    "line_of",
    "n_groups",
    "n_sweeps",
    "newest",
    "not_noted",
    "note_recorded",
    "one_look",
    "refresh",
    "sweep_groups",
]
