"""Run verbs in a process that can import only what a wheel without extras brings.

    python -m tests.core_alone 'summary RUN' 'compare BASELINE CANDIDATE --json' …

prints one JSON line for each: its exit status, and what it wrote to both outputs. The word `agent`
asks the server for agents to compare the two runs that follow it.
"""

import contextlib
import importlib.metadata as metadata
import io
import json
import re
import shlex
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from packaging.requirements import Requirement

from tests.requirements import sections


def core_distributions() -> set[str]:
    """Names of what [core] installs, with all that it depends on."""
    names: set[str] = set()
    waiting = [(Requirement(line), frozenset({""})) for line in sections()["core"]]
    while waiting:
        requirement, asked_with = waiting.pop()
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in asked_with):
            continue
        name = _plain(requirement.name)
        if name not in names or requirement.extras:
            names.add(name)
            extras = frozenset({"", *requirement.extras})
            waiting += [(Requirement(line), extras) for line in metadata.requires(name) or ()]
    return names


def others() -> set[str]:
    """Modules that are installed here and would not be with the core alone."""
    core = core_distributions()
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if not {_plain(owner) for owner in owners} & core
    } - {"profiler_core", "tests"}


class Without:
    """A finder as it was, which cannot find some modules any more."""

    def __init__(self, finder: Any, hidden: set[str]) -> None:
        self._finder = finder
        self._hidden = hidden

    def find_spec(self, name: str, *path_and_target: Any) -> ModuleSpec | None:
        """None: there is no such module."""
        if name.partition(".")[0] in self._hidden:
            return None
        spec: ModuleSpec | None = self._finder.find_spec(name, *path_and_target)
        return spec

    def __getattr__(self, name: str) -> Any:
        """Distributions are found as before."""
        return getattr(self._finder, name)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(words: list[str]) -> int:
    from profiler_core.cli.main import main

    if words[0] != "agent":
        return main(words)
    import anyio
    from mcp.client import Client

    from profiler_core.agents.serve import server

    async def compare() -> str:
        async with Client(server()) as client:
            pair = {"baseline": words[1], "candidates": [words[2]]}
            answer = await client.call_tool("compare", pair)
            return str(answer.content[0].text)

    print(anyio.run(compare))
    return 0


def main(command_lines: Sequence[str]) -> None:
    """Run each, and say how it ended."""
    hidden = others()
    for name in [name for name in sys.modules if name.partition(".")[0] in hidden]:
        del sys.modules[name]  # what this needed itself
    sys.meta_path[:] = [Without(finder, hidden) for finder in sys.meta_path]
    for line in command_lines:
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                status: object = _run(shlex.split(line))
            except SystemExit as error:
                status = error.code
        print(json.dumps([status, output.getvalue(), errors.getvalue()]), flush=True)
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} & hidden)))


if __name__ == "__main__":
    main(sys.argv[1:])
