"""YAML, TOML and INI still parse, with the values that they had, after any part is left out."""

from __future__ import annotations

import configparser
import random
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tersely import Compressor
from tersely.split.sentences import split_units
from tests.sdk.fakes import FakeScorer
from tests.sdk.units import grows_linearly

COMPRESSOR = Compressor(FakeScorer())
LIMITS: list[dict[str, Any]] = [{"rate": 0.1}, {"rate": 0.3}, {"rate": 0.6}, {"budget": 40}, {"budget": 120}]


def load_yaml(text: str) -> Any:
    return [document for document in yaml.safe_load_all(text) if document is not None]


def load_ini(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def is_part(left: Any, whole: Any) -> bool:
    """Return whether every value has the same path in the source, and no collection has lost all of its
    values."""
    if isinstance(left, dict) and isinstance(whole, dict):
        return bool(left) >= bool(whole) and all(k in whole and is_part(left[k], whole[k]) for k in left)
    if isinstance(left, list) and isinstance(whole, list):
        rest = iter(whole)
        return bool(left) >= bool(whole) and all(any(is_part(v, other) for other in rest) for v in left)
    if isinstance(left, str) and isinstance(whole, str):
        return left.rstrip("\n") == whole.rstrip("\n")  # the last line break of a text is not kept
    return left == whole


def check(text: str, load: Callable[[str], Any], fence: str = "") -> None:
    """Compress a text, perhaps fenced in prose, and compare what is left with the source."""
    lines = [line for line in text.split("\n") if len(line) > 9] or [text]
    question = f"What is {lines[len(lines) // 2]}?"
    source = f"Read this.\n\n{fence}\n{text}```\n\nThen go home.\n" if fence else text
    before = load(text)
    for limit in LIMITS:
        result = COMPRESSOR.compress(question, [source], **limit).text
        body = result.split(f"{fence}\n")[-1].split("```")[0] if fence else result + "\n"
        left = load(body) if fence in result else None
        # A comment may be all that is left.
        assert not left or is_part(left, before), (limit, result)


YAML = {
    "documents": "# made by hand\nkind: A\nspec: {a: 1}\n---\n# Source: b.yaml\nkind: B\nspec:\n  b: 2\n...\n"
    "---\nkind: C\nspec:\n  c:\n  - 3\n",
    "block scalars": "a:\n  b: |\n    one: 1\n\n    # no comment\n  c: >-  # note\n    two\n"
    "   \n  d: |2-\n     x\n  e: 5\n",
    "kept line breaks": "a:\n  b: |+\n    text\n\n\n  c: 1\n  d: 2\n",
    "long scalars": "a: one\n  two three\n\n  four\nb: 'it''s\n  - no: item'\n"
    'c: "x: \\"\n\n  # y"\nd:\n  plain\n  text\ne: 1\n',
    "flow": "a: [1, 'b]', {c: d,\n  e: it's}]\nb: {x: 1, # }\n  y: 2}\nc:\n- [p,\n  q]\n- r\n",
    "keys": "? a b\n: - c\n  - d\n\"x: y\": 1\n'it''s': {}\n"
    "key with blanks (and more): v\na:b: c\n-x: y\n? z\n",
    "lists": "a:\n- b\n-\n  - c\n  - d: 1\n    e: 2\n- - f\n  - g\n- h:\n    i: j\n  k: l\nm:\nn: ~\n",
    "comments": "a:\n  # about b\n\n  b: 1\n    # odd\n  c: 2\n # end of a\nd:  # note\n  e: 3\n# end\n",
    "anchors": "base: &b\n  x: 1\n  y: [2, 3]\none:\n  <<: *b\n  z: 4\ntwo: {use: *b}\nthree:\n  four: 5\n",
    "a short alias": "a: &b\n  name: long enough\nc:\n  name: c\n  d:\n  - *b\n  - name: other\n    e: 1\n",
    "tags": "%YAML 1.1\n---\na: !!str 1\nb: !!map\n  c: 2\nd: !!set {e, f}\ng: &x !!int 3\nh: *x\n",
    "names": "items:\n- env:\n  - name: A\n    value: b\n  image: c\n  metadata:\n"
    "    labels: {p: q}\n    name: first\n- name: z\n",
}


def enlarge(text: str) -> str:
    """Return a text with more keys after it, so that it does not fit."""
    return text + "".join(f"more_{n}:\n  value: number {n}\n" for n in range(12))


@pytest.mark.parametrize("name", YAML)
@pytest.mark.parametrize("fence", ["", "```yaml"])
def test_yaml_parses_with_the_values_it_had(name: str, fence: str) -> None:
    check(YAML[name], load_yaml, fence)
    check(enlarge(YAML[name]), load_yaml, fence)
    check(enlarge(YAML[name]).replace("\n", "\r\n"), load_yaml)


def make_value(r: random.Random, depth: int) -> Any:
    words = [
        "a",
        "it's",
        "x: y",
        "# no",
        "- dash",
        "long text " * 15,
        "two\nlines\n",
        "",
        "[…",
        "12",
        "é",
        "null",
    ]
    if depth == 0 or r.random() < 0.3:
        return r.choice([*words, 7, None, True, 1.5])
    size = range(r.randrange(5))
    if r.random() < 0.4:
        return [make_value(r, depth - 1) for _ in size]
    return {f"{r.choice(['key', 'a b', 'name', 'c:d'])}{n or ''}": make_value(r, depth - 1) for n in size}


@pytest.mark.parametrize("seed", range(30))
def test_drawn_yaml_parses_with_the_values_it_had(seed: int) -> None:
    r = random.Random(seed)
    documents = [
        {"kind": f"k{n}", "a": make_value(r, 4), "b": make_value(r, 3)} for n in range(r.randrange(1, 4))
    ]
    style = {"default_flow_style": r.choice([False, None]), "default_style": r.choice([None, None, '"', "|"])}
    text = yaml.safe_dump_all(documents, width=r.choice([40, 80]), **style)
    if not text.startswith("{"):
        check(text, load_yaml)


TOML = {
    "tables": "# Settings\n\ntitle = 'x'\n\n[a]  # note\nb = 1\n# about c\n"
    "c = [1, 2]\n[a.d]\ne = 2\n['f g'.h]\ni = 3\n",
    "arrays": "[[p]]\nname = 'a'\nv = 1\n[p.sub]\nx = 1\n[[p.list]]\ny = 2\n[[p]]\n"
    "name = 'b'\n[p.sub]\nx = 3\n[q]\nz = 4\n",
    "scattered": "[[p]]\na = 1\n[q]\nb = 2\n[p.sub]\nc = 3\n",
    "values": 'a = """\n[x]\ny = 1 \\"""\n"""\nb = \'\'\'\n# no\'\'\'\n'
    'c = {d = [1, 2], e = "]"}\nf.g = 1\n"h.i" = 2\n',
    "long array": "[a]\nb = [\n"
    + "".join(f'  # {n}\n  "element {n}, ]",\n' for n in range(20))
    + "  'x'\n]\nc = 1\n",
}
INI = {
    "continued": "[a]\nb = 1\n  2\n\n  # no\n  [x]\nc : 3\n; note\nd\n[e]\nf = g=h:i\n",
    "duplicates": "[a]\nb = 1\nc = 2\nb = 3\nB = 4\n[d]\ne = 5\n",
    "git": '[core]\n\tbare = false\n\teditor = vi\n[remote "a"]\n\turl = x\n\tfetch = 1\n\tfetch = 2\n',
    "unit": "[Unit]\nDescription=A b\n\n[Service]\nExecStart=/bin/a \\\n  --b \\\n"
    "  --c\nEnvironment=A=b\nEnvironment=C=d\n",
    "comments": "# long\n\n[a]\n#b=1\n#c=2\n\n[d]\n# about e\ne = 1\n\n# end of d\n\n# about f\n[f]\ng = 2\n",
}


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("fence", ["", "```toml"])
def test_toml_parses_with_the_values_it_had(name: str, fence: str) -> None:
    more = "".join(f"[more_{n}]\nvalue = 'number {n}'\nother = {n}\n" for n in range(12))
    check(TOML[name], tomllib.loads, fence)
    check(TOML[name] + more, tomllib.loads, fence)


@pytest.mark.parametrize("name", INI)
@pytest.mark.parametrize("fence", ["", "```ini"])
def test_ini_reads_with_the_values_it_had(name: str, fence: str) -> None:
    more = "".join(f"[more_{n}]\nvalue = number {n}\nother = x\n" for n in range(12))
    check(INI[name], load_ini, fence)
    check(INI[name] + more, load_ini, fence)


PROSE = "The old ledger of the harbour lists the lamps."


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("yaml", "a:\n  b: 1\n\n  c:\n  - d\n  - e"),
        ("settings", "# about x\nx = 'y'\nz = 1\n\n[a]\nb = 1"),
        ("settings", "[a]\nb = 1\n; note\n\n[c d]\ne: f"),
    ],
)
def test_settings_in_prose_are_one_unit(kind: str, text: str) -> None:
    units = split_units(f"{PROSE}\n\n{text}\n\n{PROSE}")
    assert [unit.kind for unit in units] == ["sentence", kind, "sentence"]


