"""A question, documents that answer it, and what is known of them."""

from __future__ import annotations

from tersely import Document
from tersely.split.sentences import split_units

QUERY = "When was the lighthouse at Cape Ferro built?"
DOCS = [
    Document(
        "Cape Ferro lies on the northern coast. The lighthouse at Cape Ferro was built in 1861. "
        "It has a red lamp.\n\nFishing is the main trade. Nobody lives at the cape in winter.",
        title="Cape Ferro",
        id="a",
        metadata={"url": "local"},
    ),
    Document("Ferries leave at nine. Bread is baked daily.", title="Harbour"),
    Document(
        "The keeper's house was built later. It burned down in 1900.\n\n    steps = 112\n    height = 31\n"
    ),
]
TOTAL_WORDS = 61
"""Number of words of all documents and titles."""
UNIT_COUNTS = [len(split_units(document.text)) for document in DOCS]
