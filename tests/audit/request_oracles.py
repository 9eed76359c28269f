"""Oracles for the guarantees of a compression. They use only the types of the SDK.

Each takes the result as JSON values (`Compression.to_dict`), so that no field of the object can help.
A broken guarantee is an AssertionError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tersely import Document
from tests.audit.request_inputs import Known, Range, Request

Bools = NDArray[np.bool_]
Count = Callable[[str], int]
Json = dict[str, Any]

MARK = re.compile(
    r"""\[…\]|…|(?:> )?(?:\| |# |// )?"?\[… [\d,]+ more\]"""
    r"""(?: \([\d,]+(?: like the one above)?\))*(?:": ?"…)?"?,?(?: \|)?"""
)
KEPT = {"score", "coverage", "truncated", "unchanged", "bypassed", "failed_open"}
DROPPED = {"threshold", "budget", "truncated", "max_docs", "level", "duplicate", "unread", "echo", "markup"}
LARGEST_WHOLE = 1200
"""Longer structure, in characters, may be opened though it fits."""
LARGEST_PART = 160
"""Longer structure, in characters, may be opened if it takes more than half of the limit."""


def check(result: Json, request: Request, count: Count | None) -> None:
    """Check every guarantee that a result shows. `count` is None if the SDK's estimate counts the tokens."""
    text, docs = result["text"], request.documents
    json.dumps(result, ensure_ascii=True)
    check_words(result, docs)
    check_receipt(result, docs)
    check_order(result, request)
    check_limits(result, request, count)
    check_status(result, request)
    if count is not None:
        check_best(result, request, count)
    kept = [_cover(result["kept"], number, len(doc.text)) for number, doc in enumerate(docs)]
    for number, known in enumerate(request.known):
        check_sentences(kept[number], known)
        check_blocks(result, request, number, kept[number], count)
        check_records(result, docs[number], number, known)
    assert text == text.strip("\n") or not text


def check_words(result: Json, docs: Sequence[Document]) -> None:
    """Check that every character of the text is from its source, a title or a mark, or is white space."""
    text: str = result["text"]
    owner = np.zeros(len(text), np.bool_)
    for entry in result["citations"]:
        source = docs[entry["doc"]].text[entry["start"] : entry["end"]]
        assert text[entry["text_start"] : entry["text_end"]] == source, "a citation is not word for word"
        part = owner[entry["text_start"] : entry["text_end"]]
        assert not part.any(), "two citations overlap"
        part[:] = True
    for mark in result["marks"]:
        shown = text[mark["text_start"] : mark["text_end"]]
        assert MARK.fullmatch(shown), f"a mark is not one: {shown!r}"
        part = owner[mark["text_start"] : mark["text_end"]]
        assert not part.any(), "a mark is in a citation"
        assert mark["start"] < mark["end"], "a mark replaces nothing"
        part[:] = True
    rest = "".join("".join(text[i] for i in np.flatnonzero(~owner)).split())
    titles = "".join("".join((docs[d["source"]].title or "").split()) for d in result["documents"])
    assert rest == titles, "the text has words that are neither of a document nor of a title"


def check_receipt(result: Json, docs: Sequence[Document]) -> None:
    """Check that every visible character is in exactly one span, and every kept one in the text."""
    for number, doc in enumerate(docs):
        kept = _cover(result["kept"], number, len(doc.text))
        dropped = _cover(result["dropped"], number, len(doc.text))
        cited = _cover(result["citations"], number, len(doc.text))
        visible = _visible(doc.text)
        assert not (kept & dropped).any(), "two spans overlap"
        assert (kept | dropped)[visible].all(), f"a character of document {number} is in no span"
        assert (cited == kept)[visible].all(), f"kept characters of document {number} are not its cited ones"
    assert {s["reason"] for s in result["kept"]} <= KEPT
    assert {s["reason"] for s in result["dropped"]} <= DROPPED
    assert all(0 <= s["score"] <= 1 for s in (*result["kept"], *result["dropped"]))


