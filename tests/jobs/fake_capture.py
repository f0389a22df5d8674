"""Stands in for `capture` in the tests of jobs: says what it is told to, takes signals likewise.

fake_capture.py PROGRESS_FILE [--until FILE] [--status N] [--ignore-sigint] [--fail TEXT]
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("progress", type=Path)
    parser.add_argument("--until", type=Path, help="run until this file is there")
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--ignore-sigint", action="store_true")
    parser.add_argument("--fail", default="")
    parser.add_argument("--leave-child", type=Path)
    parser.add_argument("--last-word", default="")
    parser.add_argument("--folder", type=Path, help="a capture's folder, made as captures do")
    arguments = parser.parse_args()

    def say(phase: str, **more: object) -> None:
        line = {"t": time.time(), "phase": phase, "variant": None, "text": "", **more}
        for path in (arguments.progress, arguments.folder and arguments.folder / "progress.jsonl"):
            if path:
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as file:
                    file.write(json.dumps(line) + "\n")

    def cancelled(_number: int, _frame: object) -> None:
        print("told to stop", flush=True)
        say("cancelled")
        sys.exit(130)

    signal.signal(signal.SIGINT, signal.SIG_IGN if arguments.ignore_sigint else cancelled)
    signal.signal(signal.SIGTERM, cancelled)
    if arguments.leave_child:
        child = os.fork()
        if not child:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            while True:
                time.sleep(60)
        arguments.leave_child.write_text(str(child))
    print(f"pid {os.getpid()}", flush=True)
    say("starting", variant="eager")
    for done in range(3):
        say("timing", variant="eager", done=done + 1, total=3, text="Round of three")
        print(f"step {done}\rstep {done + 1}\x1b[31m red\x1b[0m", flush=True)
    while arguments.until and not arguments.until.exists():
        time.sleep(0.02)
    if arguments.fail:
        say("failed", text=arguments.fail)
    if arguments.last_word:
        say(arguments.last_word)
    return arguments.status


if __name__ == "__main__":
    sys.exit(main())
