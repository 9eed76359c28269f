"""What the command line prints: results, receipts, reports, the progress bar. Plain ANSI, no dependency."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TextIO

from tersely.types import Compression, Document, Span

ColorChoice = Literal["auto", "always", "never"]

_KEPT, _DROPPED, _TITLE, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[0m"
# Control characters of a document must not reach the terminal: they could move the cursor or forge text.
_VISIBLE = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
}


class Style:
    """Colours, or their absence."""

    def __init__(self, color: bool) -> None:
        self.color = color

    @classmethod
    def choose(cls, choice: ColorChoice, stream: TextIO) -> Style:
        """`auto` colours a terminal, unless NO_COLOR is set or the terminal is dumb."""
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(choice == "always" or (choice == "auto" and stream.isatty() and not plain))

    def kept(self, text: str) -> str:
        return self._paint(_KEPT, text)

    def dropped(self, text: str) -> str:
        return self._paint(_DROPPED, text)

    def title(self, text: str) -> str:
        return self._paint(_TITLE, text)

    def _paint(self, code: str, text: str) -> str:
        # Line by line: pagers and terminals forget a colour at the end of a line.
        if not self.color:
            return text
        return "\n".join(f"{code}{line}{_RESET}" if line else "" for line in text.split("\n"))


def to_json(value: object) -> str:
    """One line. Lone surrogates stay in and become JSON escapes through the stream's `backslashreplace`."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def show(result: Compression, documents: Sequence[Document], style: Style) -> str:
    """Every document in full.

    With colour, kept text is bright and dropped text dim. Without, each sentence starts a line of its own
    with `+` or `-` and its score, so that `grep '^+'` finds what was kept.
    """
    kept, dropped = _by_document(result.kept), _by_document(result.dropped)
    blocks: list[str] = []
    for index, document in enumerate(documents):
        marked = [(span, True) for span in kept[index]] + [(span, False) for span in dropped[index]]
        marked.sort(key=lambda pair: pair[0].start)
        head = f"{label(document, index)}  ({len(kept[index])} of {len(marked)} kept)"
        body = _painted(document.text, marked, style) if style.color else _signed(document.text, marked)
        blocks.append(f"{style.title(_safe(head))}\n{body}")
    return "\n\n".join(blocks)


def receipt(result: Compression, documents: Sequence[Document], style: Style) -> str:
    """The kept sentences under the names of their documents, each with its score and place in the source."""
    blocks: list[str] = []
    for index, spans in _by_document(result.kept).items():
        document = documents[index]
        rows = [style.title(_safe(label(document, index)))]
        for span in spans:
            text = style.kept(_safe(document.text[span.start : span.end])).replace("\n", "\n" + " " * 20)
            rows.append(f"  {span.score:4.2f}  {span.start:>5}-{span.end:<5} {text}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks)


def summary(result: Compression, documents: Sequence[Document], seconds: float) -> str:
    """One line: what went in, what came out, how long it took."""
    sentences = len(result.kept) + len(result.dropped)
    used = len({span.doc for span in result.kept})
    share = f" ({result.rate:.0%})" if result.tokens_before else ""
    return (
        f"{result.status}: {result.tokens_before:,} -> {result.tokens_after:,} tokens{share}, "
        f"{len(result.kept)} of {sentences} sentences from {used} of {len(documents)} documents, "
        f"{seconds * 1000:,.0f} ms"
    )


def table(rows: Iterable[tuple[str, Any]], style: Style) -> str:
    """Names and values in two columns."""
    pairs = [(name, str(value)) for name, value in rows]
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join(f"{style.title(name.ljust(width))}  {_safe(value)}" for name, value in pairs)


def label(document: Document, index: int) -> str:
    """The title, else the id, else the number of a document, on one line."""
    return " ".join((document.title or document.id or f"document {index + 1}").split())


class Progress:
    """A bar on standard error, drawn only where that is a terminal, and at most ten times a second.

    Args:
        total: number of steps; `None` where it cannot be known, and then steps are only counted.
    """

    _WIDTH = 30

    def __init__(self, total: int | None, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total, self._done = total, 0
        self._visible = self._stream.isatty()
        self._start = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._visible and self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def step(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._visible and (now - self._drawn >= 0.1 or self._done == self._total):
            self._drawn = now
            self._stream.write(f"\r\x1b[K{self._line(now - self._start)}")
            self._stream.flush()

    def _line(self, elapsed: float) -> str:
        speed = f"{self._done / max(elapsed, 1e-9):.1f}/s"
        if not self._total:
            return f"{self._done} {speed}"
        bar = "#" * (self._WIDTH * self._done // self._total)
        left = elapsed / self._done * (self._total - self._done)
        return f"[{bar:.<{self._WIDTH}}] {self._done}/{self._total} {speed} {left:.0f} s left"


def _painted(text: str, spans: Sequence[tuple[Span, bool]], style: Style) -> str:
    parts: list[str] = []
    position = 0
    for span, kept in spans:
        parts.append(_safe(text[position : span.start]))
        parts.append((style.kept if kept else style.dropped)(_safe(text[span.start : span.end])))
        position = span.end
    return "".join([*parts, _safe(text[position:])]).strip("\n")


def _signed(text: str, spans: Sequence[tuple[Span, bool]]) -> str:
    rows: list[str] = []
    for span, kept in spans:
        first, *rest = _safe(text[span.start : span.end]).split("\n")
        sign = "+" if kept else "-"
        rows += [f"{sign} {span.score:.2f} {first}", *(f"{sign}      {line}" for line in rest)]
    return "\n".join(rows)


def _by_document(spans: Sequence[Span]) -> defaultdict[int, list[Span]]:
    groups: defaultdict[int, list[Span]] = defaultdict(list)
    for span in spans:
        groups[span.doc].append(span)
    return groups


def _safe(text: str) -> str:
    return text.replace("\r\n", "\n").translate(_VISIBLE)
