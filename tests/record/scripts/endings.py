"""Every way a loop may end, in one process; what is left behind after each is printed as JSON."""

import json
import logging
import os
import signal
import sys
import threading

import torch
from torch import profiler

from profiler_core.record import Recorder

out = sys.argv[1]
SHORT = {"rounds": 10, "round_steps": 2, "round_seconds": 0.0, "telemetry_seconds": 0.0, "steps": 2}
weight = torch.randn(8, 8)


def state():
    """Whatever a Recorder hooks."""
    loggers = {
        name: (logger.level, len(logger.handlers), [h.level for h in logger.handlers])
        for name, logger in logging.root.manager.loggerDict.items()
        if name.startswith("torch") and isinstance(logger, logging.Logger)
    }
    return {
        "threads": threading.active_count(),
        "loggers": loggers,
        "sigterm": str(signal.getsignal(signal.SIGTERM)),
        "variables": {k: v for k, v in os.environ.items() if "INDUCTOR" in k},
    }


def loop(recorder, n, ending=None):
    for _ in range(n):
        weight @ weight
        recorder.step()
    if ending is not None:
        raise ending


def recorded(name, n, ending=None, **options):
    recorder = Recorder(out, "ends", name, **{**SHORT, **options})
    raised = None
    try:
        with recorder:
            loop(recorder, n, ending)
    except BaseException as error:
        raised = error
    with profiler.profile() as own:  # would fail beside one that was left running
        weight @ weight
    return {
        "same_exception": raised is ending,
        "is_done": recorder.is_done,
        "profiled": len(own.events()) > 0,
        "directory": str(recorder.directory),
        "state": state(),
    }


torch._logging.set_logs(graph_breaks=True)  # the user's own setting must come back
with profiler.profile():  # loads what it loads, once
    weight @ weight
before = state()
answers = {
    "before": {"state": before},
    "at once": recorded("at-once", 0),
    "in warm-up": recorded("warm-up", 3),
    "in rounds": recorded("rounds", 5 + 7, warm_up_floor=4, warm_up_ceiling=4),
    "in profile": recorded("profile", 1 + 4 + 20 + 4, warm_up_floor=4, warm_up_ceiling=4),
    "raised": recorded("raised", 5 + 7, ValueError("it broke"), warm_up_floor=4, warm_up_ceiling=4),
    # A warm-up of a fixed length: one that ends by itself may be over on a busy machine.
    "interrupted": recorded(
        "interrupted", 30, KeyboardInterrupt(), warm_up_floor=40, warm_up_ceiling=40
    ),
    "exited": recorded("exited", 3, SystemExit(3)),
    "done": recorded("done", 200),
    "off": recorded("off", 3, enabled=False),
}
# The user's own profiler, around a whole recording.
with profiler.profile() as own, Recorder(out, "ends", "profiled", **SHORT) as recorder:
    loop(recorder, 200)
answers["profiled by the user"] = {
    "directory": str(recorder.directory),
    "user_events": len(own.events()),
}
print(json.dumps(answers))
