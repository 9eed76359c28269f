"""Calls of an MCP server that runs in the process of the test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client

from tersely import Compressor
from tersely_mcp import build_server
from tests.sdk.fakes import FakeScorer

Talk = Callable[[Client], Awaitable[Any]]


def connect(talk: Talk, compressor: Compressor | None = None, **options: Any) -> Any:
    """Return the result of `talk` with a client of a new server."""
    server = build_server(compressor=compressor or Compressor(FakeScorer()), **options)

    async def run() -> Any:
        async with Client(server) as client:
            return await talk(client)

    return asyncio.run(run())


def call(tool: str, arguments: dict[str, Any], compressor: Compressor | None = None, **options: Any) -> Any:
    """Return the reply of one call to a new server."""
    return connect(lambda client: client.call_tool(tool, arguments), compressor, **options)


def read_details(result: Any) -> dict[str, Any]:
    """Return the part of a reply for programs."""
    return result.meta["tersely"]


def read_error(tool: str, arguments: dict[str, Any], **options: Any) -> str:
    """Return the message of a call that fails."""
    result = call(tool, arguments, **options)
    assert result.is_error
    return result.content[0].text