def check_order(result: Json, request: Request) -> None:
    """Check the order of pieces and documents, and that there are at most `max_docs`."""
    sources = [d["source"] for d in result["documents"]]
    assert len(set(sources)) == len(sources)
    entries = result["citations"]
    assert [e["text_start"] for e in entries] == sorted(e["text_start"] for e in entries)
    for number in sources:
        starts = [e["start"] for e in entries if e["doc"] == number]
        assert starts == sorted(starts), "pieces are out of order"
    order: list[int] = []
    for entry in entries:
        if not order or order[-1] != entry["doc"]:
            order.append(entry["doc"])
    assert order == sources, "the documents are not in the order of the text"
    if request.options.get("order") != "rerank" or result["status"] == "failed_open":
        assert sources == sorted(sources)
    else:
        relevance = [d["relevance"] for d in result["documents"]]
        assert relevance == sorted(relevance, reverse=True)
    if "max_docs" in request.options and result["status"] != "failed_open":
        assert len(sources) <= request.options["max_docs"]
    for document in result["documents"]:
        assert document["text"] in result["text"]


def check_limits(result: Json, request: Request, count: Count | None) -> None:
    """Check the limit, that the text is not longer than the input, and the token counts."""
    whole = render_all(request.documents)
    assert len(result["text"]) <= len(whole)
    before, after = result["tokens_before"], result["tokens_after"]
    if count is not None:
        assert before == _count(count, whole), "tokens_before is not that of all documents"
        assert after == _count(count, result["text"])
    assert after <= before
    if result["status"] not in ("failed_open", "bypassed"):
        assert after <= _limit(request, before)
    is_whole = result["status"] in ("failed_open", "unchanged", "bypassed")
    if is_whole and request.options.get("order") != "rerank":
        assert result["text"] == whole, "the text is not all of the documents"


def check_status(result: Json, request: Request) -> None:
    """Check that the status fits the request."""
    status, limited = result["status"], bool({"budget", "rate"} & request.options.keys())
    assert status in ("compressed", "unchanged", "bypassed", "failed_open", "degraded")
    assert (result["reason"] is None) == (status == "compressed")
    assert status != "failed_open" or not limited
    assert status != "degraded" or limited
    if any(d.text.strip() for d in request.documents):
        assert status != "bypassed" or result["tokens_before"] < request.options.get("min_tokens", 0)
    else:
        assert status == "bypassed"
    if status in ("unchanged", "bypassed", "failed_open"):
        assert not result["dropped"]
    assert result["recall_met"] is None


def check_best(result: Json, request: Request, count: Count) -> None:
    """Check that `best_fits` is false only if the unit with the highest score exceeds the limit by itself."""
    if result["status"] not in ("compressed", "degraded") or "level" in request.options:
        return
    reasons = {"budget", "truncated"}
    rivals = [*result["kept"], *(s for s in result["dropped"] if s["reason"] in reasons)]
    if not rivals:
        return
    highest = max(s["score"] for s in rivals)
    if result["best_fits"] is False:
        assert all(s["score"] < highest for s in result["kept"]), "the best is kept"
    elif all(s["score"] < highest for s in result["kept"]):
        best = [s for s in result["dropped"] if s["score"] == highest]
        limit = _limit(request, result["tokens_before"])
        least = min(_count(count, request.documents[s["doc"]].text[s["start"] : s["end"]]) for s in best)
        unread = any(s["score"] >= highest for s in result["dropped"] if s["reason"] not in reasons)
        assert unread or least <= limit + 5, "the best does not fit"  # odd counters may count 4 less


def check_sentences(kept: Bools, known: Known) -> None:
    """Check that every sentence is kept or dropped as a whole."""
    for start, end in known.sentences:
        assert kept[start:end].all() or not kept[start:end].any(), "a sentence was cut"


