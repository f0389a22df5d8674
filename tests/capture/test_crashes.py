"""A child that crashes leaves the line of the user's code that it was in."""

import subprocess
import sys

from profiler_core.capture.interpreter import CHILD
from profiler_core.capture.process import _crashed_at

SCRIPT = """
import ctypes, os, sys
sys.path.insert(0, {child!r})
import main
main.load_package()
from fusionscope_child import serve

def step():
    return ctypes.string_at(0)

asked, events = os.pipe(), os.pipe()
os.write(asked[1], b'{{"command": "exit"}}\\n')
variant = {{"compile": False, "torchscript": False}}
serve.serve({{"commands": asked[0], "events": events[1], "die_with_parent": False,
             "variant": variant, "workload": "tiny"}})
step()
"""


def test_a_crash_is_named_by_the_users_innermost_line(tmp_path):
    script, log = tmp_path / "mine.py", tmp_path / "torch_logs.txt"
    script.write_text(SCRIPT.format(child=str(CHILD)))
    log.write_text("")
    with log.open("ab") as stderr:
        status = subprocess.run([sys.executable, script], check=False, stderr=stderr).returncode
    assert status == -11, log.read_text()
    assert _crashed_at(log) == " (mine.py, line 9, in step)"


def test_a_process_that_was_killed_names_no_line(tmp_path):
    log = tmp_path / "torch_logs.txt"
    log.write_text('  File "/home/me/train.py", line 3 in step\n')
    assert _crashed_at(log) == ""
