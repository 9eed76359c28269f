"""Documents of a given number of words, made from sentences that were written for them."""

from __future__ import annotations

import random

QUERY = "Which valley supplies the copper for the bells of the northern observatory?"

_PLACES = (
    "the northern observatory",
    "the old customs house",
    "the Velden valley",
    "the lower harbour",
    "the school of navigation",
    "the mill at Orrin",
    "the eastern reservoir",
    "the botanical institute",
    "the railway museum",
    "the council of Marrow",
    "the glassworks",
    "the Tannen archive",
)
_PEOPLE = (
    "Ilse Marrant",
    "Tobias Quell",
    "Ngozi Farrow",
    "Piotr Halvard",
    "Rosa Dunmore",
    "Kenji Alder",
    "Amina Brandt",
    "Lucian Petrov",
    "Marit Osei",
    "Dario Lindqvist",
)
_GOODS = (
    "copper",
    "lamp oil",
    "winter barley",
    "printed charts",
    "cedar planks",
    "blown glass",
    "surveying chains",
    "bronze fittings",
    "wool",
    "river clay",
    "pressed paper",
    "iron rails",
)
_SENTENCES = (
    "{person} was appointed to run {place} in {year}, shortly after the spring floods.",
    "Between {year} and {later}, {place} bought {number} tons of {goods} from {other}.",
    "The ledger of {year} lists {number} crates of {goods}, most of them marked for {place}.",
    "According to {person}, nobody at {place} expected the price of {goods} to double in {number} days.",
    "{goods_up} arrived by barge and was carried up the hill to {place} by hand.",
    "A report on {place} counted {number} workers, {smaller} apprentices and one clerk.",
    "When {place} burned down, {person} had the walls rebuilt with stone from {other}.",
    "The bells cast for {place} contain {goods}, which {other} supplied until {later}.",
    "Visitors to {place} are shown the desk at which {person} drafted the treaty of {year}.",
    "It took {number} days to ship {goods} from {other} to {place} in a dry summer.",
    "{person} and {second} disagreed about the tax on {goods} for the rest of their lives.",
    "Today {place} is a protected monument, and its cellar holds the records of {other}.",
    "Only {smaller} of the {number} letters that {person} sent from {place} have survived.",
    "The road from {other} was paved in {year} so that {goods} could be moved in winter.",
    "In {later} the director asked {person} to compare {goods} from {other} with the local kind.",
    "Most of the income of {place} came from {goods}; the remainder came from fees.",
)


def write_documents(count: int, words: int, seed: int = 13) -> list[str]:
    """Return `count` texts of exactly `words` words each; the last sentence may be cut short."""
    draw = random.Random(seed)
    return [_write_document(draw, words) for _ in range(count)]


def _write_document(draw: random.Random, length: int) -> str:
    words: list[str] = []
    while len(words) < length:
        words += _write_sentence(draw).split()
    return " ".join(words[:length]).rstrip(".,") + "."


def _write_sentence(draw: random.Random) -> str:
    place, other = draw.sample(_PLACES, 2)
    person, second = draw.sample(_PEOPLE, 2)
    goods = draw.choice(_GOODS)
    year = draw.randrange(1790, 1890)
    number = draw.randrange(20, 900)
    sentence = draw.choice(_SENTENCES).format(
        place=place,
        other=other,
        person=person,
        second=second,
        goods=goods,
        goods_up=goods.capitalize(),
        year=year,
        later=year + draw.randrange(3, 40),
        number=number,
        smaller=number // 7 + 2,
    )
    return sentence[0].upper() + sentence[1:]
