"""What a user may choose about one export: its steps and its process."""

from dataclasses import dataclass

from profiler_core.ingest.file_kind import Options


@dataclass(frozen=True)
class Choice:
    """step_range: a range's text, digits do not matter, * is anything; None: by the rule."""

    step_range: str | None = None
    process: int | None = None  # pid; None: the one with most device time

    @classmethod
    def of(cls, options: Options) -> "Choice":
        """From the options of the format, by their names."""
        steps, process = options.get("step_range"), options.get("process")
        return cls(None if steps is None else str(steps), None if process is None else int(process))


AS_IT_IS = Choice()
