"""Syntax trees of languages with braces, by the grammars of tree-sitter, if the extra `code` is installed."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_LONGEST = 1_000_000
"""Largest number of code points of a source that is parsed."""
_CHUNK = 65_536
_STEPS, _BYTES_A_STEP = 100, 32
"""The parser may call back 100 times, and once more for every 32 bytes. A source needs at most one call for
80 bytes."""
_LINE = re.compile(
    r"^[ \t]*(?:import|export|const|let|var|function|class|interface|type|use|fn|pub|package|using|//|/?\*"
    r"|#|@)|[{}(),;:>][ \t\r]*$"
)
"""A line that may be code."""


class Grammar(NamedTuple):
    """A grammar, and a pattern that a source must match before the grammar is tried."""

    module: str
    function: str
    sign: re.Pattern[str]


def _grammar(module: str, sign: str, function: str = "language") -> Grammar:
    return Grammar(f"tree_sitter_{module}", function, re.compile(sign, re.MULTILINE))


_SCRIPT = (
    r"^[ \t]*(?:import|export|const|let|var|async|function|class|interface|type|declare|enum"
    r"|module\.exports)\b"
)
GRAMMARS = (
    _grammar("go", r"^package \w+[ \t\r]*$"),
    _grammar("php", r"\A\s*<\?php", "language_php"),
    _grammar("c_sharp", r"^[ \t]*(?:using [\w.]+;|namespace )"),
    _grammar("java", r"^[ \t]*(?:package|import) (?:static )?[\w.*]+;|^[ \t]*(?:public|private|protected) "),
    _grammar("rust", r"^[ \t]*(?:pub|fn|impl|use|mod|struct|enum|trait)\b"),
    _grammar("c", r"^[ \t]*#[ \t]*(?:include|define|if|pragma)|^(?:typedef|struct|enum|static|extern)\b"),
    _grammar("cpp", r"\b(?:namespace|template|class)\b|::"),
    _grammar("typescript", _SCRIPT, "language_typescript"),
    _grammar("typescript", _SCRIPT, "language_tsx"),
    _grammar("javascript", _SCRIPT),
)
"""In the order in which they are tried."""


@lru_cache(maxsize=1)
def parse(text: str) -> Node | None:
    """Return the root of the syntax tree of a source; None if no grammar reads it without an error."""
    if len(text) > _LONGEST:
        return None
    grammars = [grammar for grammar in GRAMMARS if grammar.sign.search(text)]
    if not grammars:
        return None
    lines = [line for line in _remove_comments(text).splitlines() if line.strip()]
    if sum(_LINE.search(line) is not None for line in lines) * 2 < len(lines):
        return None
    data = text.encode("utf-8", "surrogatepass")
    return next((root for grammar in grammars if (root := _parse_as(grammar, data))), None)


def _parse_as(grammar: Grammar, data: bytes) -> Node | None:
    """Return the root of a source in one language; None at the first error, or if it takes too long."""
    language = _load(grammar)
    if language is None:
        return None
    from tree_sitter import Parser  # it is there if the language is

    parser = Parser(language)  # an old one goes on with the text in which it was stopped
    steps = count(1)
    most = _STEPS + len(data) // _BYTES_A_STEP

    def stops(_: int, has_error: bool) -> bool:
        return has_error or next(steps) > most  # an ambiguous text of another language may never end

    try:
        root = parser.parse(lambda at, _: data[at : at + _CHUNK], progress_callback=stops).root_node
    except ValueError:  # stopped
        return None
    return root if root.named_children and not root.has_error else None


def _remove_comments(text: str) -> str:
    """Return the text without block comments."""
    parts: list[str] = []
    start = 0
    while (opening := text.find("/*", start)) >= 0 and (end := text.find("*/", opening + 2)) >= 0:
        parts.append(text[start:opening])
        start = end + 2
    return "".join([*parts, text[start:]])


@cache
def _load(grammar: Grammar) -> Language | None:
    """Return a language; None if its package is not installed."""
    try:
        from tree_sitter import Language

        pointer: object = getattr(import_module(grammar.module), grammar.function)()
        return Language(pointer)
    except ImportError:
        return None
