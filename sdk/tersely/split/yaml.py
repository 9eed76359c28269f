"""YAML, opened into documents, entries and items with everything nested in them.

The reader knows where every scalar ends and gives up at anything that YAML does not allow. A mark is a
comment line between two entries. A key comes with all of its value or with some of its entries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tersely.split.lines import Format, Lines, WholeFormat, end_above, line_start, mask, skip_comments
from tersely.split.nodes import DEEPEST, LONGEST_IDENTITY, Node, Sizes, is_identity, split_comments
from tersely.split.page_snapshots import tie_snapshot
from tersely.split.yaml_scalars import DOUBLE, MARKER, SINGLE, InvalidError, ScalarReader
from tersely.units import Series

_START = re.compile(
    r"(?:\#|(?!(?:try|else|finally|default)\b)[\w\"'./@-]+:(?:\s|$)|-\ [\w\"'./@-]+:(?:\s|$)|---\s*$)",
    re.MULTILINE,
)
_WHOLE = re.compile(r"""\s*(?:[#%][^\n]*\s+)*+(?:---|-\s|\?\s|["'\w./@$<-][^\n]*?:(?:\s|$))""")
"""The start of a text that may be entirely YAML."""
_LISTED = re.compile(r"^#{2,6} [^\n]+\n[ \t]*\n- ", re.MULTILINE)  # a list below a heading of Markdown
_ITEM = re.compile(r"-(?:\s|$)")
_PAIR = re.compile(r"\?(?:\s|$)")
_PROPERTIES = re.compile(r"\s*(?:[&!]\S*(?:\s+|$))*")
_KEY = re.compile(
    rf"""(?:[&!]\S*\ +)*+
    (?P<name>(?:{DOUBLE} | {SINGLE} | \*\S+(?=\ ))\s*
      | (?:[^\s\-?:,\[\]{{}}\#&*!|>'"%@`]|[-?:](?=\S))(?:[^:\#\n]|:(?!\s|$)|(?<!\s)\#)*?)
    :(?=[^\S\t]|$)""",  # a tab follows the addresses of `objdump -d`, and no key
    re.VERBOSE,
)
_SIMPLE = re.compile(r"[a-z_][\w.-]*|[\"'].*")
"""Keys of settings; others may be names of people or labels."""
_FIELD = re.compile(r"[A-Z][\w -]{0,39}:(?:\s|$)")
_SIGN = re.compile(r"^\s*(?:#|---\s*$)", re.MULTILINE)
"""A comment or a `---`. A text with one of these is YAML even with a single key."""
_FEWEST_LINES, _FEWEST_KEYS = 4, 3
_MOST_NESTED = 60
"""Largest number of nested collections. A text with more is not read as YAML."""
_MOST_ANCHORS = 20


@dataclass(slots=True)
class _Reader(ScalarReader):
    """A reader of YAML from one line on. Columns are code points."""

    part: int = 0
    offset: int = 0
    """Offset of the lines in the text that the nodes belong to."""
    strict: bool = False
    """True if the keys of the outermost mapping must not contain blanks."""
    done: int = 0
    """Index after the last line that was understood."""
    index: int = 0
    """The line of the entry that is being read."""
    is_nested: bool = False
    """True if a collection is in another one."""
    keys: list[str] = field(default_factory=list[str])
    """The keys of the outermost mappings."""
    places: dict[str, int] = field(default_factory=dict[str, int])
    """The line of each key of the outermost mapping of a document."""
    repeated: int | None = None
    """The line of a key that occurs again in the same mapping, which YAML does not allow."""
    definitions: list[Node] = field(default_factory=list[Node])
    """Entries of the outermost collection of a document that have anchors of YAML (`&name`) in them."""

    def read(self, index: int) -> list[Node]:
        """Return the documents from a line on, as far as they are YAML, and the comments between them."""
        documents: list[Node] = []
        between: list[list[Node]] = []
        self.done = index
        try:
            while (following := self.skip(index)) < len(self.lines):
                above = index
                document, first, index = self._read_document(following)
                comments, start = self._split_comments(above, first, self.part)
                if document.children and not self._has_head(document):
                    document.children[0].start = self._at(start)
                document.start = self._at(start)
                between.append(comments)
                documents.append(document)
                self.done = index
        except InvalidError:
            self.lines.json_budget -= self.lines.starts[self.index] - self.lines.starts[self.done]
            return documents
        comments, _ = self._split_comments(self.done, len(self.lines), -1)
        if len(documents) == 1 and (only := documents[0]).children and not self._has_head(only):
            only.children = [*between[0], *only.children, *comments]
            only.start, only.end = only.children[0].start, only.children[-1].end
            return documents
        for document in documents:
            self._add_head(document)
        pairs = zip(between, documents, strict=True)
        return [*(node for above, document in pairs for node in (*above, document)), *comments]

    @property
    def is_flat(self) -> bool:
        """True if the outermost keys look like those of settings and none recurs."""
        return len({*self.keys}) == len(self.keys) > 0 and all(map(_SIMPLE.fullmatch, self.keys))

    def _has_head(self, document: Node) -> bool:
        start = document.start - self.offset
        return self.lines.text[start : document.children[0].start - self.offset].strip() != ""

    def _add_head(self, document: Node) -> None:
        """Give a document without a head its first entry as the head, so that a mark can count the document.

        If the first entry is large, or the only one, the document is not opened.
        """
        if document.children and not self._has_head(document):
            first = document.children[0]
            is_small = len(document.children) > 1 and first.end - first.start <= self.part
            document.children = document.children[1:] if is_small else []

    def _read_document(self, index: int) -> tuple[Node, int, int]:
        """Return a document, the index of its first line and the index after its last line."""
        texts = self.lines.texts
        self.definitions, self.places, self.keeps_blanks = [], {}, False
        children: list[Node] = []
        first = end = index
        while index < len(texts) and texts[index].startswith("%"):
            index = self.skip(index + 1)
        if index < len(texts) and texts[index].startswith("---"):
            children, end = self._read_value(index, 3, -1, 0)
            if children and texts[self.lines.skip_blank(index + 1)].lstrip().startswith("#"):
                comments, start = self._split_comments(index + 1, self.skip(index + 1), self.part)
                # A comment right below `---` names the document, as `# Source:` of helm does.
                is_name = not comments and start == index + 1
                children[0].start = self._at(self.skip(start) if is_name else start)
                children[:0] = comments
        elif index < len(texts) and not MARKER.match(texts[index]):
            children, end = self._read_block(index, self.indent(index), -1, 0)
        following = self.skip(end)
        if following < len(texts):
            if not MARKER.match(texts[following]):
                raise InvalidError
            if texts[following].startswith("..."):
                end = following + 1
        node = Node(self._at(first), self._end(end))
        if not self.keeps_blanks and len(self.definitions) <= _MOST_ANCHORS and children:
            self._close(node, children)
        return node, first, end

    def _split_comments(self, index: int, end: int, longest: int) -> tuple[list[Node], int]:
        return split_comments(self.lines, self.offset, index, end, longest)

    def _close(self, node: Node, children: list[Node]) -> None:
        """Open a node into its children if it is large enough."""
        if node.end - node.start > self.part:
            node.children, node.series = children, Series("# ")

    def _at(self, index: int) -> int:
        return self.offset + self.lines.starts[index]

    def _end(self, index: int) -> int:
        return self.offset + end_above(self.lines, index)

    def _read_block(self, index: int, column: int, parent: int, depth: int) -> tuple[list[Node], int]:
        """Return the entries of the collection that starts at a line (none for a scalar), and its end."""
        line = self.lines.texts[index]
        if _ITEM.match(line, column) or _KEY.match(line, column) or _PAIR.match(line, column):
            return self._read_entries(index, column, depth)
        return self._read_value(index, column, parent, depth)

    def _read_entries(self, index: int, column: int, depth: int) -> tuple[list[Node], int]:
        if depth > _MOST_NESTED:
            raise InvalidError
        texts = self.lines.texts
        is_list = _ITEM.match(texts[index], column) is not None
        is_root = not depth
        nodes: list[Node] = []
        above = index
        while True:
            anchors, aliases = self.anchors, self.aliases
            node, end = self._read_entry(index, column, is_list, depth)
            if nodes:
                node.start = self._at(self.lines.skip_blank(above))
            if is_root and self.anchors > anchors:
                node.children = []
                self.definitions.append(node)
            if not node.children and self.aliases > aliases:
                node.wants, node.is_anchor = self.definitions, False
            nodes.append(node)
            above, index = end, self.skip(end)
            if is_root:
                self.done = above
            if index == len(texts) or (indent := self.indent(index)) < column:
                return nodes, above
            if indent > column:
                raise InvalidError
            if is_list != (_ITEM.match(texts[index], column) is not None):
                if is_list:
                    return nodes, above
                raise InvalidError

    def _read_entry(self, index: int, column: int, is_list: bool, depth: int) -> tuple[Node, int]:
        self.index = index
        line = self.lines.texts[index]
        key = None
        if is_list:
            children, end = self._read_item(index, column, depth)
        elif _PAIR.match(line, column):
            children, end = [], self._skip_pair(index, column)
            self.is_nested = True
        else:
            key = _KEY.match(line, column)
            if key is None or (self.strict and not depth and " " in key["name"].strip()):
                raise InvalidError
            if not depth:
                self._add_key(key["name"].strip(), index)
            self.anchors += "&" in line[column : key.start("name")]
            self.aliases += key["name"].startswith("*")
            children, end = self._read_value(index, key.end(), column, depth + 1, is_map=True)
        node = Node(self._at(index) + column, self._end(end))
        name = key["name"].strip("\"' ") if key else ""
        if is_identity(name):
            node.is_anchor = end == index + 1 and not children and len(line) - column <= LONGEST_IDENTITY
        elif name == "metadata":
            node.is_anchor = bool(children)
        if depth < DEEPEST:
            self._close(node, children)
        return node, end

    def _add_key(self, name: str, index: int) -> None:
        """Remember a key of the outermost mapping."""
        self.repeated = self.places.get(name)
        if self.repeated is not None:
            raise InvalidError
        self.keys.append(name)
        self.places[name] = index

    def _read_item(self, index: int, column: int, depth: int) -> tuple[list[Node], int]:
        line = self.lines.texts[index]
        at = column + 1
        while line[at : at + 1] == " ":
            at += 1
        if _ITEM.match(line, at) or _KEY.match(line, at):
            children, end = self._read_entries(index, at, depth + 1)
            self.is_nested |= len(children) > 1
            first = children[0]
            is_line = first.end <= self.offset + self.lines.end_of(index)
            is_short = first.end - first.start <= LONGEST_IDENTITY // 2
            first.is_anchor |= is_line and not first.wants and is_short
            return children, end
        return self._read_value(index, at, column, depth + 1)

    def _read_value(
        self, index: int, at: int, parent: int, depth: int, is_map: bool = False
    ) -> tuple[list[Node], int]:
        """Return the entries of a value (none for a scalar), and the index after its last line."""
        line = self.lines.texts[index]
        properties = _PROPERTIES.match(line, at)
        at = properties.end() if properties else at
        self.anchors += properties is not None and "&" in properties[0]
        if line[at : at + 1] not in ("", "#"):
            return [], self.skip_scalar(index, at, parent)
        below = self.skip(index + 1)
        if below == len(self.lines):
            return [], index + 1
        indent = self.indent(below)
        is_item = _ITEM.match(self.lines.texts[below], max(0, indent)) is not None
        if indent <= parent and not (is_map and indent == parent and is_item):
            return [], index + 1
        children, end = self._read_block(below, indent, parent, depth)
        if children:
            self.is_nested |= parent >= 0
            children[0].start = self._at(self.lines.skip_blank(index + 1))
        return children, end

    def _skip_pair(self, index: int, column: int) -> int:
        """Return the index after a key that begins with `?` and its value."""
        end = index + 1
        while (below := self.skip(end)) < len(self.lines):
            indent = self.indent(below)
            if indent < column or (indent == column and not self.lines.texts[below].startswith(":", column)):
                break
            end = below + 1
        return end


_NUMBERED = re.compile(r"^\s*#:  +\S", re.MULTILINE)  # names of columns, not a comment
_SENTENCE = re.compile(r"`|\s['\"]|(?:\S+\s+){6}")
"""A part of a key that is more likely a sentence with a colon."""


def _is_yaml(text: str) -> bool:
    """Return whether a whole text is YAML: nested collections, or settings with simple keys."""
    reader = _Reader(Lines(mask(text)))
    reader.read(0)
    is_prose = any(_SENTENCE.search(key.strip("\"'")) for key in reader.keys) or reader.lines.has(_LISTED)
    if is_prose or reader.skip(reader.done) < len(reader.lines) or _NUMBERED.search(text):
        return False
    return reader.is_nested or (reader.is_flat and (len(reader.keys) > 1 or _SIGN.search(text) is not None))


def _find_yaml_end(lines: Lines, index: int) -> int | None:
    """Return the index after lines that are YAML with something nested, or with the keys of settings."""
    above = lines.texts[index - 1] if index else ""
    is_in_record = above.strip() and (above[0].isspace() or _FIELD.match(above))
    is_numbered = any(map(_NUMBERED.match, lines.texts[index : index + 2]))
    if lines.json_budget <= 0 or is_in_record or is_numbered:
        return None
    first = end = skip_comments(lines, index, "#")
    if first < len(lines) and not lines.is_blank(first):
        reader = _Reader(lines, strict=True)
        reader.read(first)
        end = reader.done
        if reader.repeated is not None and first < reader.repeated and lines.is_blank(reader.repeated - 1):
            end = lines.find(end_above(lines, reader.repeated)) + 1  # stanzas start here
        is_known = (reader.is_nested or (first > index and reader.is_flat)) and end - index >= _FEWEST_LINES
        is_repeated = reader.repeated is not None and lines.find_blank(reader.repeated) > reader.done
        is_cut = end < lines.find_blank(end) and (is_repeated or lines.indent(end) > lines.indent(first))
        is_known |= reader.is_flat and len(reader.keys) >= _FEWEST_KEYS
        is_list = lines.has(_LISTED) and lines.texts[index].startswith("- ")
        is_list |= len(reader.keys) == 1 and not reader.is_flat and lines.skip_blank(first + 1) > first + 1
        if not (_begins_record(reader, first) or is_cut or is_list) and is_known:  # a list may have a label
            return skip_comments(lines, end, "#")
    lines.none_before[_find_yaml_end] = max(index + 1, end)
    return None


def _begins_record(reader: _Reader, first: int) -> bool:
    """Return whether the mapping at a line is one of several records that begin with the same key."""
    lines, key, again = reader.lines, next(iter(reader.keys), ""), reader.repeated
    if again and (lines.find_blank(first) > again or lines.texts[again].startswith(f"{key}:")):
        lines.record_keys.add(key)
    return not reader.is_nested and key in lines.record_keys


WHOLE_YAML = WholeFormat("yaml", _WHOLE.match, _is_yaml)
YAML = Format("yaml", _START, _find_yaml_end, only_starts_paragraphs=True)


def open_yaml(text: str, start: int, end: int, sizes: Sizes) -> Node:
    """Return the tree of a YAML text: its documents with their entries. Small parts are not opened."""
    first = line_start(text, start)
    nodes: Sequence[Node] = _Reader(Lines(mask(text[first:end])), part=sizes.part, offset=first).read(0)
    is_one = len(nodes) == 1 and nodes[0].children
    return tie_snapshot(text, nodes[0] if is_one else Node(start, end, list(nodes), Series("# ")))
