"""`mcp`: the analyses as tools of a Model Context Protocol server, over stdin and stdout.

It reads what this user can read, sends nothing anywhere, and changes nothing unless capturing was
switched on.
"""

import argparse
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

from profiler_core import __version__
from profiler_core.agents.answer import MOST_CHARACTERS, written
from profiler_core.agents.capturing import CAPTURING
from profiler_core.agents.special import SPECIAL
from profiler_core.agents.tools import READING
from profiler_core.answers.record import Answer
from profiler_core.capture.option import Declared
from profiler_core.errors import BadInput, FusionscopeError

_INSTRUCTIONS = (
    "Fusionscope measures what torch.compile did to a PyTorch model. Begin with list_runs, then "
    "compare with the ids that it gives; ask findings for what to change, fusion_groups for what "
    "was fused, not_fused for what was not, graph_breaks and recompiles for what holds it back, "
    "and sweep, ranks or counters where list_runs says that a run has such data. Times are ns "
    "per step, absent data is null. "
    f"An answer has at most {MOST_CHARACTERS} characters: next_offset continues a list, left_off "
    "counts what was cut."
)

Tool = Callable[..., Answer]
# What an argument was called before; such names are still taken (docs/json.md, "Renames").
RENAMED = {"candidates": "candidate", "place": "run"}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("mcp", help="the same analyses for coding agents, over stdio")
    parser.add_argument(
        "--allow-capture",
        action="store_true",
        help="let the agent start captures, which run code on this machine",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until stdin ends.

    Raises:
        BadInput: the SDK is not installed.
    """
    server(allow_capture=arguments.allow_capture).run("stdio")
    return 0


def server(*, allow_capture: bool = False) -> Any:
    """The server with its tools; read-only unless captures are allowed."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError as error:
        raise BadInput(
            f"The SDK of the Model Context Protocol cannot be used: {error}.",
            remedy="Install it: pip install 'mcp>=2'.",
        ) from error
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tools = [_declared(tool, reads) for tool in (*READING, *SPECIAL)]
    if allow_capture:
        start, progress = CAPTURING
        runs_code = ToolAnnotations(read_only_hint=False, destructive_hint=False)
        tools += [_declared(start, runs_code), _declared(progress, reads)]
    return MCPServer(
        "fusionscope",
        version=__version__,
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
        tools=tools,
    )


def _declared(tool: Tool, annotations: Any) -> Any:
    """The tool as the SDK holds it, with a schema that refuses arguments of other names."""
    from mcp.server.mcpserver.tools import Tool as SdkTool
    from pydantic import ConfigDict, create_model, model_validator

    sdk_tool = SdkTool.from_function(
        _answered(tool), annotations=annotations, structured_output=False
    )
    names = tuple(inspect.signature(tool).parameters)

    def refuse_others(arguments: dict[str, Any]) -> dict[str, Any]:
        """Take old names; reject others with the list of valid ones, which the SDK's lacks."""
        arguments = {
            RENAMED.get(name, name) if name not in names else name: value
            for name, value in arguments.items()
        }
        unknown = [name for name in arguments if name not in names]
        if unknown:
            raise ValueError(
                f"{tool.__name__} has no argument {', '.join(unknown)}. Use {', '.join(names)}."
            )
        return arguments

    validators: dict[str, Any] = {"refuse_others": model_validator(mode="before")(refuse_others)}
    strict = create_model(
        f"{tool.__name__}Arguments",
        __base__=sdk_tool.fn_metadata.arg_model,
        __validators__=validators,
    )
    strict.model_config = ConfigDict(**strict.model_config, extra="forbid")
    strict.model_rebuild(force=True)
    sdk_tool.fn_metadata.arg_model = strict
    sdk_tool.parameters = strict.model_json_schema(by_alias=True)
    return sdk_tool


def _answered(tool: Tool) -> Callable[..., str]:
    """The tool with its answer as bounded text, and FusionscopeErrors as the SDK's ToolError."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def answer(**arguments: Any) -> str:
        try:
            return written(tool(**arguments))
        except FusionscopeError as error:
            raise ToolError(f"{error.problem} {error.remedy}") from error

    signature = inspect.signature(tool)
    parameters = [_described(parameter) for parameter in signature.parameters.values()]
    answer.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=str
    )
    return answer


def _described(parameter: inspect.Parameter) -> inspect.Parameter:
    """A declared option with its help and its bounds in the words of the SDK's schemas."""
    from pydantic import Field

    metadata = getattr(parameter.annotation, "__metadata__", ())
    if not metadata or not isinstance(metadata[0], Declared):
        return parameter
    entry = metadata[0]
    help_and_bounds = Field(description=entry.help, ge=entry.about.least)
    return parameter.replace(annotation=Annotated[parameter.annotation.__origin__, help_and_bounds])
