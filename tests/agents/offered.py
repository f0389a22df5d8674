"""Which tools the MCP server offers."""

import anyio
from mcp.client import Client

from profiler_core.agents.serve import server


def offered(*, allow_capture: bool) -> set[str]:
    """The names of its tools, as a client lists them."""

    async def names() -> set[str]:
        async with Client(server(allow_capture=allow_capture)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    return anyio.run(names)
