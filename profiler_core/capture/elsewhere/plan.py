"""What will run on another machine, put together before anything starts, and as text to be read."""

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from profiler_core.capture.elsewhere.bundle import OURS, SENT, Project, as_there, project_of
from profiler_core.capture.elsewhere.host import called, read_address
from profiler_core.capture.elsewhere.kubernetes import kubectl, manifest, new_name
from profiler_core.capture.elsewhere.slurm import SCRIPT, START, script_text, submit_words
from profiler_core.capture.elsewhere.transport import ssh_words, starter
from profiler_core.capture.spec import CaptureSpec
from profiler_core.settings import Host
from profiler_core.units import format_bytes

_LEAST_PYTHON = (3, 11)  # of the process that leads the capture; the model's may be 3.8
_SILENT_S = 90.0  # a side that hears nothing for so long is alone
_MOST_NAMES = 8


@dataclass(frozen=True)
class Plan:
    """A capture on another machine.

    there: the spec with the paths that hold there. project: what of the user's is sent.
    folder: of Slurm without ssh, where its script and what it makes lie. job: of Kubernetes.
    """

    host: Host
    spec: CaptureSpec
    there: CaptureSpec
    project: Project | None
    out: Path
    folder: Path
    job: dict[str, Any] | None

    @property
    def is_shared(self) -> bool:
        """A job of Slurm that shares this machine's folders."""
        return self.host.slurm and self.host.ssh is None

    @property
    def command(self) -> list[str]:
        """What runs there; words in braces are filled in there."""
        slurm = ["--slurm", *(f"--slurm-option={option}" for option in self.host.slurm_options)]
        return [
            "{python}", "-P", "-c", START, f"{SENT}/{OURS}", *self.there.to_argv(),
            *(slurm if self.host.slurm else []), "--out={out}", "--progress={progress}",
        ]  # fmt: skip

    @property
    def order(self) -> dict[str, Any]:
        """The first line to `runner_side`, but for the length of what is sent."""
        folder = self.host.folder or ("~" if self.host.slurm else "")  # which the nodes share
        return {
            "command": self.command,
            "environment": {"PYTHONUNBUFFERED": "1"},
            "keeps_environment": True,
            "directory": "",
            "scratch": folder,
            "least_python": _LEAST_PYTHON,
            "silent_s": _SILENT_S,
        }

    @property
    def transport(self) -> list[str]:
        """The command line of ssh."""
        return ssh_words(read_address(self.host.ssh or ""), starter(self.spec.python))

    @property
    def text(self) -> str:
        """For a person: what is started, sent, and brought back."""
        lines = [f"Captures on {called(self.host)}."]
        if self.is_shared:
            made = self.folder / "runs"
            script = script_text(self.there.to_argv(), made, self.folder / "progress.jsonl")
            submit = shlex.join(submit_words(self.host.slurm_options, self.folder))
            return "\n".join([*lines, f"\n{self.folder / SCRIPT}:", script, submit, self._end])
        if self.job is not None:
            create = shlex.join(kubectl(self.host, "create", "-f", "-"))
            lines += ["", create, json.dumps(self.job, indent=2)]
        else:
            lines += ["", shlex.join(self.transport)]
        lines += ["", "Sent over its standard input: fusionscope's own code" + self._files]
        lines += ["", "Runs there:", shlex.join(self.command)]
        if self.host.slurm:
            lines.append(
                "which submits that capture with sbatch, from a folder in "
                + (self.host.folder or "~")
            )
        return "\n".join([*lines, "", self._end])

    @property
    def _files(self) -> str:
        if self.project is None:
            return "."
        names = [str(path) for path in self.project.paths[:_MOST_NAMES]]
        n_more = len(self.project.paths) - len(names)
        more = f" and {n_more} more" if n_more else ""
        size = format_bytes(self.project.n_bytes)
        return f", and {size} of {self.project.folder}: {', '.join(names)}{more}."

    @property
    def _end(self) -> str:
        return f"Its runs come to {self.out}."


def plan_of(spec: CaptureSpec, host: Host, out: Path, *, is_code_there: bool) -> Plan:
    """What a capture on that machine will do.

    Args:
        spec: as asked for; without a Python it takes the host's.
        host: which was checked.
        out: where the runs come to.
        is_code_there: the paths are of the other machine, and nothing of the user's is sent.

    Raises:
        BadInput: the user's files cannot be sent.
    """
    spec = replace(spec, python=spec.python or host.python)
    is_shared = host.slurm and host.ssh is None
    sends = spec.is_user_code and not is_code_there and not is_shared
    project = project_of(spec) if sends else None
    there = as_there(spec, project)
    if not is_shared and there.python is None:
        there = replace(there, python="{own}")  # the interpreter that received all this
    name = new_name(spec.title)
    out = out.expanduser().resolve()
    folder = (Path(host.folder).expanduser().resolve() if host.folder else out) / f".{name}"
    job = manifest(host, name, spec.python) if host.kubernetes else None
    return Plan(host, spec, there, project, out, folder, job)
