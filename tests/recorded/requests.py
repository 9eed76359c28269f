"""Requests whose results must stay the same, bit for bit, while the code is rearranged.

python -m tests.recorded.requests --write    # record the digests of the present code's results
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from tersely import Compressor, Document
from tersely.chat import ScriptedChat
from tersely.memory import AgentMemory
from tersely.rerank import Relevance
from tersely.summarize import Summarizer
from tests.sdk import inputs

FILE = Path(__file__).with_name("digests.json")
PLACES = ["Tarn", "Port Ilmen", "Varde", "Ost Kelling", "Brae", "Linmouth", "Sorrel Bay", "Dunmaw"]
PEOPLE = ["Mira Osei", "Jon Halvard", "Ada Brenner", "Tomas Reyl", "Ines Calder", "Pavel Orlin"]
THINGS = ["lighthouse", "bridge", "museum", "mill", "library", "observatory", "ferry", "archive"]
FILLERS = [
    "The road to the harbour is closed in winter.",
    "It opened in 1904 and has never been rebuilt.",
    "Visitors pay no entry fee on Thursdays.",
    "He kept bees, and wrote about them at length.",
    "Nobody remembers who laid the first stone.",
    "Its roof was replaced in 1961, after a storm.",
    "She never returned to the coast.",
    "The committee met 12 times without a result.",
]


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every case's name, and how to get its result as JSON values."""
    for number in range(420):
        yield f"random-{number}", lambda number=number: _random(number)
    for number in range(120):
        yield f"two-hop-{number}", lambda number=number: _two_hop(number)
    for number in range(4):
        yield f"long-{number}", lambda number=number: _long(number)
    for number in range(40):
        yield f"messages-{number}", lambda number=number: _messages(number)
    for number in range(20):
        yield f"summary-{number}", lambda number=number: _summary(number)
    for number in range(10):
        yield f"relevance-{number}", lambda number=number: _relevance(number)
    for number in range(30):
        yield f"memory-{number}", lambda number=number: _memory(number)


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


@lru_cache
def compressor(counter: str = "estimate") -> Compressor:
    if counter == "words":
        return Compressor(token_counter=lambda text: len(text.split()))
    return Compressor()


def _result(compression: Any) -> dict[str, Any]:
    values = compression.to_dict()
    del values["timings"]
    return values


def _options(r: random.Random, *, recall: bool = True) -> dict[str, Any]:
    options: dict[str, Any] = {}
    limit = r.randrange(4)
    if limit == 0:
        options["budget"] = r.choice([1, 5, 10, 30, 100, 300, 1000])
    elif limit == 1:
        options["rate"] = r.choice([0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1.0])
    if recall and r.random() < 0.25:
        options["recall"] = r.choice([0.8, 0.9, 0.95, 0.99])
    if r.random() < 0.2:
        options["max_docs"] = r.randint(1, 4)
    if r.random() < 0.3:
        options["order"] = "rerank"
    if r.random() < 0.3:
        options["level"] = r.choice(["auto", "auto", 1, 2, 3, 5])
    return options


def _random(number: int) -> dict[str, Any]:
    r = random.Random(number)
    docs, query = inputs.documents(r), inputs.query(r)
    options = _options(r)
    return _result(compressor(r.choice(["estimate", "words"])).compress(query, docs, **options))


def _facts(r: random.Random, count: int) -> tuple[str, list[Document]]:
    things = [f"{place} {thing}" for place in PLACES for thing in THINGS]
    r.shuffle(things)
    makers = {thing: r.choice(PEOPLE) + f" {chr(65 + n % 26)}." for n, thing in enumerate(things)}
    homes = {maker: r.choice(PLACES) for maker in makers.values()}
    docs: list[Document] = []
    for thing in things[:count]:
        maker = makers[thing]
        lines = [f"The {thing} was designed by {maker}", *r.sample(FILLERS, 4)]
        r.shuffle(lines)
        docs.append(Document(" ".join(lines), r.choice([thing, None])))
        lines = [f"{maker} was born in {homes[maker]} in {r.randint(1800, 1990)}.", *r.sample(FILLERS, 3)]
        docs.append(Document(" ".join(lines), r.choice([maker, None])))
    r.shuffle(docs)
    wanted = r.choice(things[:count])
    question = r.choice(
        [
            f"Where was the designer of the {wanted} born?",
            f"In which year was the person who designed the {wanted} born?",
            f"Who designed the {wanted}?",
            "On which day is entry free?",
        ]
    )
    return question, docs


