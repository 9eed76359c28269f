"""Objects that LangChain's own middleware calls to make a history shorter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from tersely import Compressor, Document
from tersely.adapters import ToolLimits, check_keep, resolve_compressor
from tersely.inputs import check_count, check_members
from tersely_agents.memory.shortening import Shortener
from tersely_agents.summaries import Summarizer
from tersely_langchain.messages import find_query, find_tools, find_user_text, shorten_result


class TerselyContextEdit:
    """An edit that compresses older tool results for the model when the history has more than `trigger`
    tokens.

    Use it as `ContextEditingMiddleware(edits=[TerselyContextEdit()])`. The history itself stays unchanged. In
    lists of content blocks the texts are compressed; other blocks and errors stay. Each compressed result
    says so in its first line, with the id of the original. Give the agent the tool `open_original` of this
    package, so that the model can read it.

    Args:
        trigger: tokens of the history, by the middleware's counter.
        keep: number of newest tool results that stay whole.
        over: the largest number of tokens of every other result, by the compressor's counter; None shortens
            only the results of `tools`.
        tools: limits in tokens by tool name; None leaves the results of that tool unchanged.
        compressor: None for the bundled model.

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    def __init__(
        self,
        *,
        trigger: int = 100_000,
        keep: int = 3,
        over: int | None = 200,
        tools: Mapping[str, int | None] | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        self._trigger = check_count(trigger, "trigger", "tokens")
        self._keep = check_keep(keep)
        self._limits = ToolLimits(over, tools)
        compressor = resolve_compressor(compressor)
        self._shortener = Shortener(compressor, compressor.count_tokens)

    def apply(
        self, messages: list[AnyMessage], *, count_tokens: Callable[[Sequence[AnyMessage]], int]
    ) -> None:
        """Replace older tool results in `messages` with compressed ones."""
        if count_tokens(messages) <= self._trigger:
            return
        names = find_tools(messages)
        places = [place for place, message in enumerate(messages) if isinstance(message, ToolMessage)]
        for place in places[: max(0, len(places) - self._keep)]:
            limit = self._limits.get(names.get(place))
            if limit is not None:
                query = find_query(messages, place)
                messages[place], _ = shorten_result(messages[place], limit, query, self._shortener)


class TerselySummary:
    """A summarizer without a model call: `SummarizationMiddleware(model, summarizer=TerselySummary())`.

    It keeps the sentences of the history that the last user message needs, word for word.

    Args:
        budget: the largest number of tokens of the summary.
        summarizer: None for an extractive one with the bundled model.

    Raises:
        InvalidInputError: an argument cannot be used.
    """

    def __init__(self, *, budget: int = 1000, summarizer: Summarizer | None = None) -> None:
        self._budget = check_count(budget, "budget", "tokens")
        if summarizer is not None:
            check_members(summarizer, ("summarize",), "summarizer", "Pass a Summarizer.")
        self._summarizer = summarizer or Summarizer()

    def __call__(self, messages: Sequence[AnyMessage]) -> str:
        """Return the summary of a history; empty if the history has no text."""
        query = find_user_text(messages) or "what has been done and found"
        documents = [Document(m.text, _name_author(m)) for m in messages if m.text.strip()]
        return self._summarizer.summarize(query, documents, budget=self._budget).text


def _name_author(message: AnyMessage) -> str:
    if message.type == "tool":
        return f"Result of {message.name or 'a tool'}"
    return {"human": "User", "ai": "Assistant"}.get(message.type, message.type)
