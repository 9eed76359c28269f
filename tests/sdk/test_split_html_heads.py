"""Parts of web pages come with the heads that they are read under, and no head comes alone."""

from __future__ import annotations

import random

import pytest

from tersely import Compressor
from tersely.split.html_tree import open_html
from tersely.split.nodes import Node, Sizes
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly, list_units


def read(text: str, size: int = 240) -> list[Node]:
    """Return the nodes of a page that are not markup."""
    nodes = open_html(text, 0, len(text), Sizes(size, size)).children
    return [node for node in nodes if node.role != "markup"]


def heads_of(text: str, part: str) -> str:
    """Return the texts that a part of a page needs, in order."""
    node = next(node for node in read(text) if part in text[node.start : node.end])
    return " | ".join(text[n.start : n.end] for n in sorted(node.wants, key=lambda n: n.start))


@pytest.mark.parametrize(
    ("text", "part", "heads"),
    [
        ("<h1>A</h1><h2>B</h2><p>x y</p><h2>C</h2><p>z</p>", "x y", "A | B"),
        ("<h1>A</h1><h2>B</h2><p>x y</p><h2>C</h2><p>z</p>", "z", "A | C"),
        ("<h1>1.2. The A</h1><p>x</p>", "x", "1.2. The A"),
        ("<h1>A<br>B</h1><h2><i>C</i>D</h2><p>x</p>", "x", "A | B | C | D"),
        ("<details><summary><h2>a</h2></summary><p>x</p></details><p>y</p>", "x", "a"),
        ("<details><summary><h2>a</h2></summary><p>x</p></details><p>y</p>", "y", ""),
        ("<dl><dt>a<dt>b<dd>x<dt>c<dd>z</dl>", "x", "a | b"),
        ("<dl><dt>a<dt>b<dd>x<dt>c<dd>z</dl>", "z", "c"),
        ("<dl><dt>a<dd>x<dl><dt>b<dd>y</dl><dt>c<dd>z</dl>", "y", "a | b"),
        ("<p>All are:</p><dl><dt>a<dd>x<dt>c<dd>z</dl>", "z", "All are: | c"),
        ("<ul><li>a<ul><li>x<li>y</ul><li>b</ul>", "y", "a"),
        ("<ul><li>a<ul><li>x<li>y</ul><li>b</ul>", "b", ""),
        ("<p>These are it:</p><ul><li>a</li><li>b</li></ul><p>c</p>", "b", "These are it:"),
        ("<p>These are it:</p><ul><li>a</li><li>b</li></ul><p>c</p>", "c", ""),
        ("<p>Run this:</p><pre>make\nall</pre>", "make", "Run this:"),
        ("<details><summary>a</summary><p>x</p></details><p>y</p>", "x", "a"),
        ("<details><summary>a</summary><p>x</p></details><p>y</p>", "y", ""),
        ("<figure><pre>x</pre><figcaption>a</figcaption></figure><p>y</p>", "x", "a"),
        ("<table><caption>a</caption><tr><th>N<th>P<tr><td>x<td>1</table>", "x", "a | <tr><th>N<th>P"),
        ("<p>See <code>opt17</code> for <b>more</b>.</p>", "opt17", "See  |  for  | more | ."),
    ],
)
def test_a_part_needs_its_heads(text: str, part: str, heads: str) -> None:
    assert heads_of(text, part) == heads


ROWS = (
    "<table><tr><th>Town</th><th>Ship</th></tr>"
    '<tr><th>Maren</th><td rowspan="3">Elida</td></tr><tr><th>Lund</th></tr><tr><td>Vik</td></tr>'
    '<tr><th colspan="2">South</th></tr><tr><td>Aber</td><td>Olga</td></tr></table>'
)


@pytest.mark.parametrize(
    ("part", "heads"),
    [
        ("Maren", ["Town"]),
        ("Lund", ["Town", "Maren"]),
        ("Vik", ["Town", "Maren"]),
        ("Aber", ["Town", "South"]),
    ],
)
def test_a_row_needs_the_rows_that_name_it_or_span_it(part: str, heads: list[str]) -> None:
    found = heads_of(ROWS, part).split(" | ")
    assert len(found) == len(heads)
    assert all(head in row for head, row in zip(heads, found, strict=True))


def test_layout_tables_are_text() -> None:
    text = "<table><tr><td><table><tr><td>Lamps burn. Boats sail.</td></tr></table></td></tr></table>"
    assert [text[n.start : n.end].strip() for n in read(text)] == ["Lamps burn.", "Boats sail."]


def test_a_listing_is_cut_between_lines() -> None:
    lines = [f"<b>let</b> x{n} = {n};" for n in range(40)]
    text = "<pre>" + "\n".join(lines) + "</pre>"
    nodes = read(text)
    assert all(text[n.start : n.end].count("\n") <= 1 for n in nodes)
    assert sum(n.items for n in nodes) == len(lines)
    assert all(n.wants for n in nodes)


def test_lines_that_break_inside_a_sentence_stay_whole() -> None:
    lines = ["It assumes a z10 cache", "architecture. It knows no other.", "This is so."]
    text = f"<p>{'<br>'.join(lines)} So is this.</p>"
    assert [text[node.start : node.end].strip() for node in read(text)] == [*lines, "So is this."]


