"""Make requests for the audit of compressions from a seed.

The sentences, blocks and records of a made document are known, so the oracles need no parser.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tersely import Document
from tests.sdk import inputs

Range = tuple[int, int]

PLACES = ["harbour", "mill", "school", "bridge", "market", "tower", "garden", "library", "ferry", "quarry"]
VERBS = ["was built in", "was sold for", "stands beside", "never had", "is older than", "burned down in"]


@dataclass
class Known:
    """Ranges of a document's text that the oracles check."""

    sentences: list[Range] = field(default_factory=list[Range])
    """Sentences of prose, which are kept or dropped whole."""
    blocks: list[Range] = field(default_factory=list[Range])
    """Blocks of structure, which are cut only if they alone exceed the limit."""
    records: list[Range] = field(default_factory=list[Range])
    """Records in blocks, which are never joined with another record, and marked if they are cut."""
    entries: list[Range] = field(default_factory=list[Range])
    """Records of several lines of prose, which are never joined with another."""


@dataclass
class Request:
    query: str | None
    documents: list[Document]
    known: list[Known]
    options: dict[str, Any]


def make_request(seed: int) -> Request:
    """Return a request; the same seed always gives the same one."""
    r = random.Random(seed)
    documents: list[Document] = []
    known: list[Known] = []
    for _ in range(r.choice([1, 1, 2, 3, 5])):
        if r.random() < 0.5:
            document, ranges = _make_document(r)
        else:
            document, ranges = Document(inputs.text(r), _title(r)), Known()
        documents.append(document)
        known.append(ranges)
    if r.random() < 0.1:  # a copy: repetition is removed, and still belongs into the receipt
        documents.append(documents[0])
        known.append(known[0])
    place, number = r.choice(PLACES), r.randrange(10_000)
    query = r.choice([inputs.query(r), f"When was {place} {number} built?", f"Which {place} was sold?"])
    options = make_options(r)
    asks = r.random() < 0.8 or not options.keys() & {"budget", "rate"}
    return Request(query if asks else None, documents, known, options)


