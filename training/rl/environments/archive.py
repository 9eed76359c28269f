"""A made-up archive: short records of who holds which office in which town. It cannot be known without a
search, and names and towns are similar."""

from __future__ import annotations

import random

from tersely.types import Document
from training.rl.environments.search import Question

_STARTS = ("Brel", "Kor", "Ash", "Fen", "Tol", "Mar", "Wex", "Hal", "Dun", "Oster", "Pell", "Rav")
_ENDS = ("mond", "dale", "wick", "ford", "holm", "stead", "by", "mere")
_OFFICES = (
    *("harbour master", "baker", "ferryman", "clock maker", "gardener", "night guard", "organist"),
    *("postmaster", "miller", "bell ringer", "librarian", "surveyor"),
)
_FIRST = (
    *("Ada", "Bruno", "Clara", "David", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Karla"),
    *("Louis", "Marta", "Nils", "Olga", "Peter", "Rosa", "Simon", "Tilda", "Victor"),
)
_LAST = (
    *("Kerr", "Lind", "Marsh", "Noble", "Oakes", "Price", "Quill", "Reed", "Stone", "Thorn", "Vale"),
    *("Ward", "York", "Bell", "Cole", "Drake", "Frost", "Grant", "Hale", "Irving"),
)


def make_archive(records: int, seed: int) -> tuple[list[Question], dict[str, Document]]:
    """Make `records` records (1152 at most), and a question for each of them.

    A record is one sentence: "The baker of Kordale is Rosa Quill."
    """
    draw = random.Random(f"archive {seed}")
    places = [(start + end, office) for start in _STARTS for end in _ENDS for office in _OFFICES]
    questions: list[Question] = []
    documents: dict[str, Document] = {}
    for number, (town, office) in enumerate(draw.sample(places, records)):
        name = f"{draw.choice(_FIRST)} {draw.choice(_LAST)}"
        docid = f"record-{number}"
        documents[docid] = Document(f"The {office} of {town} is {name}.", town, docid)
        questions.append(Question(f"q{number}", f"Who is the {office} of {town}?", (name,), (docid,)))
    return questions, documents
