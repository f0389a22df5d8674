"""Which worker of the suite runs which file: those with a browser, or torch, stay together."""

from functools import cache
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_ROOT = Path(__file__).resolve().parents[1]
_BROWSER = "tests/browser/"
_TORCH = ('Lazily("torch")', 'importorskip("profiler_core.testing')


class BrowsersTogether(LoadFileScheduling):
    """Whole files to a worker in their order, but those with a browser to where one runs already.

    A browser ends with the last test of its package that follows on another; its start and its
    first page cost four seconds of a core. Two workers of three have one; of the others, one takes
    the files that import torch themselves, for five seconds of a core. Whoever finds none of their
    kind left takes what there is.
    """

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._with_browser: set[WorkerController] = set()
        self._with_torch: WorkerController | None = None

    def _assign_work_unit(self, node: WorkerController) -> None:
        name = next((n for n in self.workqueue if kind(n) == self._kind_of(node)), None)
        if name is None:
            name = next((n for n in self.workqueue if not kind(n)), next(iter(self.workqueue)))
        self.workqueue.move_to_end(name, last=False)
        super()._assign_work_unit(node)

    def _kind_of(self, node: WorkerController) -> str:
        if node in self._with_browser or len(self._with_browser) < max(1, len(self.nodes) * 2 // 3):
            self._with_browser.add(node)
            return "browser"
        if self._with_torch is None:
            self._with_torch = node
        return "torch" if node is self._with_torch else ""

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a lost worker had to others, its part of the browser files too."""
        self._with_browser.discard(node)
        if node is self._with_torch:
            self._with_torch = None
        return super().remove_node(node)


@cache
def kind(name: str) -> str:
    """What the tests of a file keep running or imported: "browser", "torch" or ""."""
    if name.startswith(_BROWSER):
        return "browser"
    path = _ROOT / name
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return "torch" if any(mark in text for mark in _TORCH) else ""
