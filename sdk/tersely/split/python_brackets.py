"""Elements in the brackets of a Python statement, each on lines of its own."""

from __future__ import annotations

import io
import tokenize

from tersely.split.python import parse

_NEUTRAL = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


def find_elements(source: str, *, is_head: bool = False) -> list[tuple[int, int]]:
    """Return the first and last line of each element in the brackets of a statement, counted from 0.

    Elements on the line of a bracket are left out. Empty unless the statement has one pair of brackets with
    several lines, and every element may be left out. In the head of a function, the elements are the
    parameters, and other brackets may follow.
    """
    found: list[tuple[int, int]] = []
    depth = opened = first = comma = 0
    is_first = False
    last = 0  # the line on which the last token ended
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _NEUTRAL:
                continue
            if depth == 1 and comma and token.start[0] > comma:
                if not is_first:
                    found.append((first - 1, comma - 1))
                first, is_first = comma + 1, False
            elif depth == 1 and last == opened == token.start[0]:
                is_first = True  # it begins on the line of the bracket
            comma = 0
            if token.string in ("(", "[", "{") and token.type == tokenize.OP:
                depth += 1
                if depth == 1:
                    if found:
                        return []
                    opened, first, is_first = token.start[0], token.start[0] + 1, False
            elif token.string in (")", "]", "}") and token.type == tokenize.OP:
                depth -= 1
                if depth == 0 and found and last < token.start[0] and first < token.start[0]:
                    found.append((first - 1, token.start[0] - 2))
                if depth == 0 and is_head:
                    break
            elif token.string == "," and depth == 1:
                comma = token.start[0]
            last = token.end[0]
    except (tokenize.TokenError, SyntaxError):
        return []
    rows = source.splitlines(keepends=True)
    texts = ["".join(rows[begin : stop + 1]) for begin, stop in found]
    is_element = _is_parameter if is_head else _is_element
    return found if all(map(is_element, texts)) else []


def _is_parameter(text: str) -> bool:
    """Return whether a text is one or more parameters, or the `*` or `/` between them."""
    return text.strip().rstrip(",") in ("*", "/") or parse(f"def _(\n{text}\n): ...") is not None


def _is_element(text: str) -> bool:
    """Return whether a text may be left out of brackets."""
    return parse(f"_(\n{text}\n)") is not None or parse(f"{{\n{text}\n}}") is not None
