"""Some 800 compression requests, the same in every process. All texts are made here.

A request is drawn from a generator of its own, seeded with its id, so that adding one changes no other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tersely import Document
from tests.recording import texts
from tests.recording.texts import Random, Text


@dataclass(frozen=True)
class Request:
    """What is asked of a compressor.

    `via`: "compress", "batch" (`more` holds the further pairs of the batch), "prepared", "bytes" (prepared,
    written and read again) or "mixed" (every second document is prepared).
    `setting`: names the compressor; see `record.py`.
    """

    id: str
    kind: str
    query: Any
    docs: Any
    options: dict[str, Any]
    via: str = "compress"
    setting: str = "plain"
    more: list[tuple[Any, Any]] = field(default_factory=list)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"rate": 0.3},
    {"budget": 60},
    {"recall": 0.9},
    {"level": 1},
    {"budget": 5},
    {"rate": 0.1},
    {"marks": "all", "rate": 0.4},
    {"budget": 120},
    {"recall": 0.95},
    {"rate": 0.5},
    {"level": 3},
    {"budget": 25},
    {"order": "rerank", "rate": 0.3},
    {"recall": 0.9, "budget": 50},
    {"max_docs": 1},
    {"rate": 0.05},
    {"level": 2, "budget": 150},
    {"marks": "all"},
    {"budget": 250},
    {"recall": 0.8},
    {"rate": 0.75},
    {"max_docs": 2, "rate": 0.4},
    {"level": 5},
    {"budget": 12},
    {"order": "rerank"},
    {"rate": 0.2, "recall": 0.95},
    {"budget": 400},
    {"level": 1, "marks": "all"},
    {"rate": 0.01},
    {"max_docs": 3, "recall": 0.9},
    {"budget": 40},
    {"level": 4, "rate": 0.6},
    {"marks": "structure", "budget": 90},
    {"rate": 0.6, "order": "source"},
    {"level": 2},
    {"budget": 100_000},
    {"max_docs": 2, "order": "rerank", "budget": 80},
    {"rate": 0.15},
    {"recall": 0.8, "budget": 200},
    {"level": 1, "rate": 0.2},
    {"budget": 700},
    {"rate": 1.0},
    {"level": 4},
    {"marks": "all", "budget": 70},
    {"level": 3, "recall": 0.9},
    {"budget": 8},
    {"rate": 0.25, "marks": "all", "order": "rerank", "max_docs": 3},
    {"level": 5, "budget": 300},
]
"""What requests ask for, in turn."""

WITHOUT_QUERY = [o for o in OPTIONS if "recall" not in o and o.keys() & {"budget", "rate", "level"}]


def requests() -> Iterator[Request]:
    """All requests, by kind."""
    for place, (kind, (count, make)) in enumerate(_KINDS.items()):
        for number in range(count):
            name = f"{kind}-{number:02d}"
            r = random.Random(name)
            # 11 and 49 share no factor: kinds start at different places of the list.
            yield make(r, name, kind, number + 11 * place)


def kinds() -> list[str]:
    return list(_KINDS)


Make = Callable[[Random, str, str, int], Request]


def _options(turn: int) -> dict[str, Any]:
    return dict(OPTIONS[turn % len(OPTIONS)])


def _of_texts(make: Callable[[Random], Text], most: int = 3, titled: bool = False) -> Make:
    """Requests over a few documents of one kind; the question is about one of them."""

    def build(r: Random, name: str, kind: str, turn: int) -> Request:
        made = [make(r) for _ in range(r.randint(1, most))]
        query = r.choice(r.choice(made).questions) if r.random() < 0.9 else texts.stray_question(r)
        return Request(name, kind, query, _documents(r, made, titled), _options(turn))

    return build


def _documents(r: Random, made: Sequence[Text], titled: bool) -> list[Any]:
    """The texts as callers pass them: as they are, as documents, or as mappings."""
    docs: list[Any] = []
    for place, text in enumerate(made):
        title = text.title if titled else None
        form = r.random()
        if form < 0.25 and not titled:
            docs.append(text.body)
        elif form < 0.4:
            docs.append({"text": text.body, "title": title, "id": f"d{place}", "page": place + 1})
        else:
            docs.append(Document(text.body, title, f"n{place}" if form < 0.7 else None, {"n": place}))
    return docs


def _mixed(r: Random, name: str, kind: str, turn: int) -> Request:
    """Documents of several kinds, and several kinds within one document."""
    made = [r.choice(texts.ALL)(r) for _ in range(r.randint(2, 4))]
    if r.random() < 0.6:
        made = [texts.join(r, made), *([texts.prose(r)] if r.random() < 0.5 else [])]
    query = r.choice(r.choice(made).questions)
    return Request(name, kind, query, _documents(r, made, titled=r.random() < 0.4), _options(turn))


_BLANKS: list[list[Any]] = [
    [],
    [""],
    ["", "", ""],
    ["  \n\t "],
    ["\n\n\n", " "],
    [Document("", "Only a title")],
    [Document(" ", ""), "The kiln was lit on Monday. It cooled for two days. Nobody opened it."],
    ["", "The kiln was lit on Monday. It cooled for two days.", "\r\n"],
    ["<!-- only a comment -->"],
    ["."],
    ["…", "?!", "--"],
    [Document("x", "t")],
    ["\ufeff"],
    ["\u200b\u200b", "One sentence stands here."],
    ["a" * 3000],
    ["\0"],
]


def _blank(r: Random, name: str, kind: str, turn: int) -> Request:
    docs = _BLANKS[turn % len(_BLANKS)]
    return Request(name, kind, "When was the kiln lit?", docs, _options(turn))


def _long_sentence(r: Random, name: str, kind: str, turn: int) -> Request:
    made = [texts.endless(r)] + [texts.prose(r) for _ in range(r.randint(0, 2))]
    return Request(name, kind, r.choice(made[0].questions), _documents(r, made, False), _options(turn))


def _odd(r: Random, name: str, kind: str, turn: int) -> Request:
    made = [texts.odd(r) for _ in range(r.randint(1, 3))]
    query = texts.disturb(r, r.choice(made[0].questions)) if r.random() < 0.3 else r.choice(made[0].questions)
    return Request(name, kind, query, _documents(r, made, r.random() < 0.3), _options(turn))


def _language(r: Random, name: str, kind: str, turn: int) -> Request:
    languages = list(texts.LANGUAGES)
    language = languages[turn % len(languages)]
    made = [texts.foreign(r, language) for _ in range(r.randint(1, 4))]
    if r.random() < 0.3:
        made.append(texts.foreign(r, r.choice(languages)))
    query = r.choice(made[0].questions)
    if r.random() < 0.15:
        query = texts.stray_question(r)
    # Twelve languages and 49 options share no factor, so each language meets other options.
    return Request(name, kind, query, _documents(r, made, r.random() < 0.4), _options(turn))


def _many(r: Random, name: str, kind: str, turn: int) -> Request:
    count = (10, 15, 20, 30)[turn % 4]
    made = [texts.short_prose(r) for _ in range(count)]
    query = r.choice(r.choice(made).questions)
    return Request(name, kind, query, _documents(r, made, r.random() < 0.7), _options(turn))


def _long(r: Random, name: str, kind: str, turn: int) -> Request:
    """Documents larger than the upper bounds of most levels."""
    made = [texts.long_prose(r) for _ in range(r.randint(1, 2))]
    options = {**_options(turn), "level": 1 + turn % 5} if turn % 2 else _options(turn)
    return Request(name, kind, r.choice(made[0].questions), _documents(r, made, r.random() < 0.5), options)


def _huge(r: Random, name: str, kind: str, turn: int) -> Request:
    """More than the model reads of one request."""
    made = [texts.long_prose(r) for _ in range(32)]
    return Request(name, kind, r.choice(made[0].questions), _documents(r, made, True), _options(turn))


def _duplicates(r: Random, name: str, kind: str, turn: int) -> Request:
    made = [texts.prose(r) for _ in range(r.randint(1, 2))]
    sentences = [s for text in made for s in text.sentences]
    mixtures = [r.choices(sentences, k=r.randint(3, 9)) for _ in range(r.randint(1, 3))]
    copies = [texts.Text(" ".join(mixture), ()) for mixture in mixtures]
    query = r.choice(made[0].questions)
    docs = _documents(r, [*made, *copies], False)
    if r.random() < 0.3:
        docs.append(docs[0])
    return Request(name, kind, query, docs, _options(turn))


def _exact(r: Random, name: str, kind: str, turn: int) -> Request:
    """A question that quotes much of a document, or has very many names."""
    made = [texts.prose(r) for _ in range(r.randint(1, 3))]
    quoted = " ".join(f"“{sentence}”" for sentence in made[0].sentences[: r.randint(2, 9)])
    if turn % 3 == 0:
        quoted = ", ".join(f"{texts.person(r)} of {texts.place(r)}" for _ in range(30))
    query = f"{quoted} {r.choice(made[0].questions)}"
    return Request(name, kind, query, _documents(r, made, r.random() < 0.3), _options(turn))


def _echo(r: Random, name: str, kind: str, turn: int) -> Request:
    """Documents that repeat the question, or words of it, more often than they answer it."""
    made = [texts.prose(r) for _ in range(r.randint(1, 3))]
    query = r.choice(made[0].questions)
    bare = query.rstrip("?")
    forms = [
        query,
        f"{query} {query}",
        f"Many people ask: {query}",
        f"The answer to the question {bare.lower()} is here.",
        f"{bare}, that is the question.",
        f"We do not say {bare[0].lower()}{bare[1:]}.",
        f"{bare}? Ask at the desk.",
        f"Question: {query}\nAnswer: see below.",
    ]
    echo = texts.Text(" ".join(r.sample(forms, r.randint(2, 6))), ())
    made.insert(r.randint(0, len(made)), echo)
    return Request(name, kind, query, _documents(r, made, r.random() < 0.3), _options(turn))


def _hops(r: Random, name: str, kind: str, turn: int) -> Request:
    """Questions whose answer needs two documents."""
    query, made = texts.two_hops(r)
    made += [texts.short_prose(r) for _ in range(r.randint(1, 6))]
    r.shuffle(made)
    return Request(name, kind, query, _documents(r, made, True), _options(turn))


def _no_query(r: Random, name: str, kind: str, turn: int) -> Request:
    made = [r.choice([texts.prose, texts.prose, *texts.ALL])(r) for _ in range(r.randint(1, 4))]
    options = dict(WITHOUT_QUERY[turn % len(WITHOUT_QUERY)])
    return Request(name, kind, None, _documents(r, made, r.random() < 0.4), options)


def _reranked(r: Random, name: str, kind: str, turn: int) -> Request:
    setting = ("reranker", "reranker", "failing reranker", "short reranker", "nan reranker")[turn % 5]
    made = [texts.short_prose(r) for _ in range(r.randint(2, 8))]
    options = _options(turn)
    if turn % 3:
        options = {**options, "order": "rerank"} if turn % 3 == 1 else {**options, "max_docs": 1 + turn % 4}
    query = r.choice(r.choice(made).questions)
    return Request(name, kind, query, _documents(r, made, True), options, setting=setting)


def _counted(r: Random, name: str, kind: str, turn: int) -> Request:
    setting = ("words", "characters", "counter")[turn % 3]
    made = [r.choice([texts.prose, *texts.ALL])(r) for _ in range(r.randint(1, 3))]
    query = r.choice(made[0].questions)
    return Request(name, kind, query, _documents(r, made, False), _options(turn), setting=setting)


def _batch(r: Random, name: str, kind: str, turn: int) -> Request:
    pairs: list[tuple[Any, Any]] = []
    for _ in range(r.randint(2, 4)):
        made = [texts.short_prose(r) for _ in range(r.randint(1, 4))]
        pairs.append((r.choice(made[0].questions), _documents(r, made, r.random() < 0.5)))
    options = _options(turn)
    if options in WITHOUT_QUERY:
        pairs.append((None, pairs[0][1]))
    return Request(name, kind, *pairs[0], options, via="batch", more=pairs[1:])


def _prepared(r: Random, name: str, kind: str, turn: int) -> Request:
    via = ("prepared", "bytes", "mixed")[turn % 3]
    count = (2, 5, 8, 16)[turn % 4]
    make = texts.short_prose if count > 5 else r.choice([texts.prose, texts.short_prose, *texts.ALL])
    made = [make(r) for _ in range(count)]
    query = r.choice(r.choice(made).questions)
    return Request(name, kind, query, _documents(r, made, r.random() < 0.7), _options(turn), via=via)


_KILN = "The kiln was lit on Monday. It cooled for two days. Nobody opened it before Thursday morning."
_MISTAKES: list[tuple[Any, Any, dict[str, Any], str]] = [
    ("When?", [_KILN], {"budget": 5, "rate": 0.5}, "plain"),
    ("When?", [_KILN], {"budget": 0}, "plain"),
    ("When?", [_KILN], {"budget": -3}, "plain"),
    ("When?", [_KILN], {"budget": "ten"}, "plain"),
    ("When?", [_KILN], {"budget": 2.5}, "plain"),
    ("When?", [_KILN], {"rate": 0}, "plain"),
    ("When?", [_KILN], {"rate": 1.5}, "plain"),
    ("When?", [_KILN], {"rate": float("nan")}, "plain"),
    ("When?", [_KILN], {"recall": 1.0}, "plain"),
    ("When?", [_KILN], {"recall": 0.9999}, "plain"),
    ("When?", [_KILN], {"recall": "most"}, "plain"),
    ("When?", [_KILN], {"max_docs": 0}, "plain"),
    ("When?", [_KILN], {"order": "best"}, "plain"),
    ("When?", [_KILN], {"marks": "none"}, "plain"),
    ("", [_KILN], {}, "plain"),
    (" \n", [_KILN], {"rate": 0.5}, "plain"),
    (7, [_KILN], {}, "plain"),
    (None, [_KILN], {}, "plain"),
    (None, [_KILN], {"recall": 0.9}, "plain"),
    (None, [_KILN], {"max_docs": 1}, "plain"),
    ("When?", _KILN, {}, "plain"),
    ("When?", Document(_KILN), {}, "plain"),
    ("When?", 5, {}, "plain"),
    ("When?", [{"title": "Kiln"}], {}, "plain"),
    ("When?", [_KILN, 3], {}, "plain"),
    ("When?", [Document(_KILN, title=4)], {}, "plain"),  # pyright: ignore[reportArgumentType]
    ("When?", [{"text": None}], {}, "plain"),
    ("When?", [{"text": _KILN, "metadata": 3}], {}, "plain"),
    ("When was it lit?", [_KILN], {"rate": 0.5}, "negative counter"),
    ("When was it lit?", [_KILN], {"rate": 0.5}, "raising counter"),
]


def _mistake(r: Random, name: str, kind: str, turn: int) -> Request:
    query, docs, options, setting = _MISTAKES[turn % len(_MISTAKES)]
    return Request(name, kind, query, docs, dict(options), setting=setting)


def _broken_model(r: Random, name: str, kind: str, turn: int) -> Request:
    """A model that raises: exact matches choose where there is a limit, else everything comes back."""
    made = [r.choice([texts.prose, *texts.ALL])(r) for _ in range(r.randint(1, 3))]
    options = _options(turn)
    options.pop("recall", None)
    query = r.choice(made[0].questions)
    return Request(name, kind, query, _documents(r, made, r.random() < 0.4), options, setting="broken model")


_KINDS: dict[str, tuple[int, Make]] = {
    "prose": (36, _of_texts(texts.prose)),
    "titled": (36, _of_texts(texts.prose, most=5, titled=True)),
    "long": (20, _long),
    "markdown": (36, _of_texts(texts.markdown, most=2, titled=False)),
    "json": (48, _of_texts(texts.json_text, most=2)),
    "yaml": (20, _of_texts(texts.yaml, most=2)),
    "python": (24, _of_texts(texts.python, most=2)),
    "c": (20, _of_texts(texts.c_code, most=2)),
    "diff": (20, _of_texts(texts.diff, most=2)),
    "log": (30, _of_texts(texts.log, most=2)),
    "html": (30, _of_texts(texts.html, most=2)),
    "comments": (10, _of_texts(texts.commented, most=2)),
    "rows": (36, _of_texts(texts.rows, most=2)),
    "settings": (10, _of_texts(texts.records, most=2)),
    "grep": (20, _of_texts(texts.grep, most=2)),
    "mail": (20, _of_texts(texts.mail, most=2)),
    "corners": (64, _of_texts(texts.corners, most=2)),
    "mixed": (36, _mixed),
    "blank": (32, _blank),
    "endless": (16, _long_sentence),
    "odd": (30, _odd),
    "language": (84, _language),
    "many": (24, _many),
    "huge": (1, _huge),
    "duplicates": (20, _duplicates),
    "echo": (24, _echo),
    "exact": (10, _exact),
    "hops": (24, _hops),
    "noquery": (44, _no_query),
    "reranker": (25, _reranked),
    "counter": (24, _counted),
    "batch": (12, _batch),
    "prepared": (36, _prepared),
    "mistake": (30, _mistake),
    "broken": (12, _broken_model),
}
"""How many requests of each kind, and what makes one."""
