"""PUT /api/upload/{place}?name=…: one file of an upload, chunk by chunk to disk.

st.file_uploader keeps 2 GB of memory for a file of 1 GB; this keeps one buffer. The token's
subject is the upload's id, so a page can only fill its own upload.
"""

import shutil
from pathlib import Path

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from profiler_core.errors import BadInput
from profiler_core.jobs.room import KEEP_FREE_BYTES
from profiler_core.owner_file import owner_of, write_owner
from profiler_core.settings import settings
from profiler_core.store import incoming
from profiler_core.store.owners import is_over_quota, room_left
from profiler_core.ui.metrics.counted import count_received
from profiler_core.ui.routes.guard import guarded, problem
from profiler_core.units import format_bytes

SCOPE = "upload"

_WRITE_BYTES = 1 << 20  # one hop to the writing thread for each MiB, not for each 64 kB chunk
COUNT_EVERY_BYTES = 8 << 20  # of a file; then its person's uploads are counted, in some 10 ms
_MOST_DIGITS = 4  # more than `incoming.MOST_FILES` has


class _RefusedError(Exception):
    """The file cannot be taken: status, problem, remedy."""

    def __init__(self, status: int, text: str, remedy: str) -> None:
        super().__init__(text)
        self.response = problem(status, text, remedy)


@guarded(SCOPE, "upload")
async def receive(request: Request, upload_id: str) -> Response:
    """Take the file, or say in one sentence why not. Nothing stays of a file that is not whole."""
    name = incoming.kept_name(request.query_params.get("name", ""))
    partial = incoming.part_path(upload_id, _number(request.path_params["place"]))
    taken = await take_file(request, upload_id, partial, name, request.state.person)
    return (
        taken
        if isinstance(taken, Response)
        else JSONResponse({"name": incoming.shown(name), "bytes": taken})
    )


async def take_file(
    request: Request, upload_id: str, partial: Path, name: str, person: str
) -> int | Response:
    """The size of the request's body, once it is kept as a file of the upload; or the refusal.

    Args:
        request: its body is the file.
        upload_id: of the upload.
        partial: where to receive it (`incoming.part_path`).
        name: by which it is kept.
        person: whose room it takes.
    """
    label = incoming.shown(name)
    try:
        left = await anyio.to_thread.run_sync(room_left, person)
        _check_length(request, partial, left)
        await anyio.to_thread.run_sync(_begin, person, upload_id, partial, label)
        n_bytes = await _to_disk(request, partial, left, person)
        if not n_bytes:
            raise _RefusedError(422, f"{label} is empty.", "Choose the file that holds the trace.")
        # Other tabs may have sent files meanwhile.
        if left is not None and await anyio.to_thread.run_sync(is_over_quota, person):
            raise _no_room_left(max(0, left - n_bytes))
        await anyio.to_thread.run_sync(incoming.keep, partial, name)
        count_received(n_bytes)
    except _RefusedError as refused:
        return refused.response
    except ClientDisconnect:
        return problem(400, "The upload was broken off.", "Send the file again.")
    except OSError as error:
        return problem(507, f"The disk did not take {label}: {error.strerror}.", "Make room on it.")
    finally:
        partial.unlink(missing_ok=True)
    return n_bytes


def _number(text: str) -> int:
    """The file's number among those of its upload.

    Raises:
        BadInput: it is none; Python itself refuses to read thousands of digits.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise BadInput(f"{text[:20]!r} is no number of a file.", remedy="Reload the page.")
    return int(text)


async def _to_disk(request: Request, partial: Path, left: int | None, person: str) -> int:
    """Write what comes; each piece asks for room anew, for other files may come beside it."""
    limit = settings().largest_upload_bytes
    n_bytes, counted_at = 0, 0
    buffer = bytearray()
    async with await anyio.open_file(partial, "wb") as file:
        async for chunk in request.stream():
            n_bytes += len(chunk)
            if n_bytes > limit:
                raise _too_large(limit)
            if left is not None and n_bytes > left:
                raise _no_room_left(left)
            buffer += chunk
            if len(buffer) >= _WRITE_BYTES:
                _check_disk(partial, len(buffer))
                await file.write(bytes(buffer))
                await file.flush()
                buffer.clear()
            if left is not None and n_bytes - counted_at >= COUNT_EVERY_BYTES:
                counted_at = n_bytes
                if await anyio.to_thread.run_sync(is_over_quota, person):
                    raise _no_room_left(max(0, left - n_bytes))
        await file.write(bytes(buffer))
    return n_bytes


def _check_length(request: Request, partial: Path, left: int | None) -> None:
    """Refuse by the announced length, before gigabytes were sent for nothing."""
    announced = request.headers.get("content-length", "")
    # More digits than Python reads are refused by the server itself, or count as they come.
    n_bytes = int(announced) if announced.isdecimal() and len(announced) < 20 else 0
    limit = settings().largest_upload_bytes
    if n_bytes > limit:
        raise _too_large(limit)
    if left is not None and n_bytes > left:
        raise _no_room_left(left)
    _check_disk(partial, n_bytes)


def _begin(person: str, upload_id: str, partial: Path, name: str) -> None:
    """Say whose the upload is, and record that it comes, before the first byte is kept."""
    if owner_of(partial.parent) is None:
        write_owner(partial.parent, person)
    from profiler_core.store import history  # late: it brings the database along

    history.note_or_keep(person, "receive", f"upload/{upload_id}", name=name)


def _no_room_left(left: int) -> _RefusedError:
    return _RefusedError(
        413,
        f"Your uploads may take {format_bytes(left)} more on this server, and the file is larger.",
        "Delete uploads that you need no more, or ask whoever runs the server for more room.",
    )


def _check_disk(partial: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(partial.parent).free
    if free - n_bytes < KEEP_FREE_BYTES:
        raise _RefusedError(
            507,
            f"The server's disk has only {format_bytes(free)} left.",
            "Make room there, or open the file by its path on the server.",
        )


def _too_large(limit: int) -> _RefusedError:
    return _RefusedError(
        413,
        f"The file is larger than the {format_bytes(limit)} that this server takes.",
        "Compress it with gzip, open it by its path on the server, or raise largest_upload_gb.",
    )


ROUTES = (Route("/api/upload/{place}", receive, methods=["PUT"]),)
