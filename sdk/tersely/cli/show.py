"""Results, receipts, warnings and reports as the command prints them."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from tersely.cli import MODEL_FAILED, OK, print_message
from tersely.score.protocol import HARD_DOCUMENTS, NOT_CALIBRATED
from tersely.types import Compression, Document, Span
from tersely.view import is_sentence, label, make_page

Item = TypeVar("Item")

# Control characters of a document must not reach the terminal: they could move the cursor or forge text.
_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
}


@dataclass(frozen=True, slots=True)
class Report:
    """Values to print, and the problem if there is one. With a problem, the exit code is not 0."""

    values: dict[str, Any]
    """JSON values, sizes in bytes; nested objects become dotted names in print."""
    problem: str | None = None
    heading: str = ""


def to_json(value: object) -> str:
    """Return one line. Lone surrogates stay, and the stream writes them as JSON escapes."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def show_documents(result: Compression, documents: Sequence[Document], color: bool) -> str:
    """Return every document in full.

    With colour, kept text is bright and dropped text is dim. Without colour, each sentence starts a new line
    with `+` or `-` and its score, so that `grep '^+'` finds the kept ones.
    """
    kept = set(result.kept)
    groups = _group(sorted([*result.kept, *result.dropped], key=lambda span: span.start))
    blocks: list[str] = []
    for index, document in enumerate(documents):
        spans = groups[index]
        head = f"{_name(document, index)}  ({len(kept.intersection(spans))} of {len(spans)} kept)"
        body = _highlight if color else _sign
        blocks.append(f"{_paint_title(head, color)}\n{body(document.text, spans, kept)}")
    return "\n\n".join(blocks)


def show_receipt(result: Compression, documents: Sequence[Document], color: bool) -> str:
    """Return the kept sentences under their documents' names, each with its score and its range."""
    blocks: list[str] = []
    for index, spans in _group(result.kept).items():
        document = documents[index]
        rows = [_paint_title(_name(document, index), color)]
        for span in spans:
            text = _paint(document.text[span.start : span.end], color, bold=True)
            text = text.replace("\n", "\n" + " " * 20)
            rows.append(f"  {span.score:4.2f}  {span.start:>5}-{span.end:<5} {text}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def summarize(result: Compression, documents: Sequence[Document]) -> str:
    """Return a line with the size of the input, the size of the output and the time."""
    kept, dropped = (
        sum(is_sentence(documents[s.doc].text[s.start : s.end], s.reason) for s in spans)
        for spans in (result.kept, result.dropped)
    )
    used = len({span.doc for span in result.kept})
    share = f" ({result.rate:.0%})" if result.tokens_before else ""
    return (
        f"{result.status}: {result.tokens_before:,} -> {result.tokens_after:,} tokens{share}, "
        f"{kept} of {kept + dropped} sentences from {used} of {len(documents)} documents, "
        f"{result.timings['total'] * 1000:,.0f} ms"
    )


def write_page(file: Path, query: str | None, result: Compression, documents: Sequence[Document]) -> None:
    """Write the view of a result to an HTML file."""
    sources = [(document.title or document.id, document.text) for document in documents]
    page = make_page(result.to_dict(), query, sources)
    file.write_text(page, encoding="utf-8", errors="xmlcharrefreplace", newline="")


def tabulate(values: Mapping[str, Any], color: bool) -> str:
    """Return names and values in two columns."""
    pairs = list(_flatten(values))
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(
        f"{_paint_title(name.ljust(width), color)}  {make_visible(value)}" for name, value in pairs
    )


def show_progress(items: Iterable[Item]) -> AbstractContextManager[Iterable[Item]]:
    """Return the items with a progress bar on standard error, if that is a terminal."""
    return click.progressbar(items, hidden=not sys.stderr.isatty(), file=sys.stderr)


def print_warnings(result: Compression, where: str = "") -> int:
    """Print on standard error what a caller should know about a result, and return the exit code."""
    for warning in result.warnings:
        print_message(f"{where}{warning}", OK)
    if result.status == "failed_open":
        message = f"{where}not compressed, passed through unchanged: {result.reason}"
        return print_message(message, MODEL_FAILED)
    if result.status == "degraded":
        return print_message(f"{where}degraded: {result.reason}", MODEL_FAILED)
    if result.status == "abstained":
        print_message(f"{where}abstained: {result.reason}", OK)
    elif result.calibrated is False and (result.recall_met is not None or result.refused is not None):
        is_near = result.distance is not None and result.distance <= 1.0
        print_message(f"{where}{HARD_DOCUMENTS if is_near else NOT_CALIBRATED}", OK)
    elif result.recall_met is False:
        print_message(f"{where}the limit leaves out sentences that the recall needs", OK)
    if result.best_fits is False and result.kept:  # otherwise a warning says that nothing fits
        print_message(f"{where}the unit that scored highest exceeds the limit by itself; raise the limit", OK)
    return OK


def _name(document: Document, index: int) -> str:
    return label(document.title or document.id, index)


def _highlight(text: str, spans: Sequence[Span], kept: set[Span]) -> str:
    chunks: list[str] = []
    position = 0
    for span in spans:
        chunks.append(make_visible(text[position : span.start]))
        style = {"bold": True} if span in kept else {"dim": True}
        chunks.append(_paint(text[span.start : span.end], True, **style))
        position = span.end
    return "".join([*chunks, make_visible(text[position:])]).strip("\n")


def _sign(text: str, spans: Sequence[Span], kept: set[Span]) -> str:
    rows: list[str] = []
    for span in spans:
        first, *rest = make_visible(text[span.start : span.end]).split("\n")
        sign = "+" if span in kept else "-"
        rows += [f"{sign} {span.score:.2f} {first}", *(f"{sign}      {line}" for line in rest)]
    return "\n".join(rows)


def _flatten(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from _flatten(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        items = cast("list[object]", value)
        if any(isinstance(item, Mapping) for item in items):
            yield from _flatten({str(number): item for number, item in enumerate(items, 1)}, name)
        else:
            yield name, ", ".join(map(str, items))
    elif isinstance(value, float):
        yield name, f"{value:g}"
    else:
        yield name, f"{value:,}" if type(value) is int else str(value)


def _group(spans: Iterable[Span]) -> defaultdict[int, list[Span]]:
    groups: defaultdict[int, list[Span]] = defaultdict(list)
    for span in spans:
        groups[span.doc].append(span)
    return groups


def _paint_title(text: str, color: bool) -> str:
    return _paint(text, color, fg="cyan")


def _paint(text: str, color: bool, **style: Any) -> str:
    # Colour each line separately, because pagers and terminals forget a colour at the end of a line.
    visible = make_visible(text)
    if not color:
        return visible
    return "\n".join(click.style(line, **style) if line else "" for line in visible.split("\n"))


def make_visible(text: str) -> str:
    """Replace control characters, which could command the terminal, by visible ones."""
    return text.replace("\r\n", "\n").translate(_VISIBLE)
