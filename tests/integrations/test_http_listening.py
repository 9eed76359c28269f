"""The socket that every server of tersely listens on."""

from __future__ import annotations

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn")

from tersely_http import listen


def test_small_parts_of_an_answer_are_sent_at_once() -> None:
    # Without TCP_NODELAY the second part waits for the acknowledgement of the first, about 40 ms.
    async def accept() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened: socket.socket = writer.get_extra_info("socket")
            accepted.set_result(opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen("127.0.0.1", 0, "--port") as opened:
            server = await asyncio.start_server(greet, sock=opened)
            async with server:
                _, writer = await asyncio.open_connection(*opened.getsockname()[:2])
                delayed = await accepted
                writer.close()
        return delayed

    assert asyncio.run(accept())