def make_options(r: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if (mode := r.random()) < 0.45:
        options["budget"] = r.choice([1, 2, 4, 9, 17, 30, 60, 100, 250, 1000, 10**9])
    elif mode < 0.8:
        options["rate"] = r.choice([1e-9, 0.02, 0.1, 0.25, 0.5, 0.8, 0.99, 1.0, 1 - r.random()])
    if r.random() < 0.15:
        options["max_docs"] = r.randint(1, 4)
    if r.random() < 0.25:
        options["order"] = "rerank"
    if r.random() < 0.15:
        options["level"] = r.randint(1, 5)
    if r.random() < 0.1:
        options["min_tokens"] = r.choice([1, 20, 500])
    if r.random() < 0.1:
        options["timeout"] = r.choice([1e-6, 0.002, 0.02, 60.0])
    if r.random() < 0.2:
        options["marks"] = "all"
    return options


def _title(r: random.Random) -> str | None:
    return r.choice([None, None, "Title", "", "  ", "Harbour 17", "標題", "Two\nlines", "[…]"])


def _make_document(r: random.Random) -> tuple[Document, Known]:
    known = Known()
    text = ""
    for number in range(r.randint(1, 4)):
        text += r.choice(["\n\n", "\n\n", "\r\n\r\n", "\n\n\n"]) if number else ""
        text = r.choice(_PARTS)(r, text, known)
    return Document(text + r.choice(["", "\n", "  "]), _title(r)), known


def _add_prose(r: random.Random, text: str, known: Known) -> str:
    for number in range(r.randint(1, 9)):
        text += " " if number else ""
        start = len(text)
        extra = " ".join(r.choices(PLACES, k=r.choice([0, 0, 3, 20])))
        text += f"The {r.choice(PLACES)} {r.randrange(10_000)} {r.choice(VERBS)} {r.randrange(100, 2000)}"
        text += f" near the {extra}." if extra else "."
        known.sentences.append((start, len(text)))
    return text


def _records(r: random.Random) -> list[dict[str, Any]]:
    place = r.choice(PLACES)
    numbers = r.sample(range(1, 10_000), r.choice([2, 5, 12, 40]))
    return [{"id": n, "name": f"{place} {n}", "built": 10_000 + n, "use": r.choice(PLACES)} for n in numbers]


def _add_lines(text: str, lines: list[str], found: list[Range], between: str) -> str:
    for number, line in enumerate(lines):
        text += between if number else ""
        found.append((len(text), len(text) + len(line)))
        text += line
    return text


def _add_json(r: random.Random, text: str, known: Known) -> str:
    start = len(text)
    indent = r.choice([None, 2])
    lines = [json.dumps(record, indent=indent) for record in _records(r)]
    text = _add_lines(text + "[", lines, known.records, r.choice([", ", ",\n", ","])) + "]"
    known.blocks.append((start, len(text)))
    return text


def _add_json_lines(r: random.Random, text: str, known: Known) -> str:
    return _add_lines(text, [json.dumps(record) for record in _records(r)], known.records, "\n")


def _add_table(r: random.Random, text: str, known: Known) -> str:
    start = len(text)
    text += "| id | name | built | use |\n|---|---|---|---|\n"
    rows = [f"| {' | '.join(map(str, record.values()))} |" for record in _records(r)]
    text = _add_lines(text, rows, known.records, "\n")
    known.blocks.append((start, len(text)))
    return text


def _add_code(r: random.Random, text: str, known: Known) -> str:
    start = len(text)
    lines = [f"built_{record['id']} = dig({record['built']})" for record in _records(r)]
    text = _add_lines(text + "```python\n", lines, known.records, "\n") + "\n```"
    known.blocks.append((start, len(text)))
    return text


def _add_log(r: random.Random, text: str, known: Known) -> str:
    lines = [
        f"2031-05-02 12:00:{number % 60:02d},123 INFO {record['name']}: built {record['built']}"
        for number, record in enumerate(_records(r))
    ]
    return _add_lines(text, lines, known.records, "\n")


def _add_list(r: random.Random, text: str, known: Known) -> str:
    lines = [f"- {record['name']}, built {record['built']}" for record in _records(r)]
    return _add_lines(text, lines, known.records, "\n")


def _add_entries(r: random.Random, text: str, known: Known) -> str:
    lines = [f"Name: {x['name']}\nUse: {x['use']}\nBuilt: {x['built']}" for x in _records(r)]
    return _add_lines(text, lines, known.entries, "\n")


_PARTS: list[Callable[[random.Random, str, Known], str]] = [
    _add_prose, _add_prose, _add_prose, _add_json, _add_json_lines, _add_table, _add_code, _add_log,
    _add_list, _add_entries,
]  # fmt: skip

_LONG = 30_000
PATHOLOGICAL: dict[str, Callable[[], list[Any]]] = {
    "brackets": lambda: ["[" * _LONG],
    "braces": lambda: ['{"a":' * _LONG],
    "closed brackets": lambda: ["[" * _LONG + "]" * _LONG],
    "open code": lambda: ["```\n" + "x = 1\n" * 5000],
    "many fences": lambda: ["```\n" * 5000],
    "one word": lambda: ["x" * 300_000],
    "digits": lambda: ["1" * 100_000],
    "spaced digits": lambda: ["1 " * 50_000],
    "blank lines": lambda: ["\n" * 100_000 + "One. Two."],
    "carriage returns": lambda: ["One.\r" * 5000],
    "full stops": lambda: ["." * 50_000],
    "marks": lambda: ["[…]\n" * 2000 + "One. […] Two."],
    "quotes": lambda: ["\"'" * 20_000 + " One. Two."],
    "parentheses": lambda: ["(" * 20_000 + "One. Two." + ")" * 20_000],
    "surrogates": lambda: ["\ud800 \udfff One. \udc80\ud83d Two." * 500],
    "controls": lambda: ["".join(map(chr, range(32))) * 300 + "One. Two."],
    "spaces of Unicode": lambda: ["One.\u00a0\u2003\u3000\u2028\u2029\x85\u200b\ufeffTwo." * 500],
    "right to left": lambda: ["\u202eOne. \u202dTwo.\u202c " * 1000],
    "accents": lambda: ["o\u0301\u0302\u0303\u0304" * 5000 + ". Two."],
    "emoji": lambda: ["👩‍👩‍👧‍👦🏴󠁧󠁢󠁥󠁮󠁧󠁿" * 3000 + ". Two."],
    "pipes": lambda: ["|" * 50_000, "| a |\n" * 5000],
    "dashes": lambda: ["-" * 50_000 + "\n" + "- one\n" * 3000],
    "hashes": lambda: ["# " * 20_000, "# One\n" * 3000],
    "indents": lambda: ["\n".join(" " * n + "x" for n in range(600))],
    "abbreviations": lambda: ["e.g. i.e. Dr. U.S. " * 3000],
    "equal documents": lambda: ["The light is red and it burns at night."] * 400,
    "empty documents": lambda: ["", " ", "\n"] * 300 + ["One. Two."],
    "letters": lambda: [chr(97 + n % 26) for n in range(2000)],
    "long title": lambda: [Document("One. Two. Three.", "T " * 20_000)],
    "titles of lines": lambda: [Document("One. Two.", "\n".join("abc")), Document("Three.", "\r\n")],
    "titles that are marks": lambda: [Document("One. Two. Three. Four.", "[…]")] * 9,
}
"""Documents that are hard to read, by name."""

QUERIES = ["Which light is red?", "?", "1 " * 3000, "One. Two.", "x" * 50_000, "\ud800 \x00", "[…]"]
PATHOLOGICAL_OPTIONS: list[dict[str, Any]] = [
    {},
    {"budget": 1},
    {"budget": 9},
    {"budget": 100},
    {"rate": 0.1},
    {"rate": 0.5, "order": "rerank"},
    {"rate": 0.9, "max_docs": 1},
    {"level": 1},
    {"level": 3, "budget": 60},
    {"budget": 40, "timeout": 0.05},
]
