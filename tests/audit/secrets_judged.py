"""Lines that redaction changes and that do hold a credential, as somebody has seen who has read them.

They are kept as the start of the SHA-256 of the line without the blanks around it, so that no text of others
is here. Such a line is a find, though in a document it may be an example or public: the token of a badge, a
password of a tutorial, a JSON web token of a README.
"""

from __future__ import annotations

import hashlib

JUDGED = frozenset(
    {
        "0411389c33bf",
        "0b9f882a4fa1",
        "0f48a5b5f3be",
        "11c1b32827ed",
        "20e50c4291a4",
        "2218955be60c",
        "22969b83491c",
        "23c6dbfa3879",
        "24880ce6718e",
        "6b69ed1cc047",
        "6ba3e9f169f1",
        "7788d9767065",
        "789c82be7b55",
        "7c81b7cb4b8a",
        "951ee19b830b",
        "a0d0b608e4b9",
        "a309b846c36c",
        "bf145d9380bb",
        "c1b9d342c9a7",
        "dfd1bd678113",
        "ecbbb037c9f8",
        "ed73d82245b8",
        "f45e665be687",
    }
)


def holds_a_credential(line: str) -> bool:
    """Return whether somebody has read the line and found a credential in it."""
    return fingerprint(line) in JUDGED


def fingerprint(line: str) -> str:
    """Return the line in `JUDGED`."""
    return hashlib.sha256(line.strip().encode("utf-8", "surrogatepass")).hexdigest()[:12]
