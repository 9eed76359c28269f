"""Groups of a selector's run: a question, its documents, and a label for each sentence.

The labels mark the sentences that support the answer. Training measures which share of these sentences a
model keeps. A label is -1 (unknown) if the document is needed but its sentences are not labelled. Phase I
learns these labels, or string matches of the answer (`Labels`). A group is kept whole in a batch, so that
sentences of different documents compete. Rows and hard negatives are read as in the benchmarks, but never
from the benchmarks' split. A run keeps its groups in its folder, where later runs read them.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from benchmarks.shared.tasks.negatives import Neighbours, Passage, PassagePool
from tersely.metrics import WITHOUT_ANSWER_STRING, Range, contains_string, normalize_answer
from tersely.split.sentences import split_units
from training.run import Clock, Pace, show_progress, write_text
from training.selector_model.chains import Chain, Chainer
from training.selector_model.config import DataConfig, Labels
from training.selector_model.questions import LabelledDocument, Question, read_questions, split_by_article
from training.selector_model.sections import is_long, sample_sections
from training.selector_model.tool_results import TOOL_RESULTS, choose_near, open_result

Part = Literal["train", "heldout"]
"""Groups for training, and those for validation, the fusion layer and calibration."""

GROUPS: dict[Part, str] = {"train": "train.jsonl", "heldout": "heldout.jsonl"}
SETTINGS = "settings.json"
"""Files of prepared data in a run's folder."""

CHAINS = {"chains2": 2, "chains3": 3}
"""Sets that this module makes, with the number of hops of their questions."""

SINGLE_HOP = ("qed_nq", "squad_train44", "squadshifts_wiki", "selqa")
"""Sets whose questions are chained."""

MULTI_HOP = frozenset({"hotpotqa", "twowiki", *CHAINS})
"""Sets whose questions need sentences of several documents."""

HELDOUT_DOCUMENTS = 20
"""Number of documents of a held-out chained question, as in hard multi-hop benchmarks."""


@dataclass(slots=True)
class GroupDocument:
    title: str | None
    text: str
    units: list[Range]
    labels: list[int]
    """1 or 0 for each unit; -1 if unknown."""
    gold: int
    """1 if the document is needed, else 0."""
    hop: int = 0
    """Number of the hop that the document answers in a chained question, from 1; 0 for other documents."""


@dataclass(slots=True)
class Group:
    id: str
    source: str
    question: str
    answers: list[str]
    documents: list[GroupDocument]

    @property
    def name(self) -> str:
        """Name of the question, the same in all runs."""
        return name_question(self.source, self.id)


class _OutOfTimeError(Exception):
    """The embeddings of a set take more than half of its time."""


def prepare_groups(
    data: Path, run_folder: Path, config: DataConfig, seed: int, clock: Clock | None = None
) -> None:
    """Make the groups of a run from the data folder `data`, and write them. Deterministic in `seed`.

    If the time of `clock` is short, each set gets fewer questions, and negatives by BM25 alone if embedding
    takes more than half of the set's time.
    """
    rng = random.Random(seed)
    pace = Pace(clock or Clock(), sum(config.questions.values()) + sum(config.heldout.values()))
    parts: dict[Part, list[Group]] = {"heldout": [], "train": []}
    # Questions from which to make chains.
    links: dict[Part, list[Question]] = {"heldout": [], "train": []}
    splits = {
        name: _split_set(data, name, config, rng) for name in sorted(set(config.questions) - set(CHAINS))
    }
    held_articles = {article for held, _ in splits.values() for q in held for article in q.articles}
    for name, (held, others) in splits.items():
        pools = {
            "heldout": [*held, *others],
            "train": [q for q in others if not held_articles & {*q.articles}],
        }
        rest = pools["train"]
        if name in SINGLE_HOP:
            links["heldout"] += [q for q in held if q.is_labelled]
            links["train"] += [q for q in rest if q.is_labelled]
        held = [q for q in held if q.is_labelled][: config.heldout.get(name, 0)]
        for part, chosen, negatives in (
            ("heldout", held, config.heldout_negatives),
            ("train", rest[: config.questions[name]], config.negatives),
        ):
            documents = _choose_documents(name, chosen, pools[part], negatives, config, rng, pace)
            progress = show_progress(f"{name}, {part}", pace.take(chosen), total=len(chosen), unit="q")
            made = [_make_group(name, q, d, rng) for q, d in zip(progress, documents, strict=False)]
            if name == TOOL_RESULTS and part == "train":
                made = [_shorten_result(group, rng) for group in made]
            parts[part] += made
    chainers = {part: Chainer(questions, seed) for part, questions in links.items()}
    for name in sorted(set(config.questions) & set(CHAINS)):
        for part, count in (("heldout", config.heldout.get(name, 0)), ("train", config.questions[name])):
            chains = list(islice(chainers[part].chains(CHAINS[name]), count))
            room = HELDOUT_DOCUMENTS - CHAINS[name]
            negatives = room // CHAINS[name] if part == "heldout" else config.negatives
            progress = show_progress(f"{name}, {part}", pace.take(chains), total=len(chains), unit="q")
            groups = _make_chained(name, chains, links[part], negatives, config, rng, pace)
            parts[part] += [group for _, group in zip(progress, groups, strict=False)]
    for part, groups in parts.items():
        write_groups(run_folder, part, groups)
    write_text(_locate(run_folder, SETTINGS), json.dumps(asdict(config), indent=2))


