"""Random documents of many kinds, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tersely import Document

WORDS = {
    "latin": "the river harbour built in 1861 Dr. Anna's café naïve U.S. 3.14 no-one never Zürich e.g. light",
    "cyrillic": "город река построен в 1861 году никогда т.е. маяк д-р Анна свет зимой",
    "greek": "η πόλη χτίστηκε το 1861 ποτέ φως του λιμανιού δεν είναι",
    "arabic": "المدينة بُنيت في عام ١٨٦١ لم تكن المنارة على البحر أبدا",
    "hebrew": "העיר נבנתה בשנת 1861 המגדלור לא היה ליד הים",
    "devanagari": "शहर नदी के पास १८६१ में बना था कभी नहीं प्रकाश",
    "bengali": "শহর নদীর কাছে ১৮৬১ সালে তৈরি হয়নি কখনো আলো",
    "korean": "도시는 1861년에 강가에 세워졌다 등대는 없었다 빛",
    "georgian": "ქალაქი აშენდა 1861 წელს მდინარესთან შუქურა არასდროს",
}
UNSPACED = {
    "chinese": "城市在一八六一年建于河边灯塔从未熄灭他不是船长",
    "japanese": "灯台は千八百六十一年に建てられた町ではありません海の光カタカナ",
    "thai": "เมืองนี้สร้างขึ้นเมื่อปีพศประภาคารไม่เคยดับแสง",
    "khmer": "ទីក្រុងនេះត្រូវបានសាងសង់នៅឆ្នាំមិនដែល",
}
STOPS = {
    "arabic": ".؟",
    "devanagari": "।?",
    "bengali": "।?",
    "greek": ".;",
    "chinese": "。？！",
    "japanese": "。？！",
}
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣"]
# fmt: off
BREAKS = [
    "\n", "\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\n   \n", "\u2028", "\u2029", "\x0b", "\x85", "\t", " ",
    "\n\n\n\n",
]
JUNK = [
    "\x00", "\ud800", "\udfff", "\udc80\ud83d", "\ufeff", "\u200b", "\u00ad", "\x1b[0m", "\u202e", "\xa0",
    "\ufffe", "a\u0301\u0302",
]
# fmt: on

Random = random.Random


def prose(r: Random, sentences: int) -> str:
    script = r.choice([*WORDS, *UNSPACED])
    stops = STOPS.get(script, ".?!")
    parts: list[str] = []
    for _ in range(sentences):
        length = r.choice([1, 3, 8, 15, 30])
        if script in UNSPACED:
            parts.append("".join(r.choices(UNSPACED[script], k=length * 2)) + r.choice(stops))
        else:
            words = r.choices(WORDS[script].split(), k=length)
            parts.append(
                " ".join(words).capitalize() + r.choice(stops) + r.choice([" ", " ", " ", "\n", "  "])
            )
    return "".join(parts)


def code(r: Random, lines: int) -> str:
    body = "\n".join(
        "    " * r.randint(0, 3) + f"x{n} = call({r.randint(0, 99)})  # {r.choice(EMOJI)}"
        for n in range(lines)
    )
    return r.choice([f"```python\n{body}\n```", f"    def f():\n{body}", f"~~~\n{body}", body])


def table(r: Random, rows: int) -> str:
    cells = [[r.choice(["1861", "", "no", "a|b", "灯塔", "x" * 30]) for _ in range(3)] for _ in range(rows)]
    if r.random() < 0.5:
        return "| a | b | c |\n|---|:-:|---|\n" + "\n".join("| " + " | ".join(row) + " |" for row in cells)
    return "+---+---+\n" + "\n".join("|" + "|".join(row) + "|" for row in cells) + "\n+---+---+"


def data(r: Random, size: int) -> str:
    values = [{"id": n, "name": r.choice(["light", "море", "\ud800"]), "ok": None} for n in range(size)]
    if r.random() < 0.5:
        return "\n".join(json.dumps(value) for value in values)
    return json.dumps(values, indent=r.choice([None, 2]))


def listing(r: Random, size: int) -> str:
    mark = r.choice(["- ", "* ", "1. ", "(a) ", "• "])
    return "\n".join("  " * r.randint(0, 2) + mark + prose(r, 1).strip() for _ in range(size))


def log(r: Random, size: int) -> str:
    return "\n".join(
        f"2024-05-0{r.randint(1, 9)} 12:00:{n % 60:02d},123 ERROR worker: lost {n}" for n in range(size)
    )


def junk(r: Random, size: int) -> str:
    pool = [*JUNK, *EMOJI, *BREAKS, "a", "Z", "9", ".", "`", "|", "{", '"', "#", ">", "*"]
    return "".join(r.choice(pool) if r.random() < 0.7 else chr(r.randrange(0x110000)) for _ in range(size))


def stream(r: Random, size: int) -> str:
    """Return words, or one endless word, without punctuation."""
    return r.choice(["na", "so we went ", "字", "0123456789abcdef", "😀"]) * (size * 40)


BLOCKS: list[Callable[[Random, int], str]] = [prose] * 3 + [code, table, data, listing, log, junk, stream]


def text(r: Random) -> str:
    roll = r.random()
    if roll < 0.06:
        return r.choice(["", " ", "\n\n", "\r\n", "\x00", "\u200b"])
    if roll < 0.14:
        return r.choice(["word", "灯", "No.", "1861", r.choice(EMOJI), r.choice(JUNK)])
    parts: list[str] = []
    for _ in range(r.randint(1, 5)):
        parts += [r.choice(BLOCKS)(r, r.randint(1, 8)), r.choice(BREAKS)]
    return "".join(parts)


def documents(r: Random) -> list[Document]:
    return [
        Document(text(r), r.choice([None, None, "Title", "", "  ", "標題\n", junk(r, 3)]))
        for _ in range(r.randint(0, 6))
    ]


def query(r: Random) -> str:
    words = r.choice(list(WORDS.values())).split()
    few, one = " ".join(r.sample(words, 4)), r.choice(words)
    return r.choice([few, one + "?", "灯塔 1861", "\x00\ud800 light " + r.choice(EMOJI)])
