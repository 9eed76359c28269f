"""What LangChain's own middleware may call to make a history shorter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from tersely import Compressor, Document
from tersely.adapters import ToolLimits, check_compressor, check_keep
from tersely.inputs import check_count, check_members
from tersely_agents.memory.shortening import Shortener
from tersely_agents.summaries import Summarizer
from tersely_langchain.messages import find_query, find_tools, find_user_text, shorten_result


class TerselyContextEdit:
    """For `ContextEditingMiddleware(edits=[TerselyContextEdit()])`: above `trigger` tokens, older tool
    results are shown to the model compressed. The history itself stays as it is.

    Each says so in its first line, and names the original. Give the agent the tool `open_original` of this
    package, so that the model can open it. Of lists of content blocks the texts are compressed; other blocks
    and errors stay.

    Args:
        trigger: tokens of the history, by the middleware's counter.
        keep: number of newest tool results that stay whole.
        over: most tokens of each other result, by the compressor's counter; None for those of `tools` only.
        tools: tokens for the tools with these names; None leaves a tool's results as they are.
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
        compressor = check_compressor(compressor)
        self._shortener = Shortener(compressor, compressor.count_tokens)

    def apply(
        self, messages: list[AnyMessage], *, count_tokens: Callable[[Sequence[AnyMessage]], int]
    ) -> None:
        """Replace older tool results in `messages` by compressed ones."""
        if count_tokens(messages) <= self._trigger:
            return
        names = find_tools(messages)
        places = [place for place, message in enumerate(messages) if isinstance(message, ToolMessage)]
        for place in places[: max(0, len(places) - self._keep)]:
            limit = self._limits.of(names.get(place))
            if limit is not None:
                query = find_query(messages, place)
                messages[place], _ = shorten_result(messages[place], limit, query, self._shortener)


class TerselySummary:
    """For `SummarizationMiddleware(model, summarizer=TerselySummary())`: the sentences of the history that
    the user's last message needs, word for word, without a call of the model.

    Args:
        budget: most tokens of the summary.
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
        """The summary of a history; empty for one without text."""
        query = find_user_text(messages) or "what has been done and found"
        documents = [Document(m.text, _name_author(m)) for m in messages if m.text.strip()]
        return self._summarizer.summarize(query, documents, budget=self._budget).text


def _name_author(message: AnyMessage) -> str:
    """Who a message is from, for the title of a document."""
    if message.type == "tool":
        return f"Result of {message.name or 'a tool'}"
    return {"human": "User", "ai": "Assistant"}.get(message.type, message.type)
