"""One request for a summary: its checked arguments, and the prompt for a chat model."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import DocumentLike, check_count, check_query, check_text, read_documents, show_value
from tersely.pack.render import BETWEEN_DOCUMENTS, title_line
from tersely.timing import StageTimer
from tersely.types import Document
from tersely_agents.chat.protocol import Message
from tersely_agents.prompts import load_prompt
from tersely_agents.summaries.types import ASPECTS, Aspect

logger = logging.getLogger("tersely")


@dataclass(frozen=True, slots=True)
class Request:
    """What one call of a summarizer works on."""

    compressor: Compressor
    query: str
    question: str
    aspect: Aspect
    budget: int | None
    documents: list[Document]
    """The caller's."""
    shown: list[Document]
    """What a model gets to see of them; empty if there is no text to show."""
    reason: str | None
    """Why nothing is shown although the documents have text."""
    timer: StageTimer

    @property
    def reply_limit(self) -> int | None:
        """Most tokens of the model's reply. It is above the budget, since the model counts differently."""
        return None if self.budget is None else self.budget * 3 // 2 + 16

    def messages(self) -> list[Message]:
        """RECON's prompt for what is shown."""
        return write_messages(self.question, self.query, self.shown, self.aspect, self.budget)

    def count_source_tokens(self) -> int:
        """Tokens of all documents with their titles."""
        parts = (title_line(d) + d.text.strip() for d in self.documents if d.text.strip())
        return self.compressor.count_tokens(BETWEEN_DOCUMENTS.join(parts))


def write_messages(
    question: str, query: str, documents: Iterable[Document], aspect: Aspect, budget: int | None
) -> list[Message]:
    """RECON's prompt, which separates the question from the search query (appendix B.4). Summarizers are
    trained with it too."""
    texts = "\n\n".join(
        f"[Doc {number}] {title_line(document)}{document.text}"
        for number, document in enumerate(documents, 1)
    )
    # A word has about one and a third tokens.
    length = "" if budget is None else f" in at most {max(5, budget * 2 // 3)} words"
    system = load_prompt("summary_system").render(aspect=aspect, explanation=ASPECTS[aspect])
    user = load_prompt("summary_user").render(question=question, query=query, documents=texts, length=length)
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def prepare(
    compressor: Compressor,
    query: str,
    docs: Iterable[DocumentLike],
    question: str | None,
    aspect: Aspect,
    budget: int | None,
    preselect: int | None,
) -> Request:
    """Check the arguments of `Summarizer.summarize`, and choose what the model sees if `preselect` is given.

    Raises:
        InvalidInputError: an argument cannot be used.
    """
    timer = StageTimer()
    query = check_query(query)
    question = query if question is None else check_query(question)
    if check_text(aspect, "aspect") not in ASPECTS:
        raise InvalidInputError(
            f"aspect is {show_value(aspect)}. Pass one of {', '.join(map(repr, ASPECTS))}."
        )
    budget = None if budget is None else check_count(budget, "budget", "tokens")
    documents = read_documents(docs)
    shown = documents if any(d.text.strip() for d in documents) else []
    reason = None
    if preselect is not None and shown:
        selection = compressor.compress(query, documents, budget=preselect)
        shown = [Document(d.text, d.title) for d in selection.documents]
        if not shown:
            reason = explain_fallback("no sentence fits into preselect")
        timer.lap("select")
    return Request(compressor, query, question, aspect, budget, documents, shown, reason, timer)


def explain_fallback(cause: object) -> str:
    """Log why no model writes the summary. Returns the text for `Summary.reason`."""
    reason = f"extractive, because {cause}"
    logger.warning("summary: %s", reason)
    return reason
