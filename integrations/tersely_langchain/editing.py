"""What LangChain's own middleware may call to make a history shorter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from tersely import Compressor, Document
from tersely.inputs import check_count
from tersely.memory.shortening import Shortener
from tersely.summarize import Summarizer


class TerselyContextEdit:
    """For `ContextEditingMiddleware(edits=[TerselyContextEdit()])`: above `trigger` tokens, older tool
    results are shown to the model compressed. The history itself stays as it is.

    Args:
        trigger: tokens of the history, by the middleware's counter.
        keep: newest tool results that stay whole.
        over: most tokens of the others, by the compressor's counter.
        compressor: None for the bundled model.
    """

    def __init__(
        self,
        *,
        trigger: int = 100_000,
        keep: int = 3,
        over: int = 200,
        compressor: Compressor | None = None,
    ) -> None:
        self._trigger = check_count(trigger, "trigger", "tokens")
        self._keep = keep
        self._over = check_count(over, "over", "tokens")
        compressor = compressor or Compressor()
        self._shortener = Shortener(compressor, compressor.count_tokens)

    def apply(
        self, messages: list[AnyMessage], *, count_tokens: Callable[[Sequence[AnyMessage]], int]
    ) -> None:
        """See `ContextEdit`."""
        if count_tokens(messages) <= self._trigger:
            return
        results = [place for place, m in enumerate(messages) if isinstance(m, ToolMessage)]
        for place in results[: len(results) - self._keep]:
            message = messages[place]
            if isinstance(message.content, str):
                # By what was asked before it, not after: then the same result is always shown the same.
                short = self._shortener.fit(message.content, self._over, _query(messages, place))
                messages[place] = message.model_copy(update={"content": short})


class TerselySummary:
    """For `SummarizationMiddleware(model, summarizer=TerselySummary())`: the sentences of the history that
    the user's last message needs, word for word, without a call of the model.

    Args:
        budget: most tokens of the summary.
        summarizer: None for an extractive one with the bundled model.
    """

    def __init__(self, *, budget: int = 1000, summarizer: Summarizer | None = None) -> None:
        self._budget = check_count(budget, "budget", "tokens")
        self._summarizer = summarizer or Summarizer()

    def __call__(self, messages: Sequence[AnyMessage]) -> str:
        """The summary of a history; empty for one without text."""
        query = asked(messages) or "what has been done and found"
        docs = [Document(m.text, _title(m)) for m in messages if m.text.strip()]
        return self._summarizer.summarize(query, docs, budget=self._budget).text


def _query(messages: Sequence[AnyMessage], place: int) -> str:
    """What a tool result was wanted for: its call's arguments, and the user's message before it."""
    wanted = getattr(messages[place], "tool_call_id", None)
    calls = [c for m in messages[:place] if isinstance(m, AIMessage) for c in m.tool_calls]
    arguments: Any = next((c["args"] for c in reversed(calls) if c["id"] == wanted), "")
    return f"{arguments} {asked(messages[:place])}".strip() or "the task"


def asked(messages: Sequence[AnyMessage]) -> str:
    """The user's last message."""
    return next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")


def _title(message: AnyMessage) -> str:
    return {"human": "User", "ai": "Assistant", "tool": f"Result of {message.name or 'a tool'}"}.get(
        message.type, message.type
    )
