"""`server-profile` for a page, as a job: it answers as `worker/protocol.py` says, with `Accepted`.

python -m profiler_core.cli.server_profile_job UPLOAD_ID --url=URL --traces=WHERE --seconds=S
"""

import argparse
import sys

from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.cli.server_profile import Wish, profile
from profiler_core.errors import BadInput
from profiler_core.home import uploads_directory
from profiler_core.store import incoming
from profiler_core.store.uploads import Accepted, accept
from profiler_core.worker.protocol import Progress, Report, answer

_BEGUN = "profiling"  # beside what is received of the upload


def _run(report: Report) -> Accepted:
    parser = argparse.ArgumentParser(prog="profiler_core.cli.server_profile_job")
    parser.add_argument("upload_id")
    parser.add_argument("--url", required=True)
    parser.add_argument("--traces", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--owner", default="")
    arguments = parser.parse_args()

    def say(text: str) -> None:
        report(Progress(text=text))

    upload_id: str = arguments.upload_id
    if incoming.kept(upload_id) or (uploads_directory() / upload_id).exists():  # it was killed
        return accept(upload_id, (0,), lambda text, _done, _total: say(text), arguments.owner)
    begun = incoming.incoming_directory(upload_id) / _BEGUN
    if begun.exists():
        raise BadInput(
            f"{arguments.url} was being profiled when this job was killed, before its traces were "
            "fetched; it is not profiled a second time unasked.",
            remedy=f"See that its profiler has stopped (POST {arguments.url}/stop_profile), and "
            f"profile it again; what it wrote lies below {arguments.traces}.",
        )
    begun.parent.mkdir(parents=True, exist_ok=True)
    begun.touch()
    wish = Wish(ProfiledServer(arguments.url), arguments.traces, arguments.seconds, {})
    return profile(wish, say, lambda: False, upload_id=upload_id, owner=arguments.owner)


if __name__ == "__main__":
    sys.exit(answer(_run, can_cancel=True))