@pytest.mark.parametrize(
    "text",
    [
        f"---\ntitle: x\ntags:\n- a\n---\n\n{PROSE}",
        f"# Title\n\n- one\n- two\n\n{PROSE}",
        "- Foo: bar\n- Baz: qux",
        "level=info msg=a\nlevel=warn msg=b\nlevel=info msg=c",
        "Ada: hello there\nBo: hello\nAda: how are you?",
        "Section of code:\n\n0012 <lift>:\n  0014:\t5e f7\tjne    12\n  0018:\t91\tret",
        "10:04:11 worker 3: queue=7\n[supervisor]\n10:04:12 worker 4: queue=9",
    ],
)
def test_other_texts_are_no_settings(text: str) -> None:
    assert not {unit.kind for unit in split_units(text)} & {"yaml", "settings"}


@pytest.mark.parametrize(
    "line",
    [
        *(
            "a: [\n",
            'a: "\n',
            "a: '\n\n",
            "a:\n\n",
            "- a:\n\n",
            "# x\n",
            "# x\n\n",
            "---\n",
            "? a\n",
            "a: |\n b\n\n",
        ),
        *(
            "a:\n b: 1\n\nx (\n\n",
            "[a]\n",
            "[a]\nb = [\n\n",
            '[a]\nb = """\n\n',
            "a = 1\n",
            "[a]\nb\n\n",
            "; a\n\n",
            "k=v\\\n",
        ),
        *("[[a]]\n[a.b]\nc = 1\n", "a: &b\n\n", "a: *b\n", "- - ", "  a:\n", " ", "x ", "[ "),
    ],
)
@pytest.mark.parametrize("head", ["", f"{PROSE}\n\n", "a:\n  - b\n"])
def test_time_grows_with_the_length(line: str, head: str) -> None:
    assert grows_linearly(lambda size: split_units(head + line * (size // len(line))))
