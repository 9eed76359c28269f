"""A compression as HTML: the saving, and the result beside the documents with their kept and dropped parts.

Notebooks, `tersely compress --html` and the playground all show what `make_parts` returns. The view is made
from the JSON values of a result (`Compression.to_dict()`) and loads nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from html import escape
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

Source = tuple[str | None, str]
"""Title or id of a document, and its text."""

Receipt = Mapping[str, Any]

REASONS = {
    "score": "it is among the best",
    "coverage": "it adds the most to what else is kept",
    "unchanged": "everything fits",
    "bypassed": "there was too little to compress",
    "failed_open": "the model failed",
    "truncated": "its block is too long, and this is a part of it",
    "threshold": "its score is too low",
    "budget": "the limit is full",
    "max_docs": "its document is not relevant enough",
    "level": "its document is full",
    "duplicate": "another sentence says the same",
    "unread": "the model did not read it",
    "echo": "its document repeats the question",
    "markup": "it is markup",
    "abstained": "the documents seem not to answer the question",
}
"""The reasons why a unit was kept or dropped, in words for readers."""

STYLE = Path(__file__).with_name("view.css").read_text(encoding="utf-8")
NOTEBOOK_UNITS = 1000
"""Largest number of units that a notebook shows, because it stores them in its file."""

_OPEN_UNITS = 40
"""Number of units above which documents without a kept unit are folded."""
_HEAT_STEPS = 6
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s[^\n]*)?\Z")
_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>$title</title>
<style>
$style
body { margin: 0; background: light-dark(#fdfdfb, #161614); }
:root { color-scheme: light dark; }
</style>
</head>
<body>
<main class="tersely page">
<h1>$title</h1>
$headline
<div class="panes">$input$result</div>
<footer>$footer</footer>
</main>
</body>
</html>
"""
)


class Parts(NamedTuple):
    """The parts of the view as HTML. Texts of documents and questions are escaped."""

    headline: str
    input: str
    result: str


def label(name: str | None, index: int) -> str:
    """Return a document's name on one line, or its number if it has no name."""
    return " ".join((name or f"document {index + 1}").split())


def is_sentence(text: str, reason: str) -> bool:
    """Return whether a unit with this text and reason counts as a sentence: headings and markup do not."""
    return reason != "markup" and not _HEADING.match(text)


def make_parts(receipt: Receipt, documents: Sequence[Source], max_units: int | None = None) -> Parts:
    """Return the parts of the view of a result. At most `max_units` units are shown."""
    return Parts(
        _make_headline(receipt, documents),
        _make_input(receipt, documents, max_units),
        _make_result(receipt),
    )


def make_fragment(receipt: Receipt, query: str | None, documents: Sequence[Source]) -> str:
    """Return the view for a cell of a notebook, with its style."""
    parts = make_parts(receipt, documents, NOTEBOOK_UNITS)
    return (
        f'<div class="tersely notebook"><style>{STYLE}</style><p class="question">{_title(query)}</p>'
        f'{parts.headline}<div class="panes" tabindex="0" role="region" aria-label="Input and result">'
        f"{parts.input}{parts.result}</div></div>"
    )


def make_page(receipt: Receipt, query: str | None, documents: Sequence[Source]) -> str:
    """Return the view as a page of its own."""
    parts = make_parts(receipt, documents)
    seconds = receipt["timings"].get("total")
    took = "" if seconds is None else f" in {seconds:.2f} s"
    footer = escape(f"Compressed by tersely with {receipt['model']}{took}.")
    return _PAGE.substitute(parts._asdict(), style=STYLE, title=_title(query), footer=footer)


def _title(query: str | None) -> str:
    title = query or "The sentences that cover as much of the documents as possible"
    return escape(" ".join(title.split()))


def _count_sentences(spans: Sequence[Receipt], documents: Sequence[Source]) -> int:
    def count(doc: int, start: int, end: int, reason: str) -> bool:
        return is_sentence(documents[doc][1][start:end], reason)

    return sum(count(span["doc"], span["start"], span["end"], span["reason"]) for span in spans)


