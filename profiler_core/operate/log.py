"""The log, of a server and of a command: where it goes, how a line looks, what it never holds.

    configure_server("json")        one JSON object a line on standard error, "text" for people
    configure_verbose()             what `--verbose` shows
    with about(request="…"): …      every line of this thread or task says which request
    _log.info("…", extra={"run": …, "problem": …, "remedy": …})

Keys of a JSON line, each only where it is known: time (RFC 3339, UTC), level, logger, event, pid,
person (the account, never a name), request, session, page, run, problem, remedy, error (its kind),
traceback.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from profiler_core.errors import FusionscopeError
from profiler_core.operate.secret_words import without_secrets
from profiler_core.terminal_text import one_record, printable

_CONTEXT_KEYS = ("person", "request", "session", "page", "run")
_ERROR_KEYS = ("problem", "remedy")
_OURS = "profiler_core"
_LONGEST = 20_000  # characters of one value; a traceback through deep recursion has more

_context: ContextVar[Mapping[str, str]] = ContextVar("of the log", default={})  # noqa: B039 - never changed
_sources: list[Callable[[], Mapping[str, str]]] = []


@contextmanager
def about(**keys: str) -> Iterator[None]:
    """Add keys to each line of this thread or task until the end of the block."""
    before = _context.set({**_context.get(), **keys})
    try:
        yield
    finally:
        _context.reset(before)


def tell(**keys: str) -> None:
    """As `about`, until the block around it ends: what is learned on the way."""
    _context.set({**_context.get(), **keys})


def add_source(source: Callable[[], Mapping[str, str]]) -> None:
    """Ask it with each line what else is known of the moment."""
    if source not in _sources:
        _sources.append(source)


def configure_server(log_format: str) -> None:
    """Send all lines of this process to standard error, in this format; may be called again.

    Args:
        log_format: "json" or "text".
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    handler.addFilter(_is_ours_or_bad)
    root = logging.getLogger()
    let_root_write(root)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(_OURS).setLevel(logging.INFO)
    # Libraries that write by themselves would do so in their own format, and past the check.
    for name in list(logging.root.manager.loggerDict):
        let_root_write(logging.getLogger(name))
    logging.captureWarnings(True)


def _is_ours_or_bad(record: logging.LogRecord) -> bool:
    """Web servers tell each request, with the visitor's address: nobody is to keep that here."""
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == _OURS


def let_root_write(logger: logging.Logger) -> None:
    """Take away what a library attached to write to the terminal by itself."""
    for handler in list(logger.handlers):
        if type(handler) is logging.StreamHandler:
            logger.removeHandler(handler)
    logger.propagate = True


def configure_verbose() -> None:
    """What a command does meanwhile, with the milliseconds since its start."""
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(relativeCreated)7.0f ms  %(message)s"
    )


class TextLines(logging.Formatter):
    """For people: the time of this machine, level, logger, and what happened."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The line, and what is to be done about it; a traceback's further lines are indented."""
        words = [str(getattr(record, key)) for key in _ERROR_KEYS if hasattr(record, key)]
        return one_record(without_secrets(" ".join([super().format(record), *words])))


class JsonLines(logging.Formatter):
    """For machines: one object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The object; nothing in it ends the line or steers a terminal."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "pid": record.process,
        }
        line.update(_of_the_moment(record))
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["error"] = type(error).__name__
            line["traceback"] = self.formatException(record.exc_info)  # type: ignore[arg-type]
        for key in _ERROR_KEYS:
            field = getattr(record, key, None) or (
                getattr(error, key) if isinstance(error, FusionscopeError) else None
            )
            if field:
                line[key] = field
        # Checked value by value: a secret that JSON escapes would not be met in the line.
        values = {
            key: without_secrets(value)[:_LONGEST] if isinstance(value, str) else value
            for key, value in line.items()
        }
        # JSON escapes what is below a space, and terminals act on more than that.
        return printable(json.dumps(values, ensure_ascii=False))


def _of_the_moment(record: logging.LogRecord) -> Mapping[str, str]:
    context: dict[str, str] = {}
    for source in _sources:
        context.update(source())
    context.update(_context.get())
    context.update({key: getattr(record, key) for key in _CONTEXT_KEYS if hasattr(record, key)})
    return {key: str(context[key]) for key in _CONTEXT_KEYS if context.get(key)}
