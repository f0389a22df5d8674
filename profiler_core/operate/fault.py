"""Something in the settings of a server that is wrong, or that only its owner can check."""

from dataclasses import dataclass

from profiler_core.errors import FusionscopeError


@dataclass(frozen=True)
class Fault:
    """One setting, and what to do about it.

    file: where the value stands: a file, "environment" or "command line". key: of the setting;
    empty where the whole file is meant. value: as it was met, a secret only by its length; empty
    where there is none. stops: a server must not start like this; else it is advice.
    """

    file: str
    key: str
    value: str
    problem: str
    remedy: str
    stops: bool = True

    @property
    def text(self) -> str:
        """For a terminal, in three lines."""
        setting = f": {self.key}" if self.key else ""
        value = f" = {self.value}" if self.value else ""
        return f"{self.file}{setting}{value}\n    {self.problem}\n    {self.remedy}"


def fault_of(file: str, key: str, error: FusionscopeError) -> Fault:
    """What an error says about a setting; its sentence names the value, without a password."""
    return Fault(file, key, "", error.problem, error.remedy)