def _make_headline(receipt: Receipt, documents: Sequence[Source]) -> str:
    before, after = receipt["tokens_before"], receipt["tokens_after"]
    kept = _count_sentences(receipt["kept"], documents)
    total = kept + _count_sentences(receipt["dropped"], documents)
    used = len({span["doc"] for span in receipt["kept"]})
    saved = f"−{100 * (1 - receipt['rate']):.0f} %" if after < before else "0 %"
    figures = (
        f"<b>{before:,} → {after:,}</b> tokens",
        f"<b>{kept:,}</b> of {total:,} sentences",
        f"<b>{used:,}</b> of {len(documents):,} document{'s' if len(documents) != 1 else ''}",
    )
    warnings = list(receipt["warnings"])
    if receipt["reason"] is not None:
        warnings.insert(0, f"{receipt['status']}: {receipt['reason']}".replace("_", " "))
    if receipt["best_fits"] is False and receipt["kept"]:  # otherwise a warning says that nothing fits
        warnings.append("The sentence that scored highest exceeds the limit by itself. Raise the limit.")
    notes = "".join(f'<p class="note">{escape(warning)}</p>' for warning in warnings)
    row = "".join(f"<span>{figure}</span>" for figure in figures)
    return (
        f'<section class="headline" aria-label="Saving"><p class="saved">{saved}</p><div class="facts">'
        f'<div class="bar" aria-hidden="true"><i style="width:{100 * receipt["rate"]:.1f}%"></i></div>'
        f"<p>{row}</p></div>{notes}</section>"
    )


def _make_input(receipt: Receipt, documents: Sequence[Source], max_units: int | None) -> str:
    kept = {(span["doc"], span["start"]) for span in receipt["kept"]}
    groups: defaultdict[int, list[Receipt]] = defaultdict(list)
    spans = sorted([*receipt["kept"], *receipt["dropped"]], key=lambda span: (span["doc"], span["start"]))
    for span in islice(spans, max_units):
        groups[span["doc"]].append(span)
    rest = len(spans) - sum(map(len, groups.values()))
    folds = len(spans) > _OPEN_UNITS and bool(kept)
    blocks: list[str] = []
    for doc, doc_spans in groups.items():
        name, text = documents[doc]
        count = sum((doc, span["start"]) in kept for span in doc_spans)
        rows = "".join(
            _make_row(text, before["end"] if before else 0, span, (doc, span["start"]) in kept)
            for before, span in zip([None, *doc_spans], doc_spans, strict=False)
        )
        is_open = " open" if count or not folds else ""
        blocks.append(
            f'<details class="document"{is_open}><summary><b>{escape(label(name, doc))}</b>'
            f'<span class="count">{count} of {len(doc_spans)} kept</span></summary><ol>{rows}</ol></details>'
        )
    more = f'<p class="note">{rest:,} more are not shown.</p>' if rest else ""
    heat = "".join(f'<i class="h{step}"></i>' for step in range(_HEAT_STEPS))
    legend = (
        '<p class="legend"><span class="added">kept</span><span class="removed">dropped</span>'
        f'<span class="heat">score 0 <span aria-hidden="true">{heat}</span> 1</span></p>'
    )
    return (
        f'<section class="input" aria-label="Input"><header><h2>Input</h2>{legend}</header>'
        f"{''.join(blocks)}{more}</section>"
    )


def _make_row(text: str, before: int, span: Receipt, is_kept: bool) -> str:
    start, end, score = span["start"], span["end"], span["score"]
    gap = text[before:start]
    indent = gap.rpartition("\n")[2] if before == 0 or "\n" in gap else ""
    names = "unit kept" if is_kept else "unit"
    if before and gap.count("\n") > 1:
        names += " paragraph"
    heat = min(int(score * _HEAT_STEPS), _HEAT_STEPS - 1)
    why = f"{'Kept' if is_kept else 'Dropped'}: {REASONS.get(span['reason'], span['reason'])}"
    return (
        f'<li class="{names}" data-score="{score:.4f}" title="{why}; score {score:.2f}">'
        f'<span class="score h{heat}">{score:.2f}</span>'
        f'<span class="words">{escape(indent + text[start:end])}</span></li>'
    )


def _make_result(receipt: Receipt) -> str:
    text, position, chunks = receipt["text"], 0, list[str]()
    ranges = [*((c, "words") for c in receipt["citations"]), *((m, "mark") for m in receipt["marks"])]
    for entry, name in sorted(ranges, key=lambda item: item[0]["text_start"]):
        chunks.append(_make_gap(text[position : entry["text_start"]]))
        words = escape(text[entry["text_start"] : entry["text_end"]])
        chunks.append(f'<i class="mark">{words}</i>' if name == "mark" else words)
        position = entry["text_end"]
    chunks.append(_make_gap(text[position:]))
    body = "".join(chunks) if text else '<i class="mark">Nothing was kept.</i>'
    return (
        '<section class="result" aria-label="Result"><header><h2>Result</h2></header>'
        f'<div class="text">{body}</div></section>'
    )


def _make_gap(gap: str) -> str:
    """Return the HTML for the text between two excerpts: white space, or the title of a document."""
    title = gap.strip()
    return gap.replace(title, f"<b>{escape(title)}</b>") if title else gap
