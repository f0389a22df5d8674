"""Every error a user can meet, in one tree.

FusionscopeError
├── BadInput              a file, a path or an option cannot be used
│   ├── NotATrace         the file is readable but is no trace
│   ├── NotARun           the folder or archive holds no known kind of run
│   └── ServerFault       what was asked is in order, and the machine cannot do it now
│       └── WorkEnded     the process that did it was ended before it had an answer
├── NothingToAnalyse      the data is fine but lacks what the question needs
├── CaptureFailed         the capture could not start or did not end well
└── Cancelled             somebody asked for the work to stop

A message has two parts: the problem, with the file and the value met, and the remedy, one
imperative sentence. Caught in two places only: `ui/page.py` and `cli/main.py`.
"""


class FusionscopeError(Exception):
    """Something a user can understand and act upon.

    Args:
        problem: one sentence that names the file and the value met.
        remedy: one imperative sentence.
    """

    exit_status = 2

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(f"{problem} {remedy}")
        self.problem = problem
        self.remedy = remedy

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback, which is of no use to who reads this."""
        return [f"{type(self).__name__}: {self.problem}", self.remedy]


class BadInput(FusionscopeError):
    """A file, a path or an option cannot be used."""


class NotATrace(BadInput):
    """The file can be read but is no trace."""


class NotARun(BadInput):
    """The folder or archive holds no known kind of run."""


class ServerFault(BadInput):
    """What was asked is in order, and the machine that does it cannot now."""


class WorkEnded(ServerFault):
    """The process that did the work was ended before it had an answer."""


class NothingToAnalyse(FusionscopeError):
    """The data is fine but lacks what the question needs."""

    exit_status = 3


class CaptureFailed(FusionscopeError):
    """The capture could not start or did not end well."""


class Cancelled(FusionscopeError):
    """Somebody asked for the work to stop."""
