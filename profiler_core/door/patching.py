"""A patch of somebody's code that an agent wants judged: right first, then the capture as a job."""

from hashlib import blake2b

from profiler_core import home
from profiler_core.capture.spec import CaptureSpec
from profiler_core.door import deeds
from profiler_core.door.asker import Asker, Refused, check_may_capture
from profiler_core.errors import BadInput
from profiler_core.experiments.request import patch_spec
from profiler_core.store.private_file import write_private

_FOLDER = "patches"
_MOST_CHARACTERS = 200_000


def start_patch(asker: Asker | None, spec: CaptureSpec, patch: str, variant: str) -> str:
    """Submit the capture of a file as it is and of a patched copy; returns the job's id.

    The patch stays in the home folder, by its content: the runs say which one they are of.

    Args:
        asker: who asks.
        spec: of the workload.
        patch: a unified diff.
        variant: that both run under.

    Raises:
        Refused: this person may not capture, or this is no machine of one's own: a patch is code.
        BadInput: the patch is too long, or the workload is no file.
        HistoryUnavailable: the audit cannot be written; nothing starts then.
    """
    asker = check_may_capture(asker)
    if not asker.is_own_machine:
        raise Refused(
            "A patch is code, and only a machine of one's own runs what an agent sends.",
            remedy="Put the changed file there, and capture it --against path:FILE.",
        )
    if len(patch) > _MOST_CHARACTERS:
        raise BadInput(
            f"The patch has {len(patch)} characters.", remedy=f"Keep it to {_MOST_CHARACTERS}."
        )
    written = patch if patch.endswith("\n") else f"{patch}\n"
    name = blake2b(written.encode(), digest_size=8).hexdigest()
    path = home.home_directory() / _FOLDER / f"{name}.diff"
    asked = patch_spec(spec, str(path), variant)
    write_private(path, written.encode())
    return deeds.start_capture(asker, asked)
