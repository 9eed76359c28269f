"""LangChain's SummarizationMiddleware as its agents run it, with any chat model of tersely's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    RemoveMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult

from benchmarks.memory.memories import Count, CountedModel
from tersely.messages import Json, measure_tokens
from tersely_agents.chat import ChatModel


class LangChainSummaries:
    """Summarises above `limit` tokens and keeps the last 20 messages, as its default says.

    The system prompt is not part of the history, as in `create_agent`.
    """

    def __init__(self, first: Sequence[Json], limit: int, model: ChatModel, count: Count) -> None:
        self._system = [m for m in first if m["role"] == "system"]
        self._messages = convert_to_messages([m for m in first if m["role"] != "system"])
        self._model = CountedModel(model, count)

        def count_tokens(messages: Any) -> int:
            return measure_tokens([*self._system, *_to_openai(messages)], count)

        self._middleware: Any = SummarizationMiddleware(
            _LangChainModel(chat=self._model), trigger=("tokens", limit), token_counter=count_tokens
        )

    @property
    def summary_tokens(self) -> tuple[int, int]:
        return self._model.tokens

    def append(self, message: Json) -> None:
        self._messages += convert_to_messages([message])

    def context(self) -> list[Json]:
        changed = self._middleware.before_model({"messages": self._messages}, None)
        if changed:
            self._messages = [m for m in changed["messages"] if not isinstance(m, RemoveMessage)]
        return [*self._system, *_to_openai(self._messages)]


class _LangChainModel(BaseChatModel):
    chat: Any

    @property
    def _llm_type(self) -> str:
        return "tersely"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **options: Any,
    ) -> ChatResult:
        reply = self.chat.complete(_to_openai(messages), stop=stop)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.text))])


def _to_openai(messages: Sequence[BaseMessage]) -> list[Json]:
    return convert_to_openai_messages(list(messages))
