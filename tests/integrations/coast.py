"""Long pages that agents read, and a question that one sentence of them answers."""

from __future__ import annotations

QUESTION = "Who holds the spare key?"
ANSWER = "Ada holds the spare key."


def make_page(subject: str, fact: str) -> str:
    """Sixty sentences of little use, and then the fact."""
    return " ".join(f"The {subject} has a lamp of the kind number {i}." for i in range(60)) + f" {fact}"
