"""From a checked pickle to plain objects; whatever could call anything is refused a second time."""

import io
import pickle
from typing import Any, NoReturn

from profiler_core.errors import BadInput
from profiler_core.ingest.memory_snapshot.opcodes import REMEDY, check_opcodes


class _PlainUnpickler(pickle.Unpickler):
    """Builds containers, numbers and strings; has no way to any other object."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks to import {module}.{name}")

    def persistent_load(self, pid: object) -> NoReturn:
        del pid
        raise pickle.UnpicklingError("it refers to an object outside of the file")


def plain_objects(data: bytes, name: str) -> Any:
    """The object that a pickle of plain data describes.

    Lists and dicts may be shared or hold themselves: who walks over them bounds the way.

    Raises:
        BadInput: it holds anything else, or it is damaged, or it needs more memory than allowed.
    """
    check_opcodes(data, name)
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except MemoryError:
        raise BadInput(
            f"{name} needs more memory than its reading is allowed.", remedy=REMEDY
        ) from None
    # What the interpreter's own unpickler raises on nonsense between sound opcodes: a list filled
    # where there is none, a reference to nothing, a list as a key, bad UTF-8.
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        TypeError,
        KeyError,
        IndexError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        reason = " ".join(str(error).split())[:200]
        raise BadInput(f"{name} is damaged: {reason}.", remedy=REMEDY) from error
