"""Answers what the launcher asks a child, without torch: a measured step is two marks in a file."""

import json
import os
import sys
from pathlib import Path


def main():
    spec = json.loads(Path(sys.argv[2]).read_text())  # after main.py, which is not run
    what = os.environ.get("FAKE_CHILD", "")
    # Opened by name: a profiler hands no open file on.
    with Path(spec["commands"]).open() as commands, Path(spec["events"]).open("w") as events:
        return serve(commands, events, what)


def serve(commands, events, what):
    for line in commands:
        command = json.loads(line)["command"]
        if command == "exit":
            return 0
        if command == what:
            answer = {"event": "failed", "kind": "user", "problem": "It broke.", "remedy": "Mend."}
        else:
            answer = {"event": "done", "command": command, "result": {"n_steps": 1}}
        if command == "counted":
            Path(os.environ["FAKE_NCU_MARKS"]).write_text("start\nstop\n")
        events.write(json.dumps(answer) + "\n")
        events.flush()
    return 1


if __name__ == "__main__":
    sys.exit(main())
