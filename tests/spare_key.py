"""A question about a spare key, its two documents, and the reply that searches for it."""

from benchmarks.shared.tasks import Example
from benchmarks.shared.tasks.example import SourceDocument
from tersely_agents.levels import LEVELS
from training.agent.teacher import write_turn

KEYS = (
    "Ada holds the spare key of the lighthouse, says the book of the harbour master of Tarnwick, page nine."
)
EXAMPLE = Example(
    id="q1",
    question="Who holds the spare key of the lighthouse?",
    answers=("Ada", "Ada Quill"),
    documents=(
        SourceDocument("Keys", KEYS, None),
        SourceDocument("Pears", "The pears are ripe in September.", None),
    ),
    support=None,
    answer_spans=None,
    findable=True,
)
SEARCH = write_turn("Hm.", LEVELS[0], "", "search", {"query": "spare key"})


def finish(answer: str, summary: str = KEYS) -> str:
    """Return the reply that ends with an answer."""
    return write_turn("So.", LEVELS[0], summary, "finish", {"answer": answer, "explanation": "[1.md]"})
