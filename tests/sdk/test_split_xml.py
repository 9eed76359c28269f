"""XML that is shortened still parses, and holds the source's values at their places."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import pytest

from tersely import Compressor
from tersely.split.nodes import Sizes
from tersely.split.sentences import split_units
from tersely.split.xml_tree import open_xml
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly, list_units

MARK = re.compile(r"\[… [\d,]+ more\]")
PLACES = ["harbour", "lighthouse", "ferry", "bridge", "market"]
SENTENCES = ["The lamp of the <b>harbour</b> burns.", "A ferry left &amp; came back.", "<i>Bread.</i> Fish."]


def make_xml(draw: random.Random, depth: int = 0) -> str:
    """Return an element with random content."""
    name = draw.choice(["part", "name", "n:item", "key", "dict", "id"])
    space = draw.choice(["", ' xml:space="preserve"']) if draw.random() < 0.1 else ""
    start = f'<{name}{space} at="{draw.randrange(99)} &gt; > 1"'
    shape = draw.randrange(7) if depth < 4 else draw.randrange(3)
    if shape == 0:
        return f"{start}/>"
    if shape == 1:
        return f"{start}>{draw.choice(PLACES)} {draw.randrange(99)}</{name}>"
    if shape == 2:
        body = "\n".join(draw.choice(PLACES) for _ in range(30)) + "<x>]] &gt;</x>"
        return f"{start}><![CDATA[{body}]]></{name}>"
    if shape == 3:
        sentences = " ".join(draw.choice(SENTENCES) for _ in range(draw.randrange(1, 20)))
        return f"{start}>{sentences} {make_xml(draw, 3)}</{name}>"
    gap = draw.choice(["", "\n", "\n" + "  " * depth])
    children = [make_xml(draw, depth + 1) for _ in range(draw.randrange(2, 7))]
    children.insert(draw.randrange(3), draw.choice(["<!-- a - note -->", "<?run > now?>", ""]))
    return f"{start}>{gap}{gap.join(children)}{gap}</{name}>"


def make_document(draw: random.Random) -> str:
    prolog = [
        '<?xml version="1.0"?>',
        f"<!-- {'A licence. ' * 20}-->",
        "<!DOCTYPE root [<!ENTITY a 'b>'>]>",
        "",
    ]
    above = "\n".join(draw.sample(prolog[1:], 2))
    body = "\n".join(make_xml(draw) for _ in range(4))
    return (
        f'{draw.choice([prolog[0], ""])}{above}<root xmlns:n="http://n">\n{body}\n</root><!-- end -->'.strip()
    )


def find_words(element: ElementTree.Element) -> list[str]:
    return MARK.sub(" ", " ".join([element.text or "", *(child.tail or "" for child in element)])).split()


def is_part(kept: ElementTree.Element, source: ElementTree.Element) -> bool:
    """Return whether an element is another one without some of its children and words."""
    words, elements = iter(find_words(source)), iter(source)
    if kept.tag != source.tag or kept.attrib != source.attrib:
        return False
    if not all(word in words for word in find_words(kept)):
        return False
    return all(any(is_part(child, other) for other in elements) for child in kept)


@pytest.mark.parametrize("seed", range(20))
def test_shortened_xml_is_a_part_of_the_source(seed: int) -> None:
    draw = random.Random(seed)
    text = make_document(draw)
    source = ElementTree.fromstring(text)
    kept = 0
    for rate in (0.1, 0.3, 0.5, 0.7):
        result = Compressor(FakeScorer()).compress(draw.choice(PLACES), [text], rate=rate)
        if result.text:
            kept += 1
            assert is_part(ElementTree.fromstring(result.text), source), result.text
    assert kept


def test_a_record_keeps_its_name() -> None:
    parts = [
        f"<dependency>\n<groupId>org.{n}</groupId>\n<artifactId>part-{n}</artifactId>\n"
        f"<note>{'calm sea ' * 9}</note>\n"
        f"<text>{'The keeper of lamp' if n == 7 else 'No word on'} {n} slept {'long ' * 12}</text>\n"
        "</dependency>"
        for n in range(12)
    ]
    text = "<dependencies>\n" + "\n".join(parts) + "\n</dependencies>"
    result = Compressor(FakeScorer()).compress("keeper lamp", [text], budget=120)
    (record,) = ElementTree.fromstring(result.text)
    assert [child.tag for child in record][:2] == ["groupId", "artifactId"]
    assert "keeper of lamp 7" in (record[-1].text or "")
    assert "<!-- [… 7 more] -->" in result.text


def test_a_property_list_keeps_keys_with_their_values() -> None:
    pairs = "\n".join(f"<key>name {n}</key>\n<string>{'value ' * 5}{n}</string>" for n in range(40))
    text = f"<plist>\n<dict>\n{pairs}\n</dict>\n</plist>"
    result = Compressor(FakeScorer()).compress("name 17", [text], budget=100)
    (record,) = ElementTree.fromstring(result.text)
    for key, value in zip(record[::2], record[1::2], strict=True):
        assert (value.text or "").split()[-1] == (key.text or "").split()[-1]


ITEM = '<item name="a">\n<size>1</size>\n</item>'


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (ITEM, ["xml"]),
        (f"<?xml version='1.0'?>\n<!-- a -->\n{ITEM}\n<!-- b -->", ["xml"]),
        (
            f"The ferry left at noon today.\n\n{ITEM}\n\nIt came back in the night.",
            ["sentence", "xml", "sentence"],
        ),
        (f"{ITEM}\n{ITEM}", ["xml", "xml"]),
        ('<section xmlns="http://docbook.org/ns/docbook">a</section>', ["xml"]),
    ],
)
def test_xml_is_one_block(text: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in list_units(text)] == kinds


@pytest.mark.parametrize(
    "text",
    [
        "<item>&unknown;</item>",
        "<item>\ud800</item>",
        "<item>\0</item>",
        "<item>",
        "<item></other>",
        "<item a=1/>",
        "<p>One</p>",
        "<html xmlns='http://www.w3.org/1999/xhtml'><body/></html>",
    ],
)
def test_other_text_is_not_xml(text: str) -> None:
    assert "xml" not in {kind for kind, _ in list_units(text)}


@pytest.mark.parametrize(
    "part",
    [
        "<item>\n",
        "<item>\n<!--\n",
        "<item><![CDATA[\n",
        "<item><?x\n",
        "<item><!DOCTYPE a [<!--\n",
        "<item a='1' \n",
        "<item a='\n",
        "<item>\n</other>\n",
        "<item>1</item>\n",
        "<?xml version='1.0'?><item/>\n",
    ],
)
@pytest.mark.parametrize("frame", ["{}", "<root>{}</root>", "<root>The lamp burns. {}</root>"])
def test_xml_takes_linear_time(frame: str, part: str) -> None:
    def run(size: int) -> None:
        text = frame.format(part * size)
        for unit in split_units(text):
            if unit.kind == "xml":
                open_xml(text, unit.start, unit.end, Sizes(240, 240))

    assert grows_linearly(run)
