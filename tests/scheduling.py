"""Which worker of the suite runs which file: those with a browser stay with a few workers."""

from typing import Any

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_BROWSER = "tests/browser/"


class BrowsersTogether(LoadFileScheduling):
    """Whole files to a worker in their order, but those with a browser to where one runs already.

    A browser ends with the last test of its package that follows on another; its start and its
    first page cost four seconds of a core. Two workers of three have one, the third takes the
    other files; whoever finds none of their kind left takes what there is.
    """

    def __init__(self, config: Any, log: Any = None) -> None:
        super().__init__(config, log)
        self._with_browser: set[WorkerController] = set()

    def _assign_work_unit(self, node: WorkerController) -> None:
        if len(self._with_browser) < max(1, len(self.nodes) * 2 // 3):
            self._with_browser.add(node)
        wants_browser = node in self._with_browser
        fitting = (name for name in self.workqueue if name.startswith(_BROWSER) == wants_browser)
        self.workqueue.move_to_end(next(fitting, next(iter(self.workqueue))), last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give what a lost worker had to others, its part of the browser files too."""
        self._with_browser.discard(node)
        return super().remove_node(node)
