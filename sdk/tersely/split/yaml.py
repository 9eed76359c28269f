"""Find records of keys and values, and YAML.

Each recogniser takes lines and the index where a block may start.
"""

from __future__ import annotations

import re

from tersely.split.lines import Lines

_MOST_LINES = 60
_FIELD = re.compile(r"\s*([^\W\d_][\w .()/#-]{0,39}?)\s*(?::\s|=\s|:$)")
_KEY = re.compile(r"(?:- )?(?!(?:try|else|finally|default)\b)[\w\"'./@-]+:(?:\s|$)")
_YAML = re.compile(r"\s*(?:#.*|-(?:\s.*)?|\"[^\"]*\":.*|[\w'./@-][\w'./@ -]*:(?:\s.*)?)$")
_PARENT = re.compile(r"\s*(?:- )?[\w\"'./@-]+:\s*(?:[|>][+-]?)?\s*$")
_FEWEST_LINES = 3


def find_record_end(lines: Lines, index: int, key: str | None) -> int | None:
    """Index after a paragraph of lines with a key and a value each; None if there is none.

    Such paragraphs come in series: `key` is the first key of the one before, or the next paragraph begins
    with the same key as this one.
    """
    first = _FIELD.match(lines.texts[index])
    if first is None:
        return None
    end, keys = index, list[str]()
    while end < len(lines) and not lines.is_blank(end):
        if lines.indent(end) <= lines.indent(index):
            found = _FIELD.match(lines.texts[end])
            if found is None or end - index == _MOST_LINES:
                return None
            keys.append(found[1])
        end += 1
    if len(keys) < 2 or len(set(keys)) < len(keys):
        return None
    following = end
    while following < len(lines) and lines.is_blank(following):
        following += 1
    if first[1] == key:
        return end
    other = _FIELD.match(lines.texts[following]) if following < len(lines) else None
    return end if other and other[1] == first[1] else None


def first_key(lines: Lines, index: int) -> str | None:
    """The key at the start of a line."""
    found = _FIELD.match(lines.texts[index])
    return found[1] if found else None


def find_yaml_end(lines: Lines, index: int) -> tuple[int, bool]:
    """End of the lines that look like YAML, and whether they are a mapping or list with something nested."""
    if not _KEY.match(lines.texts[index]):
        return index, False
    end, last, nested = index, index, False
    deep = None  # indent of the text of a block scalar
    while end < len(lines):
        line = lines.texts[end]
        if lines.is_blank(end):
            end += 1
            continue
        indent = lines.indent(end)
        if deep is not None and indent >= deep:
            end += 1
            last = end
            continue
        deep = None
        if not _YAML.match(line) or (indent == 0 and not _KEY.match(line) and line[:1] not in "-#"):
            break
        if line.rstrip().endswith(("|", ">", "|-", ">-", "|+", ">+")):
            deep = indent + 1
        parent = _PARENT.match(line)
        if parent and end + 1 < len(lines) and lines.texts[end + 1].strip():
            nested |= lines.indent(end + 1) > indent or lines.texts[end + 1].lstrip().startswith("- ")
        end += 1
        last = end
    return last, nested and last - index >= _FEWEST_LINES
