"""CUDA graphs that were captured until here: before anything is timed, the watching ends."""

from __future__ import annotations

import shutil
from typing import Optional

from profiler_core import run_directory as names
from profiler_core.capture.child.graph_captures import GraphCaptures
from profiler_core.record.stages.stage import Recording, Stage


class CapturedGraphs(Stage):
    """Moves the traces of the captures into the run; takes no step."""

    doing, phase = "the captures of CUDA graphs", "graph captures"

    def __init__(self, graphs: Optional[GraphCaptures]) -> None:
        self._graphs = graphs

    def begin(self, recording: Recording) -> bool:
        graphs = self._graphs
        if graphs is None:
            return False
        folder = graphs.folder
        graphs.stop()
        if folder is not None and graphs.n_traces:
            shutil.move(folder, str(recording.directory / names.GRAPH_CAPTURES))
            number = graphs.n_traces
            recording.note(
                "1 capture of a CUDA graph was profiled, before the timed rounds."
                if number == 1
                else "{} captures of CUDA graphs were profiled, before the timed rounds.".format(
                    number
                )
            )
        note = graphs.note()
        if note is not None:
            recording.note(note)
        return False
