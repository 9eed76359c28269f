"""What every system of a run reads and writes is read and written once, and timed as if it were not.

Replies of the models are kept on disk too, with the seconds that they took: a run that was stopped goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Unpack

from benchmarks.shared import cache
from tersely import Compression, Compressor
from tersely.inputs import DocumentLike, read_documents
from tersely.options import CompressionArguments
from tersely_agents.chat import ChatModel, Message, Reply
from tersely_agents.chat.protocol import Options


class WritingOnce:
    """A chat model that writes once for a prompt: what is dropped of a text changes nothing in the text.

    Args:
        chat: the model. It has to be deterministic.
        identity: name and fingerprint of the model, by which its replies are kept.
    """

    def __init__(self, chat: ChatModel, identity: str) -> None:
        self.name = chat.name
        self.saved = 0.0
        """Seconds that the repeated replies would have taken."""
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


class ReadingOnce(Compressor):
    """A compressor that makes each compression once: all systems read the same choice of a long text."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0.0
        """Seconds that the repeated compressions would have taken."""
        self._known: dict[tuple[object, ...], tuple[Compression, float]] = {}

    def compress(
        self, query: str | None, docs: Iterable[DocumentLike], **options: Unpack[CompressionArguments]
    ) -> Compression:
        documents = read_documents(docs)
        key = (query, tuple((d.title, d.text) for d in documents), str(options))
        if key in self._known:
            compression, seconds = self._known[key]
            self.saved += seconds
            return compression
        started = time.perf_counter()
        compression = super().compress(query, documents, **options)
        self._known[key] = (compression, time.perf_counter() - started)
        return compression


def read_clock(*parts: WritingOnce | ReadingOnce) -> float:
    """Seconds of a clock on which these parts save nothing."""
    return time.perf_counter() + sum(part.saved for part in parts)
