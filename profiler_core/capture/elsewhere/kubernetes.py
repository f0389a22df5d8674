"""A capture as a Job of Kubernetes: its manifest, its pod, and its end.

The pod receives `runner_side` and the code over its standard input, which Kubernetes closes with
the connection (`stdinOnce`); then the capture ends there, and the Job with it.
"""

import contextlib
import json
import re
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from profiler_core.capture.elsewhere.transport import starter
from profiler_core.errors import Cancelled, CaptureFailed
from profiler_core.settings import Host

CONTAINER = "capture"
_LOOK_EVERY_S = 1.0
_ANSWERS_WITHIN_S = 60
_LONGEST_S = 24 * 3600  # of a Job; what nobody ended ends then
_KEPT_S = 600  # a Job that has ended is deleted by Kubernetes itself
# Waiting for these leads nowhere.
_HOPELESS = {
    "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError",
    "CreateContainerError", "RunContainerError", "CrashLoopBackOff",
}  # fmt: skip


def kubectl(host: Host, *words: str) -> list[str]:
    """The command line of kubectl for this cluster."""
    where = [
        f"--{name}={value}" for name in ("context", "namespace") if (value := getattr(host, name))
    ]
    return ["kubectl", *where, *words]


def new_name(title: str) -> str:
    """A fresh name of a Job."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:30].strip("-") or "capture"
    return f"fusionscope-{slug}-{secrets.token_hex(3)}"


def manifest(host: Host, name: str, python: str | None) -> dict[str, Any]:
    """The Job: one pod that is tried once, and gone some minutes after its end."""
    limits = {"limits": {"nvidia.com/gpu": str(host.gpus)}} if host.gpus else {}
    container = {
        "name": CONTAINER,
        "image": host.image,
        "command": starter(python),
        "stdin": True,
        "stdinOnce": True,
        "resources": limits,
        # Ranks speak over shared memory, of which a container has 64 MB otherwise.
        "volumeMounts": [{"name": "shared-memory", "mountPath": "/dev/shm"}],  # noqa: S108
    }
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}],
    }
    labels = {"app.kubernetes.io/name": "fusionscope"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": _LONGEST_S,
            "ttlSecondsAfterFinished": _KEPT_S,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@contextlib.contextmanager
def running_pod(
    host: Host,
    job: dict[str, Any],
    say: Callable[[str], None],
    is_cancelled: Callable[[], bool],
) -> Iterator[list[str]]:
    """Create the Job and wait for its pod; gives the words that speak with it, and deletes it.

    Raises:
        CaptureFailed: it cannot be created, or its pod does not start.
        Cancelled: meanwhile.
    """
    name = job["metadata"]["name"]
    _asked(kubectl(host, "create", "-f", "-"), json.dumps(job))
    try:
        pod = _started(host, name, say, is_cancelled)
        yield kubectl(host, "attach", "--stdin", "--quiet", f"--container={CONTAINER}", pod)
    finally:
        with contextlib.suppress(CaptureFailed):  # it is deleted some minutes after its end
            _asked(kubectl(host, "delete", "job", name, "--ignore-not-found", "--wait=false"))


def _started(
    host: Host, name: str, say: Callable[[str], None], is_cancelled: Callable[[], bool]
) -> str:
    told = ""
    words = kubectl(host, "get", "pods", f"--selector=job-name={name}", "--output=json")
    while True:
        if is_cancelled():
            raise Cancelled("The capture was cancelled.", remedy="Start it again when you like.")
        pods = json.loads(_asked(words)).get("items", [])
        state, why = _state(pods[0]) if pods else ("Pending", "")
        if state == "Running":
            return str(pods[0]["metadata"]["name"])
        if state in ("Failed", "Succeeded") or why.partition(":")[0] in _HOPELESS:
            raise CaptureFailed(
                f"The pod of the Job {name} does not run: {why.rstrip('.') or state}.",
                remedy="Correct the image, the namespace or what it may use, and start it again.",
            )
        if why != told:
            told = why
            say(f"Waits for the pod of {name}: {why or state}")
        time.sleep(_LOOK_EVERY_S)


def _state(pod: dict[str, Any]) -> tuple[str, str]:
    """Its phase, and why it is no further."""
    status = pod.get("status", {})
    for container in status.get("containerStatuses", ()):
        if "running" in container.get("state", {}):
            return "Running", ""
        for reason in container.get("state", {}).values():
            if reason.get("reason"):
                return status.get("phase", "Pending"), ": ".join(
                    filter(None, (reason["reason"], reason.get("message")))
                )
    for condition in status.get("conditions", ()):
        if condition.get("status") == "False" and condition.get("message"):
            return status.get("phase", "Pending"), condition["message"]
    # Running without a container that runs: kubelet has not said so yet.
    return status.get("phase", "Pending").replace("Running", "Pending"), ""


def _asked(words: Sequence[str], text: str = "") -> str:
    try:
        done = subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWERS_WITHIN_S,
            check=False,
        )
    except FileNotFoundError:
        raise CaptureFailed(
            "kubectl is not on the PATH here.", remedy="Install it, and let it reach the cluster."
        ) from None
    except subprocess.TimeoutExpired:
        raise CaptureFailed(
            "The cluster does not answer within a minute.", remedy="Look at it with kubectl."
        ) from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise CaptureFailed(
            f"kubectl failed: {lines[-1].rstrip('.') if lines else 'it said nothing'}.",
            remedy="Try the same with kubectl by hand; --context and --namespace choose where.",
        )
    return done.stdout
