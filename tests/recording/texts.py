"""Texts of many kinds, each with questions about it, made from seeded templates written for this test."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Random = random.Random


@dataclass(frozen=True)
class Text:
    """A text and questions about it. `sentences` holds those of prose."""

    body: str
    questions: Sequence[str]
    title: str | None = None
    sentences: Sequence[str] = ()


class Fact(NamedTuple):
    """A sentence that answers a question."""

    sentence: str
    question: str


def _words(text: str) -> list[str]:
    return text.split()


_STARTS = _words("Bra Kel Ostra Vin Mar Tol Quen Har Sil Dun Ery Fal Gos Lin Nor Pel Rath Ska Ul Wey Yar Zem")
_ENDS = _words("moor by dale wick ton stead ford holm gate mere vale haven ridge leth nock sund berg low")
_FIRST = _words(
    "Ida Bruno Celia Dario Edda Falk Greta Hugo Imke Jonas Katya Lorenz Mira Nils Odile Pavel Rosa"
)
_LAST = _words("Penrose Aldous Brandt Corvin Dreyer Ekman Farrow Grieg Halvorsen Ingram Jansky Kolb Lund")
_MONTHS = _words("January February March April May June July August September October November December")
_DAYS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_THINGS = _words("bridge mill museum harbour library observatory brewery school canal theatre tower market")
_GOODS = _words("barley copper glass wool salt timber honey slate paper rope cheese linen amber tin")
_TOOLS = _words("parser scheduler cache indexer gateway router importer planner queue worker renderer")


def place(r: Random) -> str:
    return r.choice(_STARTS) + r.choice(_ENDS)


def person(r: Random) -> str:
    return f"{r.choice(_FIRST)} {r.choice(_LAST)}"


def date(r: Random) -> str:
    return f"{r.randint(1, 28)} {r.choice(_MONTHS)} {r.randint(1790, 2024)}"


def _building(r: Random) -> list[Fact]:
    where, what, who = place(r), r.choice(_THINGS), person(r)
    year, cost = r.randint(1740, 2020), r.randint(3, 900) * 100
    return [
        Fact(f"The {what} of {where} was built in {year}.", f"When was the {what} of {where} built?"),
        Fact(f"{who} designed it after a journey to {place(r)}.", f"Who designed the {what} of {where}?"),
        Fact(f"It cost {cost:,} crowns, half of them paid by the guild.", f"How much did the {what} cost?"),
        Fact(
            f"On {r.choice(_DAYS)}s the {what} is open until {r.randint(1, 12)}:30 p.m.",
            f"How long is the {what} in {where} open?",
        ),
        Fact(
            f"Since {year + 40} the {what}, {r.randint(12, 90)} metres long, has belonged to the town.",
            f"Who owns the {what} of {where}?",
        ),
    ]


def _trade(r: Random) -> list[Fact]:
    where, good, who = place(r), r.choice(_GOODS), person(r)
    return [
        Fact(f"The main export of {where} is {good}.", f"What does {where} export?"),
        Fact(
            f"In {r.randint(1850, 2020)} the port shipped {r.randint(200, 9000)} tonnes of {good}.",
            f"How many tonnes of {good} were shipped from {where}?",
        ),
        Fact(f"The warehouse belongs to {who}, who bought it from a cousin.", "Who owns the warehouse?"),
        Fact(
            f"Prof. {who.split()[1]} of the U.S. Bureau (est. 1902) said: “{good.title()} will not last.”",
            f"What did the professor say about {good}?",
        ),
        Fact(f"A duty of {r.randint(2, 30)}.5 % is paid on all {good}.", f"Which duty is paid on {good}?"),
    ]


def _software(r: Random) -> list[Fact]:
    tool, version = r.choice(_TOOLS), f"{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}"
    return [
        Fact(
            f"The {tool} gives up after {r.randint(5, 600)} seconds without an answer.",
            f"After how many seconds does the {tool} give up?",
        ),
        Fact(
            f"Version {version} fixed the leak in the {tool}.", f"Which version fixed the leak in the {tool}?"
        ),
        Fact(
            f"Set `{tool.upper()}_LIMIT` to {r.choice([16, 64, 512])} if memory is short, e.g. on a board.",
            f"What should {tool.upper()}_LIMIT be set to?",
        ),
        Fact(
            f"Errors of the {tool} go to /var/log/{tool}.log; see https://example.org/{tool}?v={version}.",
            f"Where do errors of the {tool} go?",
        ),
        Fact(f"{person(r)} maintains the {tool} and reviews every change.", f"Who maintains the {tool}?"),
    ]


def _life(r: Random) -> list[Fact]:
    who, where = person(r), place(r)
    born = r.randint(1780, 1980)
    return [
        Fact(f"{who} was born in {where} in {born}.", f"Where was {who} born?"),
        Fact(
            f"At the age of {r.randint(19, 40)} {who.split()[1]} moved to {place(r)}.",
            f"Where did {who} move?",
        ),
        Fact(
            f"Her first book, The {r.choice(_GOODS).title()} Road, sold {r.randint(2, 99)},000 copies.",
            f"How many copies did the first book of {who} sell?",
        ),
        Fact("She never swam, although her father was a ferryman.", "What was the profession of her father?"),
        Fact(f"She died on {date(r)} after a short illness.", f"When did {who} die?"),
    ]


_WORLDS = [_building, _trade, _software, _life]

_FILLERS = [
    "Visitors often come in {month}.",
    "The weather was mild that year, and the roads were dry.",
    "Nobody remembers the reason.",
    "However, the council of {place} voted against it by {n} to {m}.",
    "A second plan, drawn by {person}, was never carried out.",
    "It has {n} rooms, {m} of which face the river.",
    "According to the register (page {n}), the name is older than the town.",
    "There is a small café; dogs are welcome.",
    "“We had to begin again,” said {person}, “and so we did.”",
    "The road from {place} to {place} takes about {n} minutes by bicycle.",
    "Why this was done is not known.",
    "In {month} of the same year a storm broke {m} windows.",
    "Its colour is grey, or rather a dull green.",
    "Most of the {good} came from {place}, the rest from abroad.",
    "Two of the {n} workers had learned the trade in {place}!",
    "This changed when the railway came.",
    "Further details stand in section {m}.{n} of the report.",
    "The figures for {month} are not complete yet.",
    "Children pay nothing, groups of more than {n} pay half.",
    "Dr. {person} doubts that, cf. fig. {m}.",
    "The old lamp was replaced, then sold, then bought back for {n} crowns and {m} pence.",
    "Some of it is still there.",
    "He kept bees.",
    "It rains on {n} days of the year, mostly in {month}, and the wells seldom run dry.",
]


def filler(r: Random) -> str:
    return r.choice(_FILLERS).format(
        month=r.choice(_MONTHS),
        place=place(r),
        person=person(r),
        n=r.randint(11, 90),
        m=r.randint(2, 10),
        good=r.choice(_GOODS),
    )


def _passage(r: Random, facts: int, fillers: int) -> tuple[list[str], list[str]]:
    """Sentences and questions about one subject."""
    known = r.choice(_WORLDS)(r)
    chosen = known[:1] + r.sample(known[1:], min(facts - 1, len(known) - 1))
    sentences = [fact.sentence for fact in chosen]
    for _ in range(fillers):
        sentences.insert(r.randint(1, len(sentences)), filler(r))
    return sentences, [fact.question for fact in chosen]


def _prose(r: Random, facts: int, fillers: int) -> Text:
    sentences, questions = _passage(r, facts, fillers)
    lines: list[str] = [sentences[0]]
    for sentence in sentences[1:]:
        lines.append("\n\n" if r.random() < 0.12 else "\n" if r.random() < 0.08 else " ")
        lines.append(sentence)
    subject = " ".join(questions[0].rstrip("?").split()[-2:])
    return Text("".join(lines), questions, r.choice([subject, f"About {subject}", None]), sentences)


def prose(r: Random) -> Text:
    return _prose(r, r.randint(2, 5), r.randint(2, 9))


def short_prose(r: Random) -> Text:
    return _prose(r, r.randint(1, 2), r.randint(1, 3))


def long_prose(r: Random) -> Text:
    parts = [_prose(r, 5, r.randint(8, 14)) for _ in range(r.randint(2, 7))]
    body = r.choice(["\n\n", " "]).join(part.body for part in parts)
    return Text(body, [q for part in parts for q in part.questions], "Collected notes")


def stray_question(r: Random) -> str:
    """A question that no text answers, in one of several forms."""
    return r.choice(
        [
            "What is the boiling point of xenon?",
            "xenon boiling point",
            "x",
            "Why?",
            f"tell me everything about {place(r)} and {place(r)}",
            "“Quoted words”, and the like: which?",
            " ".join(filler(r) for _ in range(8)) + " What follows from this?",
            "How many errors are there, and which one came first?",
        ]
    )


def join(r: Random, made: Sequence[Text]) -> Text:
    """One text out of several."""
    gap = r.choice(["\n\n", "\n", "\n\n---\n\n"])
    return Text(gap.join(text.body for text in made), [q for text in made for q in text.questions], "Joined")


def two_hops(r: Random) -> tuple[str, list[Text]]:
    """A question, and the two texts that answer it together."""
    what, where, who, birth = r.choice(_THINGS), place(r), person(r), place(r)
    first = [f"The {what} of {where} was designed by {who}.", filler(r), filler(r)]
    second = [f"{who} was an engineer.", f"{who.split()[1]} was born in {birth}.", filler(r)]
    question = r.choice(
        [
            f"Where was the designer of the {what} of {where} born?",
            f"In which town was the person who designed the {what} in {where} born?",
            f"What was the profession of the designer of {where}'s {what}, and where did they grow up?",
        ]
    )
    return question, [
        Text(" ".join(first), (), f"{what.title()} of {where}"),
        Text(" ".join(second), (), who),
    ]


def markdown(r: Random) -> Text:
    first, questions = _passage(r, 4, 3)
    tool = r.choice(_TOOLS)
    lines = [f"# Handbook of the {tool}", "", " ".join(first), ""]
    for part in range(r.randint(1, 4)):
        sentences, more = _passage(r, 3, 2)
        questions += more
        lines += [f"{'#' * r.randint(2, 4)} Part {part + 1}: {r.choice(_GOODS)}", ""]
        form = r.randrange(6)
        if form == 0:
            mark = r.choice(["- ", "* ", "1. ", "a) "])
            lines += [f"{mark}{s}" for s in sentences]
            lines += [f"  - {filler(r)}" for _ in range(r.randint(0, 3))]
        elif form == 1:
            number = r.randint(2, 40)
            lines += [
                "Run this:",
                "",
                "```sh",
                f"{tool} --jobs {number} \\",
                "  --quiet",
                "```",
                "",
                sentences[0],
            ]
            questions.append(f"How is the {tool} run with {number} jobs?")
        elif form == 2:
            lines += ["| option | default | meaning |", "|---|---:|---|"]
            for _ in range(r.randint(3, 25)):
                good, number = r.choice(_GOODS), r.randint(1, 500)
                lines.append(f"| `{good}_{number}` | {number} | {filler(r)} |")
                questions.append(f"What is the default of {good}_{number}?")
        elif form == 3:
            lines += [f"> {s}" for s in sentences]
        elif form == 4:
            lines += [f"- [{r.choice(' x')}] {s}" for s in sentences] + ["", f"    {tool} = make({part})", ""]
        else:
            lines += [
                " ".join(sentences),
                "",
                f"**Note:** see [{place(r)}](https://example.org/{part}).",
                "***",
            ]
        lines.append("")
    if r.random() < 0.3:
        lines = ["---", f"title: {tool}", f"author: {person(r)}", "---", "", *lines]
    return Text("\n".join(lines), questions, f"{tool}.md")


def _record(r: Random, number: int) -> dict[str, object]:
    record: dict[str, object] = {
        "id": number,
        "name": place(r),
        "keeper": person(r),
        "built": r.randint(1700, 2020),
        "open": r.random() < 0.5,
    }
    if r.random() < 0.4:
        record["lamp"] = {"colour": r.choice(["red", "white", None]), "watts": r.randint(10, 900) / 4}
    if r.random() < 0.3:
        record["goods"] = r.sample(_GOODS, r.randint(0, 6))
    if r.random() < 0.2:
        record["notes"] = " ".join(filler(r) for _ in range(r.randint(1, 14)))
    return record


def json_text(r: Random) -> Text:
    records = [_record(r, n) for n in sorted(r.sample(range(1000), r.choice([1, 4, 12, 40])))]
    chosen = r.choice(records)
    questions = [
        f"When was {chosen['name']} built?",
        f"Who is the keeper of {chosen['name']}?",
        f"What is known of the record with the id {chosen['id']}?",
        f"keeper {chosen['keeper']}",
    ]
    form = r.randrange(8)
    value: object = records
    if form == 0:
        value = {"status": "ok", "total": len(records), "results": records, "next": None}
    elif form == 1:
        value = {"data": {"page": {"number": 3, "items": {str(x["id"]): x for x in records}}}, "error": {}}
    elif form == 2:
        value = {
            "message": " ".join(prose(r).body for _ in range(3)),
            "trace": 'a\\b"c\n\td' * 30,
            "log": records[:3],
        }
    body = json.dumps(value, indent=r.choice([None, None, 2, 4, "\t"]), ensure_ascii=r.random() < 0.5)
    if form == 3:
        body = "\n".join(json.dumps(x) for x in records)
    elif form == 4:  # broken: cut short, a comma too many, single quotes, or a comment
        body = r.choice(
            [
                body[: len(body) * 2 // 3],
                body.replace("},", "},,", 1),
                body.replace('"', "'"),
                f"{body}\n// end",
            ]
        )
    elif form == 5:
        body = f"The server answered:\n\n{body}\n\nThat is all. {filler(r)}"
    elif form == 6:
        body = f"```json\n{body}\n```"
    return Text(body, questions, r.choice(["results.json", None]))


def yaml(r: Random) -> Text:
    lines = [f"# settings of {place(r)}", "version: 3", "services:"]
    questions: list[str] = []
    for n in range(r.choice([2, 5, 15])):
        name, port = f"{r.choice(_TOOLS)}{n}", r.randint(1000, 9999)
        questions += [f"Which port does {name} use?", f"What is the image of {name}?"]
        lines += [
            f"  {name}:",
            f"    image: registry.example.org/{name}:{n}.{r.randint(0, 9)}",
            f"    port: {port}",
        ]
        if r.random() < 0.5:
            lines += [
                "    environment:",
                *(f"      - {g.upper()}={r.randint(1, 99)}" for g in r.sample(_GOODS, 3)),
            ]
        if r.random() < 0.4:
            lines += ["    notes: |", *(f"      {filler(r)}" for _ in range(r.randint(1, 6)))]
    lines += ["volumes: [data, logs]", 'owner: "the harbour"']
    return Text("\n".join(lines), questions, r.choice(["compose.yaml", None]))


def python(r: Random) -> Text:
    lines = [
        "from __future__ import annotations",
        "",
        "import math",
        f"from {r.choice(_TOOLS)} import load",
        "",
    ]
    questions: list[str] = []
    for n in range(r.choice([1, 2, 4])):
        name = r.choice(_TOOLS).title()
        questions += [f"What does {name}{n} do?", f"Where is the {name.lower()} limit set?"]
        lines += [f"class {name}{n}:", f'    """{filler(r)}', "", f'    {filler(r)}"""', ""]
        for good in r.sample(_GOODS, r.randint(1, 4)):
            questions.append(f"How does weigh_{good} round its result?")
            lines += ["    @property"] if r.random() < 0.2 else []
            lines += [
                f"    def weigh_{good}(self, amount: float, *, limit: int = {r.randint(2, 99)}) -> float:"
            ]
            lines += [f'        """Weight of the {good}."""'] if r.random() < 0.6 else []
            for step in range(r.choice([1, 3, 8, 25])):
                lines.append(
                    f"        step_{step} = math.sqrt(amount) * {r.randint(1, 99)}  # {r.choice(_GOODS)}"
                )
            lines += ["        if amount > limit:", f'            raise ValueError("too much {good}")']
            lines += [f"        return round(amount, {r.randint(0, 4)})", ""]
        lines.append("")
    lines += ['if __name__ == "__main__":', "    print(load())"]
    return Text("\n".join(lines), questions, r.choice(["weights.py", None]))


def c_code(r: Random) -> Text:
    javascript = r.random() < 0.4
    lines = ["// " + filler(r), "" if javascript else "#include <stdio.h>", ""]
    questions: list[str] = []
    for good in r.sample(_GOODS, r.choice([1, 3, 6])):
        questions += [f"How is the weight of {good} computed?", f"What does weigh_{good} return on failure?"]
        lines += [f"/* {filler(r)}", f" * {filler(r)} */"] if r.random() < 0.5 else []
        head = (
            f"function weigh_{good}(amount) {{" if javascript else f"static int weigh_{good}(int amount)\n{{"
        )
        lines += head.split("\n")
        for step in range(r.choice([1, 4, 20])):
            kind = "let" if javascript else "int"
            lines += [f"    {kind} step{step} = amount * {r.randint(2, 99)};  // {r.choice(_GOODS)}"]
        lines += [
            "    if (amount < 0) {",
            f"        return -{r.randint(1, 9)};",
            "    }",
            "    return amount;",
            "}",
            "",
        ]
    return Text("\n".join(lines), questions, r.choice(["weights.c", None]))


def diff(r: Random) -> Text:
    lines: list[str] = []
    if r.random() < 0.3:
        lines += [
            "commit 4f2a9c0d17be",
            f"Author: {person(r)} <mail@example.org>",
            "",
            f"    {filler(r)}",
            "",
        ]
    questions: list[str] = []
    for n in range(r.choice([1, 3, 7])):
        name = f"src/{r.choice(_TOOLS)}_{n}.py"
        questions += [f"What was changed in {name}?", "Which limit was raised?"]
        lines += [
            f"diff --git a/{name} b/{name}",
            "index 83db48f..bf3a2c1 100644",
            f"--- a/{name}",
            f"+++ b/{name}",
        ]
        for hunk in range(r.randint(1, 3)):
            added = r.choice([1, 2, 12])
            lines += [f"@@ -{hunk * 60 + 1},4 +{hunk * 60 + 1},{added + 3} @@ def run(self):"]
            lines += [f"     start = {r.randint(1, 99)}", f"-    limit = {r.randint(1, 99)}"]
            lines += [f"+    limit_{k} = {r.randint(100, 999)}  # {r.choice(_GOODS)}" for k in range(added)]
            lines += ["     return start", " "]
    return Text("\n".join(lines), questions, r.choice(["change.diff", None]))


def log(r: Random) -> Text:
    form, tool = r.randrange(4), r.choice(_TOOLS)
    questions = [f"Why did the {tool} fail?", "Which error came first?"]
    lines: list[str] = []
    for n in range(r.choice([6, 20, 60])):
        clock = f"{8 + n // 60:02d}:{n % 60:02d}:{r.randint(0, 59):02d}"
        stamp = (
            f"2026-03-14 {clock},{r.randint(0, 999):03d}",
            f"2026-03-14T{clock}Z",
            f"[{clock}]",
            f"Mar 14 {clock} host7 {tool}[{r.randint(100, 999)}]:",
        )[form]
        chance = r.random()
        if chance < 0.06:
            lines += [f"{stamp} ERROR {tool}: request {n} failed", "Traceback (most recent call last):"]
            for depth in range(r.randint(1, 6)):
                lines += [f'  File "/srv/{tool}/part{depth}.py", line {r.randint(1, 400)}, in run']
                lines += [f"    self.{r.choice(_GOODS)}({n})"]
            lines += [f"{r.choice(['Value', 'Key', 'Timeout'])}Error: no {r.choice(_GOODS)} in {place(r)}"]
        elif chance < 0.1:
            lines += [f"{stamp} FATAL java.lang.IllegalStateException: {r.choice(_GOODS)} is closed"]
            lines += [
                f"\tat org.example.{tool}.Part{k}.run(Part{k}.java:{r.randint(1, 300)})" for k in range(3)
            ]
            lines += ["Caused by: java.io.IOException: pipe broke", "\t... 7 more"]
        elif chance < 0.2:
            where = place(r)
            questions.append(f"How slow was the answer from {where}?")
            lines += [f"{stamp} WARN {tool}: slow answer from {where}: {r.randint(100, 9000)} ms"]
        else:
            lines += [f"{stamp} INFO {tool}: request {n} took {r.randint(1, 90)} ms"] * r.choice([1, 1, 1, 5])
    return Text("\n".join(lines), questions, r.choice([f"{tool}.log", None]))


def html(r: Random) -> Text:
    where = place(r)
    parts = [f"<h1>{where}</h1>"]
    questions: list[str] = []
    for n in range(r.choice([1, 3, 6])):
        sentences, more = _passage(r, 3, 2)
        questions += more
        body = " ".join(sentences).replace("&", "&amp;")
        form = r.randrange(5)
        if form == 0:
            rows = "".join(
                f"<tr><td>{place(r)}</td><td>{r.randint(1, 999)}</td></tr>\n" for _ in range(r.randint(2, 12))
            )
            parts.append(f"<table>\n<tr><th>town</th><th>tonnes</th></tr>\n{rows}</table>")
        elif form == 1:
            parts.append("<ul>" + "".join(f"<li>{s}</li>\n" for s in sentences) + "</ul>")
        elif form == 2:
            parts.append(f"<!-- draft {n}: {filler(r)} --><p>{body}</p>")
        elif form == 3:
            parts.append(f"<div class='part'><p>{body}<br/><a href=\"/p/{n}\">More&hellip;</a></p></div>")
        else:
            parts.append(f"<h2>{r.choice(_GOODS).title()}</h2>\n<p>{body}</p>\n<pre>x = {n};\n  y</pre>")
    inner = "\n".join(parts) if r.random() < 0.7 else "".join(parts)
    if r.random() < 0.3:
        return Text(inner, questions, None)
    head = (
        f"<head><title>{where}</title><style>p {{ margin: 0 }}</style><script>let x = '<p>';</script></head>"
    )
    nav = "<nav><a href='/'>Home</a> | <a href='/all'>All</a></nav>"
    return Text(
        f"<!DOCTYPE html>\n<html>{head}\n<body>{nav}{inner}<footer>2026</footer></body></html>",
        questions,
        where,
    )


def commented(r: Random) -> Text:
    """Prose with HTML comments in it."""
    made = prose(r)
    words = made.body.split(" ")
    for _ in range(r.randint(1, 4)):
        comment = r.choice(
            ["<!-- todo -->", f"<!-- {filler(r)} -->", f"<!--\n{filler(r)}\n-->", "<!-- never closed"]
        )
        words.insert(r.randint(0, len(words)), comment)
    return Text(" ".join(words), made.questions, made.title)


def rows(r: Random) -> Text:
    mark = r.choice([",", ";", "\t", "|", "pipe"])
    table = [["town", "built", "keeper", "note"]]
    for _ in range(r.choice([2, 6, 20, 50])):
        note = filler(r).replace(",", "").replace(";", "")
        table.append([place(r), str(r.randint(1700, 2020)), person(r), note if r.random() < 0.3 else ""])
    chosen = r.choice(table[1:])
    questions = [f"When was {chosen[0]} built?", f"Which town has the keeper {chosen[2]}?"]
    if mark == "pipe":
        lines = [f"| {' | '.join(row)} |" for row in table]
        lines.insert(1, "|---|:---:|---|---|")
    else:
        lines = [
            mark.join(f'"{cell}"' if mark == "," and " " in cell else cell for cell in row) for row in table
        ]
    if r.random() < 0.3:
        lines = [filler(r), "", *lines, "", filler(r)]
    return Text("\n".join(lines), questions, r.choice(["towns.csv", None]))


def records(r: Random) -> Text:
    """Blocks of keys with values."""
    blocks: list[str] = []
    questions: list[str] = []
    for _ in range(r.randint(2, 9)):
        where = place(r)
        questions.append(f"Who is the keeper of {where}?")
        blocks.append(
            f"Name: {where}\nBuilt: {r.randint(1700, 2020)}\nKeeper: {person(r)}\nNote: {filler(r)}"
        )
    return Text("\n\n".join(blocks), questions)


def grep(r: Random) -> Text:
    lines: list[str] = []
    questions: list[str] = []
    for _ in range(r.choice([3, 10, 40])):
        tool, good, number = r.choice(_TOOLS), r.choice(_GOODS), r.randint(1, 900)
        questions.append(f"Where is the {good} of the {tool} set?")
        mark = ":" if r.random() < 0.8 else "-"
        lines.append(f"src/{tool}/main.py{mark}{number}{mark}    {good} = limit({r.randint(1, 99)})")
        if r.random() < 0.1:
            lines.append("--")
    return Text("\n".join(lines), questions)


def mail(r: Random) -> Text:
    first, questions = _passage(r, 3, 2)
    second, more = _passage(r, 3, 2)
    head = [
        f"From: {person(r)} <a@example.org>",
        f"To: {person(r)}",
        f"Date: {date(r)}",
        "Subject: Re: plans",
        "",
    ]
    lines = head if r.random() < 0.6 else []
    lines += ["Hello all,", "", " ".join(first), "", f"On {date(r)}, {person(r)} wrote:"]
    lines += [f"> {s}" for s in second]
    lines += [f">> {filler(r)}" for _ in range(r.randint(0, 4))]
    lines += [
        ">",
        f"> {filler(r)}",
        "",
        filler(r),
        "",
        "-- ",
        person(r),
        f"Tel. +00 {r.randint(100, 999)} 5550",
    ]
    if r.random() < 0.3:  # hard line breaks at 60 columns
        lines = [part for line in lines for part in _wrap(line, 60)]
    return Text("\n".join(lines), [*questions, *more], r.choice(["Re: plans", None]))


def _wrap(line: str, width: int) -> list[str]:
    mark = "> " if line.startswith("> ") else ""
    out = [""]
    for word in line.removeprefix(mark).split(" "):
        if out[-1] and len(out[-1]) + len(word) >= width:
            out.append("")
        out[-1] += f"{' ' if out[-1] else ''}{word}"
    return [mark + part for part in out]


def endless(r: Random) -> Text:
    """A very long sentence without punctuation, or a very long word."""
    where, number = place(r), r.randint(100, 999)
    words: list[str] = []
    for _ in range(r.choice([100, 250, 700])):
        words.append(r.choice([*_GOODS, *_TOOLS, "and", "the", "of", "near", "then"]))
    words[len(words) // 2] = f"the tower of {where} has {number} steps"
    gap = "" if r.random() < 0.15 else " "
    return Text(gap.join(words), [f"How many steps does the tower of {where} have?"])


_ODD = [
    "😀 The emoji 👩‍👩‍👧‍👦 stands for a family of {n} 🎉.",
    "Zero\u200bwidth and soft\u00adhyphens hide in {place}.",
    "Combining marks: Cafe\u0301 e\u0302tre {n}\u0308 in {place}.",
    "ﬁne ﬂight of ½ ¾ ⅓, № {n}, ℃ and ™ at {place}…",
    "Fullwidth ＡＢＣ１２３ belongs to {person}!",
    "The flag 🇩🇪🇯🇵 and the tone 👍🏽 were seen {n} times.",
    "A lone \ud800 surrogate and a \ufffd mark at {place}.",
    "Right \u200f\u202eto left\u202c again in {place}.",
    "𝔉raktur and 𝒮cript letters: {person}.",
    "Bell \x07 and escape \x1b[31mred\x1b[0m came from {place}.",
    "Non\u00a0breaking\u00a0spaces\u2009and\u3000wide ones: {n}.",
    "“Curly” ‘quotes’ — dashes – and «guillemets» in {place}.",
    "Line\u2028separator and para\u2029separator, form\x0cfeed, vertical\x0btab {n}.",
    "İstanbul, STRAẞE, ǅ and ŉ fold in odd ways for {person}.",
]


def disturb(r: Random, text: str) -> str:
    """The text with unusual characters in it."""
    return r.choice(
        [text.replace(" ", "\u00a0"), f"\ufeff{text}", text.upper(), f"{text} 😀", text.replace(" ", "  ")]
    )


def odd(r: Random) -> Text:
    sentences, questions = _passage(r, 3, 2)
    for _ in range(r.randint(1, 6)):
        where, who, number = place(r), person(r), r.randint(2, 999)
        sentences.insert(
            r.randint(0, len(sentences)), r.choice(_ODD).format(place=where, person=who, n=number)
        )
        questions.append(
            r.choice([f"What is in {where}?", f"What belongs to {who}?", "How many times was it seen?"])
        )
    gap = r.choice([" ", "\r\n", "\r\n\r\n", "\t", "\n\t", "  ", "\r", "\n \n"])
    body = gap.join(sentences)
    if r.random() < 0.25:
        other = r.choice(ALL)(r)
        body = f"{body}\r\n\r\n{other.body}".replace("\r\n", "\n").replace("\n", "\r\n")
        questions = [*questions, *other.questions]
    return Text(body, questions, r.choice(["Tïtle ✓", "tab\ttitle", None]))


def _grid(r: Random, edge: str) -> list[str]:
    rows = [f"| {place(r):14} | {r.randint(1700, 2020):6} |" for _ in range(r.randint(2, 40))]
    if edge == "=":
        border = f"{'=' * 14}  {'=' * 6}"
        rows = [row.strip("| ").replace(" | ", "  ") for row in rows]
        return [border, f"{'town':14}  built", border, *rows, border]
    if not edge:
        return rows
    border = f"+{'-' * 16}+{'-' * 8}+"
    return [border, f"| {'town':14} | {'built':6} |", border, *rows, border]


def corners(r: Random) -> Text:
    """Structure that is rare: open fences, tables and code in quotes, drawn tables, lettered lists."""
    tool, good, where = r.choice(_TOOLS), r.choice(_GOODS), place(r)
    numbers = [r.randint(0, 99) for _ in range(r.choice([30, 200, 600]))]
    table = ["> | town | built |", "> |---|---|"]
    table += [f"> | {place(r)} | {r.randint(1700, 2020)} |" for _ in range(r.randint(2, 40))]
    code = [
        f"{name} = {r.randint(1, 99)}  # {r.choice(_GOODS)}" for name in r.choices(_GOODS, k=r.randint(2, 40))
    ]
    shapes: list[list[str]] = [
        ["```python", *code],
        ["> ```", *(f"> {line}" for line in code), "> ```"],
        table,
        _grid(r, "+"),
        _grid(r, "="),
        _grid(r, ""),
        ["A. " + filler(r), "B. " + filler(r), "C. " + filler(r)],
        [f"A. {person(r).split()[1]} owns the {good}.", filler(r)],
        ["(i) " + filler(r), "(ii) " + filler(r), "(iii) " + filler(r)],
        [f"He went to {where} (the {good} was sold by then.) {filler(r)} See p. 7, Fig. 3 and no. 12."],
        [f'"Is it in {where}?" he asked. "No!" ![picture of {where}](a.png) She left. 1. {filler(r)}'],
        [f"{tool}: {json.dumps(numbers)}"],
        [json.dumps({"numbers": numbers, "nested": [[[[n]]] for n in numbers[:20]], "town": where})],
        [json.dumps([[place(r), n, None, True] for n in numbers[:60]], indent=1)],
        ["[" * 2000 + "]" * 1000],
        ["INFO all is well", f"ERROR no {good} in {where}", "    at the gate", "INFO stopped"],
        [
            "key:",
            f"  - {where}: {{a: 1,",
            "      b: 2}",
            "  text: >",
            *(f"    {filler(r)}" for _ in range(12)),
        ],
        ["<p>" + filler(r), "<p>" + filler(r), f"<ul><li>{where}<ul><li>{good}</ul></ul>", "<b>" + filler(r)],
        [f"x = {n}; y = {n + 1}; print(x, y)  # {good}" for n in numbers[:20]],
        [
            "Traceback (most recent call last):",
            f'  File "{tool}.py", line 3',
            f"KeyError: '{good}'",
            filler(r),
        ],
        [" ".join("#%&@!"[n % 5] * 3 for n in numbers)],
        ["x" * 1500, f"https://example.org/{'a/' * 300}{where}"],
        [
            f"ANNA: Where is the {good}?",
            f"BERT: It is in {where}.",
            "ANNA: Since when?",
            f"BERT: {filler(r)}",
        ],
        [
            f"{where}\n{'=' * len(where)}",
            filler(r),
            "",
            f"{good}\n{'-' * 8}",
            filler(r),
            "",
            "~~~",
            *code,
            "~~~",
        ],
    ]
    chosen = r.sample(shapes, r.choice([1, 1, 2, 3]))
    lines = [
        line for shape in chosen for line in [*shape, "", *([filler(r), ""] if r.random() < 0.5 else [])]
    ]
    questions = [f"Which {good} is in {where}?", f"What about the {tool}?", f"When was {where} built?"]
    return Text("\n".join(lines), questions, r.choice([where, None]))


LANGUAGES: dict[str, tuple[list[str], list[str]]] = {
    "de": (
        [
            "Die Mühle von {p} wurde im Jahr {y} gebaut.",
            "Sie gehört heute der Gemeinde, z. B. wegen der Straße.",
            "Der Müller, Dr. Krüger, verkaufte {n} Säcke Mehl.",
            "Im Winter bleibt das Tor bis 9 Uhr geschlossen.",
            "Niemand weiß, woher der Name kommt!",
            "Der Eintritt kostet {n} Kronen, für Kinder nichts.",
            "„Wir fangen noch einmal an“, sagte die Bürgermeisterin.",
            "Am 3. Mai fiel der Schornstein um.",
        ],
        ["Wann wurde die Mühle von {p} gebaut?", "Was kostet der Eintritt?", "Wem gehört die Mühle?"],
    ),
    "fr": (
        [
            "Le moulin de {p} fut construit en {y}.",
            "Il appartient aujourd'hui à la commune.",
            "L'entrée coûte {n} couronnes, sauf pour les enfants.",
            "Qu'est-ce que le meunier a vendu ? Personne ne le sait.",
            "« Nous recommençons », dit la mairesse.",
            "Près de {n} sacs de farine furent livrés en août.",
            "Le pont, très étroit, n'a jamais été élargi.",
        ],
        ["Quand le moulin de {p} a-t-il été construit ?", "Combien coûte l'entrée ?"],
    ),
    "es": (
        [
            "El molino de {p} se construyó en {y}.",
            "Hoy pertenece al municipio.",
            "La entrada cuesta {n} coronas; los niños no pagan.",
            "¿Quién diseñó la torre? Nadie lo recuerda.",
            "¡Empezamos de nuevo!, dijo la alcaldesa.",
            "El molinero vendió {n} sacos de harina en agosto.",
            "El puente es estrecho y antiguo.",
        ],
        ["¿Cuándo se construyó el molino de {p}?", "¿Cuánto cuesta la entrada?"],
    ),
    "tr": (
        [
            "{p} değirmeni {y} yılında yapıldı.",
            "Bugün belediyeye aittir.",
            "Giriş ücreti {n} krondur, çocuklar ücretsizdir.",
            "İsmin nereden geldiğini kimse bilmiyor.",
            "Değirmenci ağustosta {n} çuval un sattı.",
            "Kışın kapı saat 9'a kadar kapalıdır.",
            "Köprü çok dar ve eskidir.",
        ],
        ["{p} değirmeni ne zaman yapıldı?", "Giriş ücreti ne kadar?"],
    ),
    "ru": (
        [
            "Мельница в {p} была построена в {y} году.",
            "Сегодня она принадлежит городу.",
            "Вход стоит {n} крон, дети проходят бесплатно.",
            "Никто не знает, откуда взялось название.",
            "Мельник продал {n} мешков муки в августе.",
            "Зимой ворота закрыты до 9 часов.",
            "Мост узкий и старый.",
        ],
        ["Когда была построена мельница в {p}?", "Сколько стоит вход?"],
    ),
    "el": (
        [
            "Ο μύλος του {p} χτίστηκε το {y}.",
            "Σήμερα ανήκει στον δήμο.",
            "Η είσοδος κοστίζει {n} κορώνες.",
            "Κανείς δεν ξέρει από πού προέρχεται το όνομα;",
            "Ο μυλωνάς πούλησε {n} σακιά αλεύρι τον Αύγουστο.",
            "Η γέφυρα είναι στενή και παλιά.",
        ],
        ["Πότε χτίστηκε ο μύλος του {p};", "Πόσο κοστίζει η είσοδος;"],
    ),
    "zh": (
        [
            "{p}的磨坊建于{y}年。",
            "现在它属于市政府。",
            "门票是{n}克朗，儿童免费。",
            "没有人知道这个名字的来历。",
            "磨坊主在八月卖出了{n}袋面粉！",
            "冬天大门在九点以前关闭。",
            "这座桥又窄又旧。",
        ],
        ["{p}的磨坊是什么时候建的？", "门票多少钱？"],
    ),
    "ja": (
        [
            "{p}の水車は{y}年に建てられました。",
            "今は町が所有しています。",
            "入場料は{n}クローネで、子供は無料です。",
            "名前の由来は誰も知りません。",
            "粉屋は八月に小麦粉を{n}袋売りました。",
            "冬の間、門は九時まで閉まっています。",
            "「もう一度始めよう」と町長は言った。",
        ],
        ["{p}の水車はいつ建てられましたか？", "入場料はいくらですか？"],
    ),
    "th": (
        [
            "โรงสีของ {p} สร้างขึ้นในปี {y}",
            "ปัจจุบันเป็นของเทศบาล",
            "ค่าเข้าชม {n} โครน เด็กเข้าฟรี",
            "ไม่มีใครรู้ที่มาของชื่อ",
            "เจ้าของโรงสีขายแป้ง {n} กระสอบในเดือนสิงหาคม",
            "สะพานแคบและเก่ามาก",
        ],
        ["โรงสีของ {p} สร้างเมื่อไร", "ค่าเข้าชมเท่าไร"],
    ),
    "ar": (
        [
            "بنيت طاحونة {p} في عام {y}.",
            "وهي اليوم ملك للبلدية.",
            "ثمن الدخول {n} كرونة، والأطفال مجانا.",
            "لا أحد يعرف من أين جاء الاسم؟",
            "باع الطحان {n} كيسا من الدقيق في آب.",
            "الجسر ضيق وقديم.",
        ],
        ["متى بنيت طاحونة {p}؟", "كم ثمن الدخول؟"],
    ),
    "hi": (
        [
            "{p} की चक्की {y} में बनी थी।",
            "आज यह नगर की है।",
            "प्रवेश शुल्क {n} क्रोन है, बच्चों के लिए मुफ़्त।",
            "नाम कहाँ से आया, कोई नहीं जानता।",
            "चक्की वाले ने अगस्त में आटे की {n} बोरियाँ बेचीं।",
            "पुल संकरा और पुराना है।",
        ],
        ["{p} की चक्की कब बनी थी?", "प्रवेश शुल्क कितना है?"],
    ),
    "km": (
        [
            "ម៉ាស៊ីនកិនស្រូវនៅ {p} ត្រូវបានសាងសង់នៅឆ្នាំ {y}។",
            "សព្វថ្ងៃវាជារបស់ទីក្រុង។",
            "តម្លៃចូល {n} រៀល កុមារមិនបង់ប្រាក់ទេ។",
            "គ្មាននរណាដឹងថាឈ្មោះមកពីណាទេ។",
            "ស្ពាននេះតូចហើយចាស់។",
            "ទ្វារបិទរហូតដល់ម៉ោង ៩។",
        ],
        ["ម៉ាស៊ីនកិនស្រូវនៅ {p} សាងសង់នៅពេលណា?", "តម្លៃចូលប៉ុន្មាន?"],
    ),
}
"""Sentences and questions of each language."""

_PLACES = {
    "ru": ["Велеград", "Тополь", "Яровое"],
    "el": ["Λευκάδα", "Μυλοχώρι"],
    "zh": ["青石镇", "白河"],
    "ja": ["青森村", "石川"],
    "th": ["บ้านนา", "ท่าน้ำ"],
    "ar": ["الواحة", "النهر"],
    "hi": ["रामपुर", "नदीपुर"],
    "km": ["ភូមិថ្មី", "កំពង់"],
}


def foreign(r: Random, language: str) -> Text:
    sentences, questions = LANGUAGES[language]
    where = r.choice(_PLACES.get(language) or [place(r)])
    chosen = [sentences[0], *r.sample(sentences[1:], r.randint(2, len(sentences) - 1))]
    if r.random() < 0.5:
        chosen += r.sample(sentences[1:], 2)
    if r.random() < 0.3:
        r.shuffle(chosen)
    gap = "" if language in ("zh", "ja") and r.random() < 0.7 else r.choice([" ", " ", "\n", "\n\n"])
    year, number = r.randint(1700, 1999), r.randint(3, 99)
    body = gap.join(s.format(p=where, y=year, n=number + k) for k, s in enumerate(chosen))
    return Text(body, [q.format(p=where) for q in questions], where)


ALL: list[Callable[[Random], Text]] = [
    markdown,
    json_text,
    yaml,
    python,
    c_code,
    diff,
    log,
    html,
    commented,
    rows,
    records,
    grep,
    mail,
    corners,
]
"""Everything but prose."""