def _two_hop(number: int) -> dict[str, Any]:
    r = random.Random(10_000 + number)
    query, docs = _facts(r, r.randint(2, 10))
    return _result(compressor().compress(query, docs, **_options(r)))


def _long(number: int) -> dict[str, Any]:
    r = random.Random(20_000 + number)
    query, docs = _facts(r, 60)
    text = "\n\n".join(d.text for d in docs) * 2
    options = [{"rate": 0.05}, {}, {"recall": 0.95, "budget": 2000}, {"level": "auto", "budget": 900}]
    return _result(compressor().compress(query, [Document(text, "All"), *docs], **options[number]))


def _messages(number: int) -> dict[str, Any]:
    r = random.Random(30_000 + number)
    query, docs = _facts(r, 3)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": query},
    ]
    for index, doc in enumerate(docs):
        call = {"id": f"c{index}", "type": "function", "function": {"name": "open", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{index}", "content": doc.text})
    limit = r.choice([{}, {"budget": 380}, {"rate": 0.7}])
    found = compressor().compress_messages(messages, **limit)
    return {
        "messages": found.messages,
        "results": found.results,
        "receipt": _result(found.receipt),
        "tokens": [found.tokens_before, found.tokens_after],
    }


def _summary(number: int) -> Any:
    r = random.Random(40_000 + number)
    query, docs = _facts(r, 4)
    found = Summarizer(compressor=compressor()).summarize(query, docs, budget=r.choice([20, 60, 120]))
    support = [[(s.doc, s.start, s.end) for s in sentence.support] for sentence in found.sentences]
    return {"text": found.text, "support": support, "reason": found.reason}


@lru_cache
def _reranker() -> Relevance:
    return Relevance()


def _relevance(number: int) -> list[float]:
    query, docs = _facts(random.Random(50_000 + number), 5)
    return _reranker().rank(query, docs)


def _memory(number: int) -> list[Any]:
    """What a memory shows after every step, and what it leaves to train on."""
    r = random.Random(60_000 + number)
    query, docs = _facts(r, 8)
    memory = AgentMemory(
        [{"role": "system", "content": "You search."}, {"role": "user", "content": query}],
        limit=r.choice([600, 900]),
        compress_over=r.choice([None, 40]),
        replay=r.random() < 0.8,
        compressor=compressor(),
    )
    model = ScriptedChat(lambda messages: f"Notes on {len(messages)} messages: nothing certain yet.")
    shown: list[Any] = []
    for index, doc in enumerate(docs):
        if index == 5:
            memory.pin("order", "Start with the oldest.")
            memory.append({"role": "user", "content": "Mind the year 1861. " + r.choice(FILLERS)})
            shown.append(memory.prepare(model if number % 2 else None))
        call = {"id": f"c{index}", "type": "function", "function": {"name": "open", "arguments": '{"n": 1}'}}
        memory.append({"role": "assistant", "content": "I look.", "tool_calls": [call]})
        memory.append({"role": "tool", "tool_call_id": f"c{index}", "content": f"{doc.title}: {doc.text}"})
        shown.append(memory.prepare(model if number % 2 else None))
    trained = [[t.prompt, t.response, t.mask, t.steps] for t in memory.transcript.trajectory()]
    return [shown, trained, memory.transcript.tokens, memory.cache.stable_tokens, memory.transcript.resets]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    found = {name: digest(run()) for name, run in cases()}
    if arguments.write:
        FILE.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
    print(len(found), "cases")


if __name__ == "__main__":
    main()