def _split_set(
    data: Path, name: str, config: DataConfig, rng: random.Random
) -> tuple[list[Question], list[Question]]:
    """Return the usable questions of a set in random order: those to hold out, and the others."""
    questions = [q for q in read_questions(data, name, config.labels) if q.is_usable]
    if is_long(questions):
        questions = [q for q in questions if q.is_labelled]
    rng.shuffle(questions)
    return split_by_article(questions, config.heldout.get(name, 0), config.heldout_articles)


def read_prepared_settings(run_folder: Path) -> DataConfig | None:
    """Read the settings with which the groups of a run were made, or return None if the file is missing.

    They can differ from the configuration: a short run is prepared with fewer questions, and its `repeats`
    are changed to match.
    """
    file = _locate(run_folder, SETTINGS)
    return DataConfig(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None


def write_groups(run_folder: Path, part: Part, groups: Sequence[Group]) -> None:
    """Write the groups of a part to a run's folder."""
    path = _locate(run_folder, GROUPS[part])
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(asdict(g), ensure_ascii=False) + "\n" for g in groups)
    write_text(path, "".join(lines))


def read_groups(run_folder: Path, part: Part) -> list[Group]:
    """Read the groups of a part from a run's folder."""
    with open(_locate(run_folder, GROUPS[part]), encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return [Group(**{**r, "documents": [GroupDocument(**d) for d in r["documents"]]}) for r in rows]


def has_groups(run_folder: Path) -> bool:
    """Return whether the run has both parts."""
    return all(_locate(run_folder, name).exists() for name in GROUPS.values())


def _locate(run_folder: Path, name: str) -> Path:
    return run_folder / "prepared" / name


def name_question(source: str, number: str) -> str:
    return f"{source} {number}"


def belongs_to_readers(source: str, number: str) -> bool:
    """Return whether a question may train readers. Half of the questions of the multi-hop sets may. The
    others are for policies: a reader that has memorised a question rewards any text that is kept for it."""
    labelled = source in MULTI_HOP and source not in CHAINS
    return labelled and hashlib.sha256(number.encode()).digest()[0] % 2 == 0


def list_labels(group: Group, labels: Labels) -> list[list[int]]:
    """Return the label of each sentence of each document of a group; -1 (unknown) only if `labels` is
    "support"."""
    if labels == "support":
        return [list(d.labels) for d in group.documents]
    return [[int(contains_string(d.text[a:b], group.answers)) for a, b in d.units] for d in group.documents]


def has_answer_string(group: Group) -> bool:
    """Return whether an answer is not just "yes", "no" or "noanswer", which sentences do not contain (EFFCOMP
    appendix B.3)."""
    return any(normalize_answer(answer) not in WITHOUT_ANSWER_STRING for answer in group.answers)


def label_document(
    document: LabelledDocument, hop: int = 0, units: list[Range] | None = None
) -> GroupDocument:
    """Label the units of a document, by default its sentences. A unit is positive if its overlap with a
    support span is at least half as long as the shorter of the two."""
    if units is None:
        units = [(u.start, u.end) for u in split_units(document.text)]
    if document.gold and not document.support:
        labels = [-1] * len(units)
    else:
        labels = [int(any(_share_half(u, s) for s in document.support)) for u in units]
    gold = int(bool(document.support) or document.gold)
    return GroupDocument(document.title, document.text, units, labels, gold, hop)


def _choose_documents(
    name: str,
    questions: Sequence[Question],
    pool_questions: Sequence[Question],
    negatives: int,
    config: DataConfig,
    rng: random.Random,
    pace: Pace,
) -> Iterator[Sequence[LabelledDocument]]:
    """Yield the documents of each question: its own, sections of a long one, or its own and hard negatives.

    A question's own documents may contain an answer without being labelled. The hard negatives, which come
    from other questions, never contain one."""
    if name == TOOL_RESULTS or (name in MULTI_HOP and config.documents is None):
        yield from (q.documents for q in questions)
    elif is_long(pool_questions):
        yield from (sample_sections(q.documents[0], rng) for q in questions)
    elif config.documents is None and any(len(q.documents) > 1 for q in questions[:5]):
        yield from (_sample_own(q, negatives, rng) for q in questions)
    else:
        pool = _make_pool(name, pool_questions, [q.text for q in questions], config, pace)
        for number, question in enumerate(questions):
            needed = [d for d in question.documents if d.support or d.gold or name in MULTI_HOP]
            others = [d for d in question.documents if d not in needed]
            own = [*needed, *others[: max(0, (config.documents or 0) - len(needed))]]
            count = negatives if config.documents is None else max(0, config.documents - len(own))
            texts = {d.text for d in question.documents}
            yield [*own, *_take(pool, pool.negatives(number, question.answers, texts, count))]


def _make_chained(
    name: str,
    chains: Sequence[Chain],
    questions: Sequence[Question],
    negatives: int,
    config: DataConfig,
    rng: random.Random,
    pace: Pace,
) -> Iterator[Group]:
    """Yield each chain with the passages of its hops and `negatives` neighbours of each hop's question."""
    numbers = {q.id: i for i, q in enumerate({q.id: q for chain in chains for q in chain.hops}.values())}
    asked = {q.id: q for chain in chains for q in chain.hops}
    pool = _make_pool(name, questions, [q.text for q in asked.values()], config, pace)
    for number, chain in enumerate(chains):
        own = {q.passage.text for q in chain.hops}
        chosen: list[LabelledDocument] = []
        for question in chain.hops:
            texts = own | {d.text for d in chosen}
            nearest = pool.negatives(
                numbers[question.id], [*question.answers, *chain.answers], texts, negatives
            )
            chosen += _take(pool, nearest)
        documents = [label_document(q.passage, hop + 1) for hop, q in enumerate(chain.hops)]
        documents += [d for d in map(label_document, chosen) if d.units]
        rng.shuffle(documents)
        yield Group(f"{name}-{number}", name, chain.text, list(chain.answers), documents)


def _make_pool(
    name: str, questions: Iterable[Question], asked: Sequence[str], config: DataConfig, pace: Pace
) -> PassagePool:
    neighbours: Neighbours = "bm25" if name in config.lexical else config.neighbours
    passages = list({d.text: Passage(d.title, d.text) for q in questions for d in q.documents}.values())
    texts = len(passages) + len(asked)
    embeds = neighbours == "mixed"

    def advance(count: int) -> None:
        progress.update(count)
        if pace.is_half_over():
            raise _OutOfTimeError

    try:
        with show_progress(f"{name}, embeddings", total=texts, unit="text", visible=embeds) as progress:
            return PassagePool(passages, asked, neighbours, advance)
    except _OutOfTimeError:
        return PassagePool(passages, asked, "bm25")


def _take(pool: PassagePool, indices: Sequence[int]) -> list[LabelledDocument]:
    return [LabelledDocument(pool.passages[i].title, pool.passages[i].text, ()) for i in indices]


def _sample_own(question: Question, negatives: int, rng: random.Random) -> list[LabelledDocument]:
    """Return the needed documents of a question, and some of its others."""
    gold = [d for d in question.documents if d.support or d.gold]
    others = [d for d in question.documents if not (d.support or d.gold)]
    return gold + rng.sample(others, min(2 * negatives, len(others)))


def _make_group(
    name: str, question: Question, documents: Sequence[LabelledDocument], rng: random.Random
) -> Group:
    opened = name == TOOL_RESULTS
    labelled = [label_document(d, 0, open_result(d.text) if opened else None) for d in documents]
    labelled = [d for d in labelled if d.units]
    rng.shuffle(labelled)
    return Group(question.id, name, question.text, list(question.answers), labelled)


def _shorten_result(group: Group, rng: random.Random) -> Group:
    """Return a group with the part of its result that a training step reads."""
    (document,) = group.documents
    near = choose_near(document.units, document.labels, rng)
    units, labels = ([values[i] for i in near] for values in (document.units, document.labels))
    return replace(group, documents=[replace(document, units=units, labels=labels)])


def _share_half(unit: Range, span: Range) -> bool:
    overlap = min(unit[1], span[1]) - max(unit[0], span[0])
    return overlap > 0 and 2 * overlap >= min(unit[1] - unit[0], span[1] - span[0])
