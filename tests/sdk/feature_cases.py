"""A small request by hand: three documents, eight tokens, and logits for them."""

from __future__ import annotations

import numpy as np

from tersely.score.features import Logits, Matches

IDF = np.array([0, 1, 2, 3, 1, 2, 1, 3], dtype=np.float32)
"""Squared, the weights of the tokens 0 to 7 are 0, 1, 4, 9, 1, 4, 1 and 9."""

MATCHES = Matches(
    query="Did Ada Moor sell 40 boats in 1,950?",
    query_ids=[1, 2, 3, 3],
    title_ids=[[2, 6], [5, 6], []],
    sentence_ids=[[1, 5], [3, 4], [0, 1, 0], [7, 5, 6]],
    texts=["Ada Moor sold 40 boats.", "In 1,950 he sold 40.", "Nothing else.", "ADA MOOR again."],
    document=np.array([0, 0, 1, 2]),
    idf=IDF,
)
"""The question's terms 1, 2 and 3 weigh 14 together."""

LOGITS = Logits(keep=np.array([2.0, 0.5, -1.0, 1.0]), relevance=np.array([1.0, -0.5, 0.25]))
"""The encoder's output in its first pass."""

FIRST_LOGITS = np.array([3.0, 1.0, -2.0, 2.5])
"""The output of the fusion's first stage."""
