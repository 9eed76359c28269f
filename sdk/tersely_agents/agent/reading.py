"""What an agent reads of the documents that a search has found: passages, their best sentences, or a
summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.inputs import check_compressor, check_count, check_members, type_name
from tersely.types import Document
from tersely_agents.agent.retrieval import Hit, Retriever, check_retriever
from tersely_agents.agent.strategies.recon import TOP_K
from tersely_agents.agent.tools import Tool
from tersely_agents.summaries.summarizer import Summarizer

Reading = Callable[[str, str, Sequence[Hit]], str]
"""From the question, the search query and what was found to what the agent reads of it."""


def read_passages(question: str, query: str, hits: Sequence[Hit]) -> str:
    """The passages as they are, best first."""
    return "\n".join(f"({number}) {hit.title}: {hit.passage}" for number, hit in enumerate(hits, 1))


@dataclass(frozen=True, slots=True)
class SelectedSentences:
    """The sentences that the compressor keeps, within `budget` tokens where there is one."""

    compressor: Compressor
    budget: int | None = None

    def __post_init__(self) -> None:
        check_compressor(self.compressor)
        _check_budget(self.budget)

    def __call__(self, question: str, query: str, hits: Sequence[Hit]) -> str:
        wanted = query if query == question else f"{question} {query}"
        return self.compressor.compress(wanted, _documents(hits), budget=self.budget).text


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary for the question and the query, within `budget` tokens where there is one (RECON)."""

    summarizer: Summarizer
    budget: int | None = None

    def __post_init__(self) -> None:
        check_members(self.summarizer, ("summarize",), "The summarizer", "Pass a Summarizer.")
        _check_budget(self.budget)

    def __call__(self, question: str, query: str, hits: Sequence[Hit]) -> str:
        documents = _documents(hits)
        return self.summarizer.summarize(query, documents, question=question, budget=self.budget).text


def reading_tool(retriever: Retriever, read: Reading = read_passages, k: int = TOP_K) -> Tool:
    """A tool `search` whose result is what `read` makes of the `k` best documents."""
    check_retriever(retriever)
    check_count(k, "k", "documents")
    if not callable(read):
        raise InvalidInputError(f"read is {type_name(read)}. Pass a function, such as read_passages.")

    def search(arguments: Mapping[str, str]) -> str:
        query = arguments["query"]
        hits = retriever.search(query, k)
        return read(arguments.get("question") or query, query, hits) if hits else "Nothing was found."

    parameters = {"query": "what to look for", "question": "what you want to know in the end"}
    return Tool("search", "finds documents and tells what they say", parameters, search, ("query",))


def _check_budget(budget: int | None) -> None:
    if budget is not None:
        check_count(budget, "budget", "tokens")


def _documents(hits: Sequence[Hit]) -> list[Document]:
    return [Document(hit.passage, title=hit.title, id=hit.docid) for hit in hits]
