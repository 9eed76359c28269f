"""The view of a result as HTML: in notebooks, in files, and in the playground."""

from __future__ import annotations

import html
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from tersely import Compressor, Document
from tersely.view import NOTEBOOK_UNITS, REASONS, Parts, make_page, make_parts
from tests.sdk.cli_runner import ANSWER, NOTE, QUERY, check_failure, run_tersely

ROW = re.compile(r'<li class="(unit(?: kept)?)[^"]*" data-score="([\d.]+)" title="([^"]*)">')


def show(query: str | None, texts: list[str | Document], **options: Any) -> tuple[Any, Parts]:
    result = Compressor().compress(query, texts, **options)
    documents = [(text.title, text.text) if isinstance(text, Document) else (None, text) for text in texts]
    return result, make_parts(result.to_dict(), documents)


def read_words(markup: str) -> str:
    """Return the text of a part of the view without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def test_every_unit_has_a_row_with_sign_score_and_reason() -> None:
    result, parts = show(QUERY, [NOTE], budget=20)
    spans = sorted([*result.kept, *result.dropped], key=lambda span: span.start)
    rows = ROW.findall(parts.input)
    assert [name == "unit kept" for name, _, _ in rows] == [span in result.kept for span in spans]
    assert [float(score) for _, score, _ in rows] == pytest.approx([span.score for span in spans], abs=1e-4)
    for span, (_, _, why) in zip(spans, rows, strict=True):
        assert REASONS[span.reason] in why
    words = re.findall(r'<span class="words">(.*?)</span>', parts.input, re.DOTALL)
    assert [html.unescape(text) for text in words] == [NOTE[span.start : span.end] for span in spans]


def test_the_result_is_the_text_with_its_titles_and_marks() -> None:
    items = "Stores:\n" + "\n".join(f"- Item {number} costs {number} crowns." for number in range(30))
    documents = [Document(items, title="Prices & more"), Document(NOTE, title="Prices & more")]
    result, parts = show("What does item 17 cost?", documents, rate=0.2)
    assert result.marks
    body = parts.result.partition('<div class="text">')[2]
    assert read_words(body) == result.text
    assert body.count("<b>Prices &amp; more</b>") == len(result.documents)
    assert body.count('<i class="mark">') == len(result.marks)


def test_the_headline_has_the_saving_and_counts_no_titles() -> None:
    text = f"# House\n\n{NOTE}"
    result, parts = show(QUERY, [text], budget=20)
    assert len(result.kept) + len(result.dropped) == 6
    facts = read_words(parts.headline)
    assert f"−{100 * (1 - result.rate):.0f} %" in facts
    assert f"{result.tokens_before} → {result.tokens_after} tokens" in facts
    assert re.search(r"\d of 5 sentences", facts)


def test_markup_in_texts_and_questions_is_text() -> None:
    attack = "<script>alert(1)</script> The spare \"key\" hangs <b>here</b> & 'there'."
    result = Compressor().compress(attack, [Document(attack, title=attack)], rate=0.9)
    page = make_page(result.to_dict(), attack, [(attack, attack)])
    fragment = result._repr_html_()
    assert fragment is not None
    for shown in (page, fragment):
        assert "<script" not in shown
        assert "<b>here" not in shown
        assert "&lt;script&gt;" in shown


def test_the_page_loads_nothing_and_has_the_whole_input(tmp_path: Path) -> None:
    note, out = tmp_path / "note.md", tmp_path / "view.html"
    note.write_text(NOTE, encoding="utf-8")
    done = run_tersely("compress", "-q", QUERY, "--rate", "50%", "--html", out, note)
    assert (done.exit_code, done.stderr) == (0, "")
    assert str(out) in done.stdout
    page = out.read_text(encoding="utf-8")
    assert re.findall(r"(?:src=|href=|url\(|@import|<script|<link)", page) == []
    assert f"<title>{QUERY}</title>" in page
    assert all(sentence in read_words(page) for sentence in NOTE.split("\n")[0].split(". "))
    assert page.count(ANSWER) == 2, "in the input and in the result"


def test_a_page_goes_with_no_other_output(tmp_path: Path) -> None:
    out = tmp_path / "view.html"
    for other in ("--json", "--show"):
        check_failure(run_tersely("demo", "--html", out, other), 2, "exclude each other")
    check_failure(run_tersely("compress", "--batch", "-", "--html", out), 2, "--html")
    assert not out.exists()


def test_a_notebook_shows_the_same_view_up_to_a_size() -> None:
    result, parts = show(QUERY, [NOTE], budget=20)
    shown = result._repr_html_()
    assert all(part in shown for part in parts)
    assert pickle.loads(pickle.dumps(result))._repr_html_() == shown
    long = [f"Sentence number {number} says nothing new." for number in range(NOTEBOOK_UNITS + 5)]
    shown = Compressor().compress(None, [" ".join(long)], budget=100)._repr_html_() or ""
    assert len(ROW.findall(shown)) == NOTEBOOK_UNITS
    assert "5 more are not shown." in shown


def test_documents_without_anything_kept_are_folded_in_long_views() -> None:
    other = "The shed was painted. " * 30
    result, parts = show(QUERY, [NOTE, other, other], budget=20)
    assert {span.doc for span in result.kept} == {0}
    assert re.findall(r'<details class="document"( open)?>', parts.input) == [" open", "", ""]
    _, parts = show(QUERY, [NOTE, "The shed was painted."], budget=20)
    assert re.findall(r'<details class="document"( open)?>', parts.input) == [" open", " open"]


def test_an_empty_result_says_why() -> None:
    result, parts = show("Who won the chess match?", [NOTE], abstain=0.5)
    assert result.text == ""
    assert "Nothing was kept." in parts.result
    assert result.reason is not None
    assert result.reason in read_words(parts.headline)


def test_a_limit_too_tight_for_the_best_sentence_is_said() -> None:
    _, parts = show(QUERY, [NOTE], budget=9)
    assert "Raise the limit" in parts.headline
    assert "Raise the limit" not in show(QUERY, [NOTE], budget=20)[1].headline


def test_citations_can_be_iterated() -> None:
    documents = [NOTE, "The bus leaves at nine."]
    result = Compressor().compress(QUERY, documents, rate=0.5)
    citations = list(result.citations())
    assert len(result.citations()) == len(citations) > 0
    for entry in citations:
        text = result.text[entry.text_start : entry.text_end]
        assert text == documents[entry.doc][entry.start : entry.end]