def test_heads_and_lone_links_are_frames() -> None:
    text = "<h1>A</h1><p><a>Next page</a></p><dl><dt>b</dt><dd>A lamp burns in a harbour.</dd></dl><h2>Z</h2>"
    assert [text[n.start : n.end] for n in read(text) if n.role == "frame"] == ["A", "Next page", "b"]
    menu = "<ul><li><a>One</a><li><a>Two</a></ul>"
    assert not any(n.role == "frame" for n in read(menu))


@pytest.mark.parametrize(
    "debris",
    [
        "<nav><p>Menu of all</p></nav>",
        '<div role="navigation"><div>Menu</div>of all</div>',
        '<div class="x cookie-banner"><div>We use</div> cookies. All of them.</div>',
        "<script>if (a < b) {}</script>",
    ],
)
def test_debris_is_markup(debris: str) -> None:
    text = f"<div><p>A lamp burns.</p>{debris}<p>A boat sails.</p></div>"
    assert [text[n.start : n.end] for n in read(text)] == ["A lamp burns.", "A boat sails."]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("<dl><dt>a</dt><dd>b</dd></dl>", ["html"]),
        ("It is a page.\n\n<html>\n<p>x</p>\n</html>\n\nSo it ends here.", ["line", "html", "line"]),
        ("<ul>\n<li>a<ul><li>b</ul>\n</ul>\n<ul>\n<li>c\n</ul>\nSo it ends.", ["html", "html", "line"]),
    ],
)
def test_html_is_a_block(text: str, kinds: list[str]) -> None:
    found = ["line" if kind == "sentence" else kind for kind, _ in list_units(text)]
    assert found == kinds


def test_markdown_with_html_is_not_a_page() -> None:
    text = '<p align="center"><img src="a.png"></p>\n\n# Boats\n\nA boat sails.\n\n<p>End</p>'
    assert "html" not in {kind for kind, _ in list_units(text)}


@pytest.mark.parametrize("seed", range(20))
def test_no_term_is_kept_without_its_description(seed: int) -> None:
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(60)]
    pairs = [(f"term{n}", " ".join(draw.sample(words, 9))) for n in range(30)]
    text = (
        "<html><dl>" + "".join(f"<dt>{t}</dt>\n<dd>The {d} of {t}.</dd>\n" for t, d in pairs) + "</dl></html>"
    )
    result = Compressor(FakeScorer()).compress(" ".join(draw.sample(words, 3)), [text], rate=0.3).text
    for term, description in pairs:
        assert (f"\n{term}\n" in f"\n{result}") == (f"The {description}" in result)


@pytest.mark.parametrize(
    "part",
    [
        "<h1>a<br>",
        "<dl><dt>a",
        "<dt>a",
        "<dd>",
        "<ul><li>a",
        "<details>",
        "<li>a</ul>",
        "<h1>a</h1>b ",
        "<tr><td rowspan=0>a<td>b",
        "<table><tr>",
        "<tr><td><b>a</td></tr>",
        "<figure><figcaption>a</figcaption>b ",
        '<div role="search">',
        '<a b="',
        "<pre> a\n</pre>",
        "a:<ul>",
        "<p><time>a</time>",
    ],
)
def test_pages_take_linear_time(part: str) -> None:
    def run(size: int) -> None:
        text = "<html>" + part * size + "</html>"
        read(text)
        list_units(part * size)

    assert grows_linearly(run)


COMMENTS = {
    "class": "<div><p class='comment-meta'>{0} wrote:</p><p>The rope of {0} is old. It is short.</p></div>",
    "time": "<div><p>{0}, <time>1 May</time></p><p>The rope of {0} is old. It is short.</p></div>",
    "cite": "<article><header><cite>{0}</cite></header><p>The rope of {0} is old. It is short.</p></article>",
    "two lines": "<div class='author'>{0}</div><time>1 May</time><p>The rope of {0} is old. It is short.</p>",
}


@pytest.mark.parametrize("form", COMMENTS.values(), ids=COMMENTS.keys())
def test_a_comment_comes_with_the_name_above_it(form: str) -> None:
    page = "<h1>Ropes</h1><p>Ropes age.</p><section>" + "".join(map(form.format, ("Ada", "Ben", "Eva")))
    page += "</section><p>All ropes are here.</p>"
    heads = heads_of(page, "rope of Ben")
    assert "Ben" in heads
    assert "Ada" not in heads
    assert "Eva" not in heads
    assert "Eva" not in heads_of(page, "All ropes")


def test_the_author_of_an_article_is_no_head_of_its_text() -> None:
    page = (
        "<h1>Ropes</h1><p class='byline'>Ada Moe, <time>1 May</time></p><p>Ropes age.</p><p>So do masts.</p>"
    )
    assert heads_of(page, "masts") == "Ropes"


def test_a_sentence_with_a_time_is_no_head() -> None:
    parts = "".join(f"<p>It rang at <time>{n}:00</time>.</p><p>Lamp {n} burned.</p>" for n in range(3))
    assert heads_of(f"<h1>Bell</h1>{parts}", "Lamp 2") == "Bell"
