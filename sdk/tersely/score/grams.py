"""Matching by character n-grams, for scripts that the model's vocabulary does not know.

An English vocabulary spells Russian in single letters, lacks many Chinese characters, and drops the marks
that distinguish Vietnamese words. The encoder and exact matches of tokens then say little, and the characters
themselves say more. Terms are words, pairs of Chinese and Japanese characters, and the
4-grams of longer words, which match through inflection. Nothing here knows a language: the weights were
fitted on English questions (`training.export.fit_grams`).

The vocabulary splits words of other languages in Latin letters into pieces. The more words of a question it
splits, the more the characters count in the score.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.score.bm25 import BM25
from tersely.score.matching import Floats, best_beside
from tersely.score.words import LETTERS, split_terms
from tersely.tokens import replace_surrogates

UNKNOWN = "[UNK]"

GRAM_CHARACTERS = 4
"""Number of characters of an n-gram of a word."""

GRAM_FEATURES = (
    "words",
    "grams",
    "grams_neighbours",
    "grams_of_document",
    "words_below_best",
    "grams_below_best",
)
GRAM_WEIGHTS = (-0.033, 2.617, 1.192, 5.002, 2.09, 5.676)
GRAM_BIAS = 0.615
"""Amount added to every logit, so that the model's threshold keeps 95 % of the labelled sentences of those
questions."""

MIN_UNKNOWN, FULL_UNKNOWN = 0.1, 0.8
"""Shares of unknown words. Up to the first, the characters do not count; from the second on, only they do."""

MIN_LOST = 0.6
"""Words that lose their marks count as unknown only if they are at least this share of a question's words.
Vietnamese questions lose more. Those in other languages with Latin letters lose less, unless they are very
short."""

MIN_BROKEN, FULL_BROKEN = 0.25, 0.6
"""Shares of broken words at which the characters begin to count, and at which they count most. No English
held-out question has a higher share than the first."""

BROKEN_WEIGHT = 0.5
"""Weight of the characters at the second share. It was chosen on disguised English questions
(`training.export.fit_broken_words`)."""


def split_grams(text: str) -> list[str]:
    """Return the terms of `text`, and the n-grams of its longer words, which are marked at both ends."""
    grams: list[str] = []
    for term in split_terms(unicodedata.normalize("NFKC", text)):
        grams.append(term)
        if len(term) >= GRAM_CHARACTERS:
            marked = f"<{term}>"
            grams += [marked[i : i + GRAM_CHARACTERS] for i in range(len(marked) - GRAM_CHARACTERS + 1)]
    return grams


def unknown_share(text: str, tokenizer: Tokenizer) -> float:
    """Return how much of `text` the vocabulary does not know, in [0, 1].

    That is the share of its tokens that are unknown or a single letter of another script, or the share of its
    words that lose the marks of letters, whichever is higher. Punctuation and digits do not count.
    """
    if text.isascii():
        return 0.0
    return max(_poor_share(text, tokenizer), _lost_share(text, tokenizer))


def _poor_share(text: str, tokenizer: Tokenizer) -> float:
    """Return the share of tokens that are unknown or a single letter of a script other than Latin."""
    if not any(map(_is_foreign, text)):
        return 0.0
    tokens = tokenizer.encode(replace_surrogates(text), add_special_tokens=False).tokens
    pieces = [token.removeprefix("##") for token in tokens]
    letters = [p for p in pieces if p == UNKNOWN or any(map(str.isalpha, p))]
    poor = [p for p in letters if p == UNKNOWN or (len(p) == 1 and _is_foreign(p))]
    return len(poor) / len(letters) if letters else 0.0


def _lost_share(text: str, tokenizer: Tokenizer) -> float:
    """Return the share of words that lose their marks in the tokenizer; 0 below MIN_LOST."""
    normalizer = tokenizer.normalizer
    words = [word for word in split_terms(unicodedata.normalize("NFC", text)) if not word.isdigit()]
    if normalizer is None or not words:
        return 0.0
    lost = [word for word in words if "".join(normalizer.normalize_str(word).split()).lower() != word]
    share = len(lost) / len(words)
    return share if share >= MIN_LOST else 0.0


def broken_share(text: str, tokenizer: Tokenizer) -> float:
    """Return the share of words of `text` that the tokenizer breaks into pieces, less one word, in [0, 1].

    Words with a capital letter do not count, because names are broken in English too. One broken word is
    forgiven, because it may be a rare English word.
    """
    words = [word for word in LETTERS.findall(replace_surrogates(text)) if word.islower()]
    pieces = [len(e.ids) for e in tokenizer.encode_batch(words, add_special_tokens=False)]
    return max(0, sum(count > 1 for count in pieces) - 1) / max(1, len(words))


def weigh_characters(text: str, tokenizer: Tokenizer) -> float:
    """Return the weight of the characters in the score for a question, in [0, 1]. The model has the rest."""
    unknown = unknown_share(text, tokenizer)
    weight = 0.0 if unknown <= MIN_UNKNOWN else min(1.0, unknown / FULL_UNKNOWN)
    if weight == 1.0:
        return weight
    broken = (broken_share(text, tokenizer) - MIN_BROKEN) / (FULL_BROKEN - MIN_BROKEN)
    return max(weight, BROKEN_WEIGHT * min(max(broken, 0.0), 1.0))


def gram_features(
    query: str, titles: Sequence[str], texts: Sequence[str], document: NDArray[np.int64]
) -> Floats:
    """Return (sentences, len(GRAM_FEATURES)) for sentences `texts`, each read after its document's title.

    `document` is the number of each sentence's document. BM25 scores are shares of the highest possible one.
    """
    titled = [f"{titles[d]}. {text}" if titles[d] else text for d, text in zip(document, texts, strict=True)]
    words = _scale(BM25(titled, only=query), query)
    grams = _scale(BM25(titled, only=query, split=split_grams), query)
    bodies = [" ".join(texts[i] for i in np.flatnonzero(document == d).tolist()) for d in range(len(titles))]
    whole_documents = [f"{title}. {body}" for title, body in zip(titles, bodies, strict=True)]
    of_document = _scale(BM25(whole_documents, only=query, split=split_grams), query)[document]
    columns = [
        words,
        grams,
        best_beside(grams, document, 0.0),
        of_document,
        words - words.max(initial=0.0),
        grams - grams.max(initial=0.0),
    ]
    return np.stack(columns, axis=1)


def gram_logits(
    query: str,
    titles: Sequence[str],
    texts: Sequence[str],
    document: NDArray[np.int64],
    threshold: float,
) -> Floats:
    """Return (sentences,) logits from the characters alone.

    `threshold` is the lowest probability of a sentence that the model keeps.
    """
    features = gram_features(query, titles, texts, document)
    return features @ np.array(GRAM_WEIGHTS) + GRAM_BIAS + math.log(threshold / (1.0 - threshold))


def _is_foreign(character: str) -> bool:
    """Return whether a character is a letter of a script other than Latin."""
    ascii_or_symbol = character.isascii() or not character.isalpha()
    return not ascii_or_symbol and not unicodedata.name(character, "").startswith("LATIN")


def _scale(index: BM25, query: str) -> Floats:
    """Return the BM25 scores as shares of the highest possible one."""
    highest = index.highest(query)
    return index.scores(query) / highest if highest else np.zeros(index.size)
