"""A chat model that writes once for each prompt, and counts the seconds that it saves by that.

Replies are kept on disk with the seconds that they took, so that a stopped run can continue.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Unpack

from benchmarks.shared import cache
from tersely_agents.chat import ChatModel, Message, Reply
from tersely_agents.chat.protocol import Options


class WritingOnce:
    """A chat model that writes once for each prompt.

    Args:
        chat: the model. It has to be deterministic.
        identity: name and fingerprint of the model, under which its replies are kept.
    """

    def __init__(self, chat: ChatModel, identity: str) -> None:
        self.name = chat.name
        self.saved = 0.0
        """Seconds that repeated replies would have taken."""
        self._chat = chat
        self._identity = identity

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        key = cache.digest(self._identity, json.dumps([list(messages), options], sort_keys=True))
        if known := cache.fetch("replies", [key]):
            row = json.loads(known[key])
            self.saved += row["seconds"]
            return Reply(row["text"], finish=row["finish"])
        started = time.perf_counter()
        reply = self._chat.complete(messages, **options)
        seconds = time.perf_counter() - started
        row = {"text": reply.text, "finish": reply.finish, "seconds": seconds}
        cache.keep("replies", {key: json.dumps(row).encode()})
        return reply

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        return self.complete(messages, **options)
