"""One line of `doctor`."""

import re
from dataclasses import dataclass, field
from typing import Literal

State = Literal["yes", "no", "partly"]


@dataclass(frozen=True)
class Finding:
    """A question, its answer, and what to do where the answer is not yes.

    `key` is the question for scripts; it does not change when the words do.
    """

    what: str
    state: State
    detail: str
    remedy: str | None = None
    key: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        """A key that is not given is made of the words."""
        if not self.key:
            words = re.sub(r"[^a-z0-9]+", "_", self.what.lower()).strip("_")
            object.__setattr__(self, "key", words)
