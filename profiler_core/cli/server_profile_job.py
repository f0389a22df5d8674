"""`server-profile` for a page, as a job: it answers as `worker/protocol.py` says, with `Accepted`.

python -m profiler_core.cli.server_profile_job UPLOAD_ID --url=URL --traces=WHERE --seconds=S
"""

import argparse
import sys

from profiler_core.capture.elsewhere.profiler_route import ProfiledServer
from profiler_core.cli.server_profile import Wish, profile
from profiler_core.home import uploads_directory
from profiler_core.store import incoming
from profiler_core.store.uploads import Accepted, accept
from profiler_core.worker.protocol import Progress, Report, answer


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
    wish = Wish(ProfiledServer(arguments.url), arguments.traces, arguments.seconds, {})
    return profile(wish, say, lambda: False, upload_id=upload_id, owner=arguments.owner)


if __name__ == "__main__":
    sys.exit(answer(_run, can_cancel=True))
