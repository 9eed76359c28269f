"""A chat model of LangChain as a chat model of tersely: it writes the notes of a memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from tersely.messages import get_text, render_messages
from tersely_agents.chat import ChatError, Message, Options, Reply

logger = logging.getLogger("tersely")

CALL_CONFIG: RunnableConfig = {"metadata": {"lc_source": "summarization"}}
"""LangChain marks its own calls that write summaries so."""


class LangChainChat:
    """A `tersely_agents.chat.ChatModel`. The model gets the transcript as text, because providers refuse
    calls of tools that a request does not offer.

    Args:
        model: LangChain's chat model.
        loop: the event loop in which `complete` runs the model; None for the thread that calls it.
    """

    def __init__(self, model: BaseChatModel, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._model, self._loop = model, loop
        self.name = type(model).__name__

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The model's reply. Raises ChatError where the model fails."""
        if self._loop is not None:
            return asyncio.run_coroutine_threadsafe(self.acomplete(messages, **options), self._loop).result()
        try:
            return Reply(self._model.invoke(_to_prompt(messages), CALL_CONFIG).text)
        except Exception as error:  # every provider has its own
            raise _to_chat_error(error) from error

    async def acomplete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """`complete`, awaited."""
        try:
            return Reply((await self._model.ainvoke(_to_prompt(messages), CALL_CONFIG)).text)
        except Exception as error:  # every provider has its own
            raise _to_chat_error(error) from error


def _to_prompt(messages: Sequence[Message]) -> list[AnyMessage]:
    """One message: the transcript as text, and below it the last message, which is the instruction."""
    *transcript, instruction = messages
    return [HumanMessage(f"{render_messages(transcript)}\n\n{get_text(instruction)}")]


def _to_chat_error(error: Exception) -> ChatError:
    logger.warning("the model wrote no notes, so sentences of the history take their place: %s", error)
    return ChatError(str(error))
