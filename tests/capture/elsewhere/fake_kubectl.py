"""kubectl with one node: the pod of a Job is a process of this machine, started by `attach`.

python fake_kubectl.py FOLDER [--context=…] create -f -
"""

import json
import os
import sys
from pathlib import Path

folder, *words = sys.argv[1:]
state = Path(folder)
with (state / "calls").open("a") as calls:
    calls.write(" ".join(words) + "\n")
verb = next(word for word in words if not word.startswith("-"))
job = state / "job.json"

if verb == "create":
    document = json.load(sys.stdin)
    if document["spec"]["template"]["spec"]["containers"][0]["image"] == "forbidden":
        sys.exit('Error from server (Forbidden): jobs.batch is forbidden: User "eve" cannot create')
    job.write_text(json.dumps(document))
elif verb == "get":
    document = json.loads(job.read_text())
    name = document["metadata"]["name"]
    assert f"--selector=job-name={name}" in words
    looks = state / "looks"
    n_looks = int(looks.read_text()) if looks.exists() else 0
    looks.write_text(str(n_looks + 1))
    container = {"state": {"running": {"startedAt": "now"}}}
    phase = "Running"
    if document["spec"]["template"]["spec"]["containers"][0]["image"] == "gone":
        waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "gone"'}
        container, phase = {"state": {"waiting": waiting}}, "Pending"
    elif n_looks == 0:
        container, phase = {"state": {"waiting": {"reason": "ContainerCreating"}}}, "Pending"
    status = {"phase": phase, "containerStatuses": [container]}
    print(json.dumps({"items": [{"metadata": {"name": f"{name}-abcde"}, "status": status}]}))
elif verb == "attach":
    document = json.loads(job.read_text())
    command = document["spec"]["template"]["spec"]["containers"][0]["command"]
    assert words[-1] == f"{document['metadata']['name']}-abcde"
    os.execvp(command[0], command)  # its standard streams are the pod's
elif verb == "delete":
    job.unlink()
