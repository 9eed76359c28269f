"""`python -m benchmarks.peers.published --data DATA`: two peers' published tables, with tersely beside them.

The peers are not run: their numbers are those of their makers. tersely, and BM25 in tersely's packer, keep
the peer's share of the tokens of questions that are built as the peer's program builds them.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.command import Measured, Options, make_parser, run, track
from benchmarks.quality.controls import OURS, WORDS, BM25Scorer, CachedScorer, HeadScorer, load_selector
from benchmarks.quality.runner import list_spans
from benchmarks.rows import Line, Lines, group_lines
from benchmarks.shared.statistics import bootstrap_mean, estimate_share
from benchmarks.shared.tasks import load
from benchmarks.shared.tasks.rows import Row as Question
from benchmarks.shared.tasks.rows import find_data_folder, read_rows
from benchmarks.table import Column, Row, Table
from tersely import Compression, Compressor, Document
from tersely.metrics import Range, contains_answer, span_recall
from tersely.score.bm25 import BM25

SEARCHED, RETRIEVED = 200, 20
"""Passages among which laya-compactor's program searches for a question of SQuAD, and how many it takes."""
DISTRACTORS = 15
"""Random passages that Entroly's program adds to the right one."""
PUBLISHED: Mapping[str, Mapping[float, tuple[int, int]]] = {
    "laya-compactor: gold documents of HotpotQA": {0.68: (189, 200)},
    "laya-compactor: gold documents of SQuAD": {0.303: (131, 200)},
    "Entroly: answers of SQuAD in a JSON result": {0.393: (57, 60), 0.192: (56, 60), 0.104: (53, 60)},
}
"""The published result of each setting at each share of the tokens: answers kept, and questions asked."""
ALL = "all documents"
COLUMNS = (
    Column("setting"),
    Column("asked for", "%"),
    Column("system"),
    Column("kept", "%", interval="bootstrap"),
    Column("tokens kept", "%"),
)
Case = tuple[str, str, list[Document], Callable[[Compression], float]]
"""Id, question, documents, and the function that scores their compression."""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    parser = make_parser("benchmarks.peers.published", __doc__, "data", "threads", limit=100)
    return run(parser, arguments, Options(), measure)


def measure(options: Options) -> Measured:
    """Measure every setting."""
    selector, model = load_selector(None, options.threads)
    squad = read_rows(find_data_folder(options.data), "eval", "squad_dev")
    shuffled = list(squad)
    random.Random(options.seed).shuffle(shuffled)
    makers = (
        make_paragraphs(options),
        make_retrieved(squad, options.limit),
        make_results(shuffled, options.limit),
    )
    lines: list[Line] = []
    for (setting, published), cases in zip(PUBLISHED.items(), makers, strict=True):
        systems = {
            OURS: Compressor(CachedScorer(selector)),
            WORDS: Compressor(BM25Scorer()),
            ALL: Compressor(HeadScorer()),
        }
        for case, question, documents, score in track(list(cases), setting):
            for rate in published:
                for name, compressor in systems.items():
                    result = compressor.compress(question, documents, rate=1.0 if name == ALL else rate)
                    place = {"setting": setting, "rate": rate, "system": name, "id": case}
                    tokens = {"before": result.tokens_before, "after": result.tokens_after}
                    lines.append({**place, "kept": score(result), **tokens, "spans": list_spans(result)})
    return Measured(make_tables(lines, options.seed), model, {"questions": options.limit}, lines)


def make_tables(lines: Lines, seed: int) -> list[Table]:
    """Return the table, from the lines of all questions and the published numbers."""
    groups = {key: group_lines(own, "system") for key, own in group_lines(lines, "setting", "rate").items()}
    rows: list[Row] = []
    for setting, published in PUBLISHED.items():
        for rate, counts in published.items():
            place = {"setting": setting, "asked for": rate}
            rows.append(
                {**place, "system": "published", "kept": estimate_share(*counts).round(), "tokens kept": rate}
            )
            for name, own in groups[setting, rate].items():
                mean = bootstrap_mean([line["kept"] for line in own], seed).round()
                share = sum(line["after"] / line["before"] for line in own) / len(own)
                rows.append({**place, "system": name, "kept": mean, "tokens kept": round(share, 4)})
    return [Table("Kept", COLUMNS, tuple(rows), across="system")]


def make_paragraphs(options: Options) -> Iterator[Case]:
    """Yield questions with ten paragraphs. A gold one counts if all its supporting sentences are kept."""
    for example in load("hotpotqa", "eval", data=options.data, seed=options.seed, limit=options.limit):
        wanted: dict[int, list[Range]] = {}
        for doc, start, end in example.support or ():
            wanted.setdefault(doc, []).append((start, end))

        def score(result: Compression, wanted: Mapping[int, list[Range]] = wanted) -> float:
            kept = {doc: [(s, e) for d, s, e in list_spans(result) if d == doc] for doc in wanted}
            return sum(span_recall(own, kept[doc]) == 1 for doc, own in wanted.items()) / len(wanted)

        yield example.id, example.question, example.to_documents(), score


def make_retrieved(squad: Sequence[Question], limit: int) -> Iterator[Case]:
    """Yield some of the first questions, with the best of all their passages, by BM25. A passage is there as
    often as it has questions. The gold passage counts if its answer is kept, and is lost if not retrieved."""
    texts = [row["docs"][0]["text"] for row in squad[:SEARCHED]]
    step = max(1, len(texts) // limit)
    ranking = BM25(texts, k1=1.5, split=lambda text: text.lower().split())
    for row, gold in zip(squad[: len(texts) : step], texts[::step], strict=True):
        scores = ranking.scores(row["question"])
        chosen = [texts[at] for at in sorted(range(len(texts)), key=lambda at: -scores[at])[:RETRIEVED]]

        def score(
            result: Compression,
            gold: str = gold,
            chosen: list[str] = chosen,
            answers: list[str] = row["answers"],
        ) -> float:
            kept = [chosen[doc][start:end] for doc, start, end in list_spans(result) if chosen[doc] == gold]
            return float(any(contains_answer(text, answers) for text in kept))

        yield row["id"], row["question"], [Document(text) for text in chosen], score


def make_results(squad: Sequence[Question], limit: int) -> Iterator[Case]:
    """Yield questions with the JSON of a search: the right passage among random ones without the answer."""
    by_text = {row["docs"][0]["text"]: row for row in squad}
    for gold, row in list(by_text.items())[:limit]:
        answers = [" ".join(answer.casefold().split()) for answer in row["answers"]]
        draw = random.Random(row["id"])
        others = [text for text in by_text if not any(answer in text.casefold() for answer in answers)]
        passages = draw.sample(others, DISTRACTORS)
        passages.insert(draw.randrange(DISTRACTORS + 1), gold)
        documents = [
            {"document_id": by_text[text]["id"], "rank": n + 1, "retrieval_score": 1 - n / 100, "text": text}
            for n, text in enumerate(passages)
        ]
        found = {"query_result": {"documents": documents, "returned": len(passages)}}

        def score(result: Compression, answers: list[str] = answers) -> float:
            text = " ".join(result.text.casefold().split())
            return float(any(answer in text for answer in answers))

        yield row["id"], row["question"], [Document(json.dumps(found, ensure_ascii=False, indent=2))], score


if __name__ == "__main__":
    sys.exit(main())
