"""Slurm with one node: `sbatch` runs the script, `squeue`, `scancel` and `sacct` tell of it.

python fake_slurm.py FOLDER sbatch --parsable … script
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

folder, verb, *words = sys.argv[1:]
state = Path(folder)
options = dict(word.partition("=")[::2] for word in words if word.startswith("--"))

if verb == "sbatch":
    if options.get("--partition") == "none":
        sys.exit("sbatch: error: invalid partition specified: none")
    (state / "options").write_text("\n".join(words))
    if options.get("--hold"):  # accepted, and never started
        (state / "pid").write_text("0")
    else:
        with Path(options["--output"]).open("ab") as log:
            process = subprocess.Popen(
                [words[-1]], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        (state / "pid").write_text(str(process.pid))
    print("4711;cluster")
    sys.exit()

pid = int((state / "pid").read_text())
if verb == "scancel":
    (state / "ended").write_text("CANCELLED by 0")
    if pid:
        os.kill(pid, signal.SIGTERM)
    else:
        (state / "pid").write_text("-1")
elif verb == "squeue":
    if pid == 0:
        print("PENDING Resources")
    elif pid > 0:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            sys.exit("slurm_load_jobs error: Invalid job id specified")
        if stat.rpartition(")")[2].split()[0] != "Z":
            print("RUNNING None")
elif verb == "sacct":
    ended = state / "ended"
    print(ended.read_text() if ended.exists() else "COMPLETED")
