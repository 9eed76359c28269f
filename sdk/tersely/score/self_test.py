"""Test the parts of a model when it is loaded, so that a broken model fails then and not on every request."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tersely.score.attention import RELATIONS
from tersely.score.encoder import Encoder, merge_logits
from tersely.score.features import FIRST_FEATURES, QUERY_FEATURES
from tersely.score.fusion import ATTENTION_FILE, LAYERS_FILE, Fusion
from tersely.score.hops import SECOND_FEATURES
from tersely.score.layout import EncodedDocument, Layout, Window

_QUERY = "Who built the bridge?"
_DOCUMENTS = (("The bridge", ("Ada built it in 1861.", "It is long.")), ("", ("The mill burned down.",)))


def run_self_test(
    layout: Layout, encoder: Encoder, fusion: Fusion, idf: NDArray[np.float32], threshold: float
) -> None:
    """Run a small request through the parts of a model.

    Raises ValueError if a number is wrong or missing. Errors of the parts pass through.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"the threshold is {threshold}, not between 0 and 1")
    tokenizer = layout.tokenizer
    largest = max(tokenizer.get_vocab_size() - 1, *tokenizer.get_added_tokens_decoder(), 0)
    if idf.ndim != 1 or len(idf) <= largest or not np.isfinite(idf).all():
        raise ValueError(f"lexical.npz does not hold a number for each of the tokens 0 to {largest}")
    _check_fusion(fusion)
    _check_encoder(layout, encoder, largest)


def _check_fusion(fusion: Fusion) -> None:
    fusion.first_layer.check(len(FIRST_FEATURES), LAYERS_FILE)
    fusion.gate.check(len(QUERY_FEATURES), LAYERS_FILE)
    if fusion.attention is not None:
        weights = fusion.attention.weights
        if (
            not all(np.isfinite(array).all() for array in weights.values())
            or (weights["deviation"] <= 0).any()
        ):
            raise ValueError(f"{ATTENTION_FILE} holds weights that are not numbers, or deviations of 0")
        fusion.attention(np.zeros((2, len(SECOND_FEATURES))), np.zeros((2, 2, len(RELATIONS)), np.float32))


def _check_encoder(layout: Layout, encoder: Encoder, largest: int) -> None:
    """Encode windows that hold every special token, padding and the last token of the vocabulary."""
    config = layout.config
    # The longest prefix has to leave room for a sentence. Building the window raises ValueError otherwise.
    layout.windows(
        [0] * config.query_length,
        [EncodedDocument([0] * config.title_length, [[0]])],
        evidence=[0] * config.evidence_length,
    )
    (query,) = layout.tokenize([_QUERY])
    documents = [
        EncodedDocument(layout.tokenize([title])[0], layout.tokenize(sentences))
        for title, sentences in _DOCUMENTS
    ]
    documents.append(EncodedDocument([], [[largest]]))
    offsets = np.cumsum([0, *(len(document.sentences) for document in documents)])
    windows: list[Window] = layout.windows(query, documents)
    logits = merge_logits(encoder.encode(windows), offsets, len(documents))
    if not (np.isfinite(logits.keep).all() and np.isfinite(logits.relevance).all()):
        raise ValueError("the graph gives logits that are not numbers")