def check_blocks(result: Json, request: Request, number: int, kept: Bools, count: Count | None) -> None:
    """Check that a block is cut only if it alone exceeds the level or the limit; a long one, half of it."""
    doc, known = request.documents[number], request.known[number]
    for start, end in known.blocks:
        part = kept[start:end][_visible(doc.text[start:end])]
        if part.all() or not part.any():
            continue
        reasons = {s["reason"] for s in result["kept"] if s["doc"] == number and start <= s["start"] < end}
        assert reasons == {"truncated"}, "a block was cut without a word"
        most = 500 if "level" in request.options else LARGEST_WHOLE  # 500: the bound of level 1
        if count is None or end - start > most:
            continue
        title = f"{doc.title}\n" if doc.title and not doc.title.isspace() else ""
        alone = _count(count, doc.text[start:end])
        limit = _limit(request, result["tokens_before"])
        is_half = end - start > LARGEST_PART and alone > limit // 2
        assert is_half or alone + _count(count, title) > limit, "a block was cut that fits"


def check_records(result: Json, doc: Document, number: int, known: Known) -> None:
    """Check that a cut record is marked, so that no text between two marks holds halves of two records.

    A mark that replaces whole records and nothing else counts them.
    """
    entries = [e for e in result["citations"] if e["doc"] == number]
    marks = [m for m in result["marks"] if m["doc"] == number]
    for mark in marks:
        shown = re.search(r"([\d,]+) more", result["text"][mark["text_start"] : mark["text_end"]])
        records = [one for one in known.records if mark["start"] <= one[0] and one[1] <= mark["end"]]
        if shown and records and not _holds_more(doc, mark, records, known):
            assert int(shown[1].replace(",", "")) == len(records), "a mark miscounts the records"
    for left, right in pairwise(entries):
        marked = any(left["text_end"] <= m["text_start"] < right["text_start"] for m in marks)
        if not marked:
            assert not _is_inside(left["end"], known.records), "a record ends in the middle, without a mark"
            assert not _is_inside(right["start"], known.records), "half a record begins without a mark"
            ends = any(start < left["end"] <= end for start, end in known.entries)
            begins = any(start <= right["start"] < end for start, end in known.entries)
            assert not (ends and begins), "two lines that were apart are joined without a mark"
    if entries:
        first, last = entries[0], entries[-1]
        if _is_inside(first["start"], known.records):
            assert any(m["text_end"] <= first["text_start"] for m in marks), "no mark before half a record"
        if _is_inside(last["end"], known.records):
            assert any(m["text_start"] >= last["text_end"] for m in marks), "no mark after half a record"


def _holds_more(doc: Document, mark: Json, records: Sequence[Range], known: Known) -> bool:
    """Return whether a mark replaces words outside of these records, or a block, which it counts as one."""
    edges = [mark["start"], *(edge for record in records for edge in record), mark["end"]]
    between = "".join(doc.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return bool(re.search(r"\w", between)) or any(
        mark["start"] <= start < mark["end"] for start, _ in known.blocks
    )


def render_all(docs: Sequence[Document]) -> str:
    """Return all documents as the README says: with titles on their lines, and blank lines in between."""
    parts: list[str] = []
    for doc in docs:
        if not doc.text.strip():
            continue
        body = doc.text.rstrip()
        lead = len(body) - len(body.lstrip())
        indent = body[:lead].rstrip(" \t")
        body = body[len(indent) :] if not indent or indent[-1] in "\r\n" else body[lead:]
        title = f"{doc.title}\n" if doc.title and not doc.title.isspace() else ""
        parts.append(title + body)
    return "\n\n".join(parts)


def _limit(request: Request, before: int) -> int:
    options = request.options
    if "budget" in options:
        return min(before, options["budget"])
    return int(options["rate"] * before + 1e-9) if "rate" in options else before


def _count(count: Count, text: str) -> int:
    """Count tokens as the SDK does: none in no text, and a question mark for a lone surrogate."""
    return count(re.sub("[\ud800-\udfff]", "?", text)) if text else 0


def _cover(spans: Sequence[Json], number: int, length: int) -> Bools:
    """Return which characters of document `number` are in a span. No two spans may overlap."""
    cover = np.zeros(length, np.bool_)
    for span in spans:
        if span["doc"] == number:
            part = cover[span["start"] : span["end"]]
            assert not part.any(), "two spans overlap"
            part[:] = True
    return cover


def _visible(text: str) -> Bools:
    return np.array([not character.isspace() for character in text], np.bool_)


def _is_inside(offset: int, ranges: Sequence[Range]) -> bool:
    return any(start < offset < end for start, end in ranges)
