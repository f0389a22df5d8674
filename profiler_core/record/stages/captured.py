"""The stage that stops watching for captures of CUDA graphs, before any step is timed."""

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
        if graphs.n_traces and folder is not None:
            shutil.move(folder, str(recording.directory / names.GRAPH_CAPTURES))
            recording.note(
                "CUDA graphs were captured under the profiler before the timed rounds, which makes "
                "steps that launch graphs some percent longer: compare this run's kernels, and "
                "time another one without graphs=True."
            )
        elif graphs.n_captures and folder is None:
            recording.note(
                "Kernels that CUDA graphs replay have no operator or module: record once more "
                "with Recorder(graphs=True), made before the graphs are captured."
            )
        note = graphs.note()
        if note is not None:
            recording.note(note)
        return False
