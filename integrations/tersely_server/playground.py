"""The playground: its page, and the view of a result that it shows."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tersely import Compression
from tersely.cli.read import DEMO_QUERY, demo_documents
from tersely.view import STYLE, make_parts

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content policy of the page: it loads nothing from outside, and sends texts nowhere else."""


@cache
def make_page() -> str:
    """Return the page, with the style of the view and the documents of `tersely demo` as an example."""
    documents = [f"{document.title}\n\n{document.text}" for document in demo_documents()]
    example = json.dumps({"query": DEMO_QUERY, "documents": "\n---\n".join(documents)}).replace(
        "<", "\\u003c"
    )
    page = Path(__file__).with_name("playground.html").read_text(encoding="utf-8")
    return page.replace("/* the style of the view */", STYLE).replace("null /* the example */", example)


def make_view(result: Compression, documents: list[str | dict[str, Any]]) -> dict[str, Any]:
    """Return the page's view of a result, as HTML and as numbers."""
    sources = [
        (None, document)
        if isinstance(document, str)
        else (document["title"] or document["id"], document["text"])
        for document in documents
    ]
    parts = make_parts(result.to_dict(), sources)
    numbers = {"tokens_before": result.tokens_before, "tokens_after": result.tokens_after}
    return {"text": result.text, **numbers, **parts._asdict()}
