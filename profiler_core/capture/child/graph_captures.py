"""What CUDA graphs replay, profiled while they are captured: one trace for each capture.

A replay shows kernels and nothing else. While its graph is captured the host makes every call, with
the operator, the shapes and the module around it. Both torch.cuda.graph and Inductor's graphs go
through torch.cuda.CUDAGraph, so that is where a capture begins and ends.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, Optional

# A model whose graphs break into many, or one of many shapes; a trace of each takes its time.
MOST_CAPTURES = 64


class GraphCaptures:
    """Counts the captures of this process from `start` to `stop`, and profiles them.

    What goes wrong in here leaves a capture out, and never reaches the caller's code.

    folder: where the traces go, made with the first; None: captures are only counted.
    """

    def __init__(self, folder: Optional[str] = None) -> None:
        self.folder = folder
        self.n_captures = 0
        self.n_traces = 0
        self.problem: Optional[str] = None  # of the first capture that was left out
        self._graph_class: Any = None
        self._ours: Dict[str, Any] = {}
        self._torchs: Dict[str, Any] = {}
        self._running: List[Any] = []  # the graph that is captured, and its profiler

    def start(self) -> None:
        """Begin; does nothing where this torch has no CUDA graphs."""
        import torch

        graph_class: Any = getattr(torch.cuda, "CUDAGraph", None)
        if self._graph_class is not None or not hasattr(graph_class, "capture_begin"):
            return
        begin, end = graph_class.capture_begin, graph_class.capture_end

        def capture_begin(graph: Any, *args: Any, **kwargs: Any) -> Any:
            self._begin(graph)
            try:
                return begin(graph, *args, **kwargs)
            except BaseException:
                self._end(graph, is_whole=False)
                raise

        def capture_end(graph: Any, *args: Any, **kwargs: Any) -> Any:
            is_whole = False
            try:
                result = end(graph, *args, **kwargs)
                is_whole = True
            finally:
                self._end(graph, is_whole)
            return result

        self._graph_class = graph_class
        self._torchs = {"capture_begin": begin, "capture_end": end}
        self._ours = {"capture_begin": capture_begin, "capture_end": capture_end}
        for name, function in self._ours.items():
            setattr(graph_class, name, function)

    def stop(self) -> None:
        """End; the class is as it was, unless somebody has wrapped it again since."""
        graph_class, self._graph_class = self._graph_class, None
        for name, function in self._ours.items():
            if graph_class is not None and getattr(graph_class, name) is function:
                setattr(graph_class, name, self._torchs[name])
        self.folder = None  # where ours was wrapped it is still called, and writes nothing

    def note(self) -> Optional[str]:
        """What a reader of the run has to know; None where every capture has a trace."""
        if self.problem is None:
            return None
        return (
            "{} of {} captures of CUDA graphs were profiled, so kernels of the others have no "
            "operator: {}.".format(self.n_traces, self.n_captures, self.problem)
        )

    def _begin(self, graph: Any) -> None:
        self.n_captures += 1
        if self.folder is None or self._running:
            return
        if self.n_traces >= MOST_CAPTURES:
            self._leave_out("there are more than {}".format(MOST_CAPTURES))
            return
        import torch

        if getattr(torch.autograd, "_profiler_enabled", bool)():
            self._leave_out("another profiler was running")
            return
        try:
            profiler = torch.profiler.profile(record_shapes=True, with_stack=True)
            profiler.__enter__()
        except Exception as error:
            self._leave_out(_line(error))
            return
        self._running = [graph, profiler]

    def _end(self, graph: Any, is_whole: bool) -> None:
        if not self._running or self._running[0] is not graph:
            return
        profiler = self._running[1]
        self._running = []
        try:
            profiler.__exit__(None, None, None)
            if not is_whole or self.folder is None:
                return
            folder = Path(self.folder)
            folder.mkdir(parents=True, exist_ok=True)
            profiler.export_chrome_trace(str(folder / "graph_{}.json.gz".format(self.n_traces)))
            self.n_traces += 1
        except Exception as error:
            self._leave_out(_line(error))

    def _leave_out(self, reason: str) -> None:
        self.problem = self.problem or reason


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or ["no message"]
    return "{}: {}".format(type(error).__name__, lines[0])
