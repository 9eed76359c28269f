"""What the command prints: colours where they belong, and nothing that could command the terminal."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from tersely.cli.output import Progress, Style, label, receipt, show, summary, table, to_json
from tersely.types import Citations, CompressedDocument, Compression, Document, Span

TEXT = "Kept one. Dropped two.\n\nKept three."
DOCUMENTS = [Document(TEXT, title="A title"), Document("Gone.", id="b.txt")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def result() -> Compression:
    kept = (Span(0, 0, 9, 0.9, "score"), Span(0, 24, 35, 0.8, "score"))
    dropped = (Span(0, 10, 22, 0.1, "threshold"), Span(1, 0, 5, 0.0, "threshold"))
    return make_compression(kept, dropped)


def make_compression(kept: tuple[Span, ...], dropped: tuple[Span, ...]) -> Compression:
    return Compression(
        text="Kept one. Kept three.",
        documents=(CompressedDocument(0, "Kept one. Kept three.", "A title", None, {}, 0.9, kept),),
        kept=kept,
        dropped=dropped,
        tokens_before=1200,
        tokens_after=300,
        status="compressed",
        reason=None,
        model="m@0",
        _citations=Citations(()),
        timings={},
    )


@pytest.mark.parametrize(
    ("choice", "terminal", "variables", "color"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour_depends_on_choice_terminal_and_environment(
    monkeypatch: pytest.MonkeyPatch, choice: str, terminal: bool, variables: dict[str, str], color: bool
) -> None:
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **variables}.items():
        monkeypatch.setenv(name, value)
    assert Style.choose(choice, Terminal() if terminal else io.StringIO()).color is color


def test_show_in_colour_keeps_the_whole_text(result: Compression) -> None:
    text = show(result, DOCUMENTS, Style(True))
    assert "\x1b[1mKept one.\x1b[0m \x1b[2mDropped two.\x1b[0m\n\n\x1b[1mKept three.\x1b[0m" in text
    assert "\x1b[2mGone.\x1b[0m" in text


def test_show_without_colour_marks_every_sentence(result: Compression) -> None:
    assert show(result, DOCUMENTS, Style(False)).split("\n") == [
        "A title  (2 of 3 kept)",
        "+ 0.90 Kept one.",
        "- 0.10 Dropped two.",
        "+ 0.80 Kept three.",
        "",
        "b.txt  (0 of 1 kept)",
        "- 0.00 Gone.",
    ]


def test_the_receipt_lists_kept_sentences_with_their_offsets(result: Compression) -> None:
    assert receipt(result, DOCUMENTS, Style(False)).split("\n") == [
        "A title",
        "  0.90      0-9     Kept one.",
        "  0.80     24-35    Kept three.",
    ]


def test_the_summary_counts_tokens_sentences_and_documents(result: Compression) -> None:
    line = summary(result, DOCUMENTS, 0.0414)
    assert line == ("compressed: 1,200 -> 300 tokens (25%), 2 of 4 sentences from 1 of 2 documents, 41 ms")


@pytest.mark.parametrize("view", [show, receipt])
@pytest.mark.parametrize("color", [True, False])
def test_a_document_cannot_command_the_terminal(view: Callable[..., str], color: bool) -> None:
    source = "a\x1b[2Jb\x07c\x9bd\re\x7f"
    span = Span(0, 0, len(source), 1.0, "score")
    document = Document(source, title="\x1b]0;forged\x07")
    printed = view(make_compression((span,), ()), [document], Style(color))
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[36m"):
        printed = printed.replace(code, "")
    assert not [char for char in printed if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]
    assert "a\u241b[2Jb\u2407c" in printed


def test_the_space_between_sentences_cannot_command_the_terminal() -> None:
    spans = (Span(0, 0, 2, 1.0, "score"), Span(0, 4, 6, 1.0, "score"))
    printed = show(make_compression(spans, ()), [Document("A.\r\x1cB.")], Style(True))
    assert "\r" not in printed
    assert "\x1c" not in printed


def test_a_document_is_named_by_its_title_or_id_or_number() -> None:
    assert label(Document("x", title="A\nlong  title", id="i"), 0) == "A long title"
    assert label(Document("x", id="i"), 0) == "i"
    assert label(Document("x"), 4) == "document 5"


def test_a_table_has_two_aligned_columns() -> None:
    assert table([("a", 1), ("long", "b")], Style(False)) == "a     1\nlong  b"


def test_a_lone_surrogate_is_valid_json_once_it_is_written() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
    stream.write(to_json({"text": "é \ud800"}))
    stream.flush()
    assert raw.getvalue() == '{"text": "é \\ud800"}'.encode()
    assert json.loads(raw.getvalue()) == {"text": "é \ud800"}


def test_progress_draws_on_a_terminal_and_erases_itself() -> None:
    stream = Terminal()
    with Progress(2, stream) as progress:
        progress.step()
        progress.step()
    assert "] 2/2 " in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_counts_where_the_end_is_unknown() -> None:
    stream = Terminal()
    with Progress(None, stream) as progress:
        progress.step()
    assert "\r\x1b[K1 " in stream.getvalue()


def test_progress_is_silent_in_a_pipe() -> None:
    stream = io.StringIO()
    with Progress(1, stream) as progress:
        progress.step()
    assert stream.getvalue() == ""
