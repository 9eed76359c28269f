"""`python -m training.export.fit_broken_words --run RUN`: find the weight of the characters when the
vocabulary breaks the words of a question.

Questions in other languages with Latin letters are broken into pieces that mean little to an English encoder.
The held-out questions are all English, so some of them are disguised: a share of their words gets other
letters, always the same ones, and longer words a random ending, like an inflection. Numbers and names stay.
Prints the labelled sentences kept, by the share of broken words in the question and by the weight of the
characters.
"""

from __future__ import annotations

import argparse
import random
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from tersely.runtime.artifacts import load_artifact
from tersely.score.grams import broken_share, gram_logits
from tersely.score.matching import Floats
from tersely.score.selector import Selector
from training.export.fit_fusion import Case, make_inputs, split_by_document
from training.run import show_progress
from training.selector_model.groups import SINGLE_HOP, Group, GroupDocument, read_groups
from training.selector_model.scores import RATES, summarise

SHARES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the words that are disguised."""
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
BOUNDS = (0.0, 0.25, 0.4, 0.55, 0.7, 1.01)
"""Shares of broken words between the rows of the table."""

LETTERS = str.maketrans("aeioubcdfghjklmnpqrstvwxyz", "iuaoedktvjyhgrnlbxmzsfpwcq")
"""Vowels stay vowels, so that the words can be spoken."""
ENDINGS = ("", "", "", "lar", "in", "da", "i", "un", "dan", "e")
SHORT = 3
"""Maximum number of characters of a word that gets no ending."""

_TOKEN = re.compile(r"[A-Za-z]+|[^A-Za-z]+")
_END = re.compile(r"[.!?]\s")


@dataclass(frozen=True, slots=True)
class Disguised:
    """A disguised question, and the logits of its sentences by the model and by the characters."""

    group: Group
    broken: float
    model: Floats
    characters: Floats

    def blend(self, weight: float) -> Floats:
        return (1.0 - weight) * self.model + weight * self.characters


def disguise_text(text: str, share: float, rng: random.Random) -> str:
    """Replace the letters of a share of the words in `text`; a word capitalised inside a sentence is a name,
    and stays."""
    out: list[str] = []
    opens = True
    for token in _TOKEN.findall(text):
        if not token.isalpha():
            out.append(token)
            opens = opens or bool(_END.search(token))
            continue
        out.append(token if token[0].isupper() and not opens else _disguise_word(token, share, rng))
        opens = False
    return "".join(out)


def _disguise_word(word: str, share: float, rng: random.Random) -> str:
    lower = word.lower()
    if zlib.crc32(lower.encode()) >= share * 2**32:
        return word
    other = lower.translate(LETTERS)
    if len(other) > SHORT:
        other += rng.choice(ENDINGS)
    return other.capitalize() if word[0].isupper() else other


def disguise(group: Group, share: float) -> Group:
    """Disguise the question and the sentences of a group; titles are names, and stay."""
    rng = random.Random(f"{group.name} {share}")
    documents: list[GroupDocument] = []
    for document in group.documents:
        text = ""
        units: list[tuple[int, int]] = []
        for start, end in document.units:
            begin = len(text)
            text += disguise_text(document.text[start:end], share, rng)
            units.append((begin, len(text)))
            text += " "
        documents.append(replace(document, text=text, units=units))
    return replace(group, question=disguise_text(group.question, share, rng), documents=documents)


def read(selector: Selector, group: Group) -> Disguised:
    documents = make_inputs(group)
    texts = [d.text[u.start : u.end] for d in documents for u in d.units]
    owner = np.repeat(np.arange(len(documents)), [len(d.units) for d in documents])
    titles = [d.title or "" for d in documents]
    return Disguised(
        group,
        broken_share(group.question, selector.layout.tokenizer),
        selector.read(group.question, documents).logits,
        gram_logits(group.question, titles, texts, owner, selector.threshold),
    )


def measure(readings: Sequence[Disguised], weight: float) -> float:
    """Return the labelled sentences kept in percent, averaged over the sets and rates."""
    scored = [split_by_document(Case.make(r.group), r.blend(weight)) for r in readings]
    table = summarise(scored)
    return float(np.mean([row[f"support@{rate}"] for row in table.values() for rate in RATES]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.export.fit_broken_words", description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of a prepared run")
    parser.add_argument("--artifact", type=Path, help="the model; the bundled one by default")
    parser.add_argument("--questions", type=int, default=240, help="most questions, each in every disguise")
    args = parser.parse_args()
    selector = Selector.load(load_artifact(args.artifact))
    groups = [g for g in read_groups(args.run, "heldout") if g.source in SINGLE_HOP]
    random.Random(0).shuffle(groups)
    disguised = [disguise(g, share) for share in SHARES for g in groups[: args.questions]]
    readings = [read(selector, g) for g in show_progress("questions", disguised, unit="q")]
    print("| broken words | questions | " + " | ".join(f"{w:g}" for w in WEIGHTS) + " |")
    for least, most in pairwise(BOUNDS):
        own = [r for r in readings if least <= r.broken < most]
        if own:
            cells = " | ".join(f"{measure(own, weight):.1f}" for weight in WEIGHTS)
            print(f"| {least:g} to {min(most, 1.0):g} | {len(own)} | {cells} |")


if __name__ == "__main__":
    main()
