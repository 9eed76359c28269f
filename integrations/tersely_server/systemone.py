"""Answer the questions of System One (`POST /v1/systemone`) with the probabilities of the selector.

The selector judges whether texts answer a question. It decides nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tersely import Compression, Compressor
from tersely_server.schemas import ChoiceQuestion, SystemOneRequest

QUESTION_KEYS = ("question", "query")
"""Keys of a state that hold the question; all its other values are texts."""


def decide(
    compressor: Compressor, body: SystemOneRequest, record: Callable[[Compression], None]
) -> dict[str, Any]:
    """Return the reply to a request. Each compression is passed to `record`."""
    asked, texts = read_state(body.state)
    tokens = 0

    def compress(query: str, documents: Sequence[str]) -> Compression:
        nonlocal tokens
        result = compressor.compress(query, documents)
        record(result)
        tokens += result.tokens_before + compressor.count_tokens(query)
        return result

    answers: dict[str, Any] = {}
    for name, question in body.questions.items():
        if isinstance(question, ChoiceQuestion):
            query = asked or "\n".join(texts).strip() or question.instructions
            options = {
                key: f"{key}: {_write(text)}" if text else key for key, text in question.criteria.items()
            }
            result = compress(query, list(options.values()))
            answers[name] = _choose(dict(zip(options, result.relevance, strict=True)))
        else:
            result = compress(asked or question.instructions, texts)
            likely = result.answerable
            if likely is None:  # a model without this judgement
                likely = max(result.relevance, default=0.0)
            answers[name] = {"type": "noul", "noul": likely}
    return {
        "model": compressor.model,
        "answers": answers,
        "usage": {"input_tokens": tokens, "output_tokens": 0},
    }


def read_state(state: Any) -> tuple[str, list[str]]:
    """Return the question in a state, which may be empty, and its texts."""
    if isinstance(state, str):
        return "", [state]
    if isinstance(state, list):
        return "", [_write(value) for value in state]
    values = dict(state)
    asked = ""
    for key in QUESTION_KEYS:
        if isinstance(values.get(key), str) and values[key].strip():
            asked = values.pop(key)
            break
    texts: list[str] = []
    for value in values.values():
        texts += map(_write, value) if isinstance(value, list) else [_write(value)]
    return asked, texts


def _choose(relevance: Mapping[str, float]) -> dict[str, Any]:
    total = sum(relevance.values())
    shares = {key: value / total if total else 1 / len(relevance) for key, value in relevance.items()}
    entropy = -sum(share * math.log(share) for share in shares.values() if share)
    return {
        "type": "choice",
        "choice": max(shares, key=lambda key: shares[key]),
        "probabilities": shares,
        "confidence": min(1.0, max(0.0, 1 - entropy / math.log(len(shares)))),
    }


def _write(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
