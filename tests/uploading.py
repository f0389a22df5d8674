"""Files of one drop on the page, as the upload route keeps and accepts them."""

from collections.abc import Mapping

from profiler_core.store import incoming, uploads


def drop(files: Mapping[str, bytes]) -> tuple[str, tuple[int, ...]]:
    """What the route does with the files of one drop: (upload id, their numbers)."""
    upload_id = incoming.new_upload_id()
    for number, (name, data) in enumerate(files.items()):
        partial = incoming.part_path(upload_id, number)
        partial.write_bytes(data)
        incoming.keep(partial, name)
    return upload_id, tuple(range(len(files)))


def accept(files: Mapping[str, bytes]) -> uploads.Accepted:
    """Drop them and have them accepted."""
    return uploads.accept(*drop(files), lambda *_: None)
