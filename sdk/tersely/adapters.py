"""Helpers that several framework adapters share: versions, options, documents, notes and tool limits."""

from __future__ import annotations

import base64
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any, TypeVar, cast, get_type_hints

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import check_count, check_text, type_name
from tersely.options import OPTION_FIELDS, CompressionOptions, make_options
from tersely.prepared import PreparedDocument
from tersely.types import CompressedDocument, Compression, Document

logger = logging.getLogger("tersely")

NOTE_KEY = "tersely"
"""Metadata key of the note about a compressed document."""
PREPARED_KEY = "tersely_prepared"
"""Metadata key of a prepared document: its bytes as base85, because metadata is often JSON."""

EDIT_TOOLS = (
    # Claude Code, OpenCode
    *("Read", "Edit", "MultiEdit", "Write", "NotebookRead", "NotebookEdit", "read", "edit", "write", "patch"),
    # Codex, Gemini CLI, Cursor, Cline and others
    *("apply_patch", "edit_file", "read_file", "read_many_files", "replace", "replace_in_file"),
    *("search_replace", "str_replace_editor", "write_file", "write_to_file"),
    *("view", "view_file"),
    # Anthropic's own tools, and the MCP servers for files and for GitHub
    *("str_replace_based_edit_tool", "text_editor", "read_text_file", "read_multiple_files"),
    *("get_file_contents", "create_or_update_file"),
)
"""Tools of coding agents that read or edit files. An agent that sees only a part of a file cannot edit it.

A tool of an MCP server, such as `mcp__files__read_file`, is listed by the last part of its name.
"""

Row = tuple[str | None, str, Mapping[str, Any]]
"""Id, text and metadata of a framework's document."""
Function = TypeVar("Function", bound=Callable[..., Any])


def require_package(package: str, extra: str, lowest: tuple[int, ...], below: tuple[int, ...]) -> None:
    """Check that a framework is installed, in a version from `lowest` up to, but not including, `below`.

    Raises MissingDependencyError otherwise; it names the `extra` to install.
    """
    remedy = f"pip install '.[{extra}]' in a clone of tersely"
    try:
        version = str(metadata.version(package))
    except metadata.PackageNotFoundError as error:
        raise MissingDependencyError(f"{package} is not installed: {remedy}") from error
    if not lowest <= tuple(map(int, re.findall(r"\d+", version)))[:3] < below:
        low, high = (".".join(map(str, bound)) for bound in (lowest, below))
        raise MissingDependencyError(
            f"{package} {version} is installed, and tersely needs {low} or newer, below {high}: {remedy}"
        )


def gather_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the compression options among `arguments` into one `CompressionOptions`, under "options".

    "options" may already hold `CompressionOptions` or a mapping; options given by name override it. Other
    arguments are returned unchanged. Raises InvalidInputError for an unknown or unusable option.
    """
    names = {option.name for option in OPTION_FIELDS}
    given = arguments.get("options")
    if isinstance(given, CompressionOptions):
        given = given.arguments()
    elif given is not None and not isinstance(given, Mapping):
        raise InvalidInputError(f"options is {type_name(given)}. Pass CompressionOptions or a mapping.")
    by_name = {name: value for name, value in arguments.items() if name in names}
    options = make_options({**cast("Mapping[str, Any]", given or {}), **by_name})
    return {**{name: arguments[name] for name in arguments if name not in names}, "options": options}


def name_options(
    function: Function, annotate: Callable[[Any, str], Any] = lambda option_type, _: option_type
) -> Function:
    """Give a function that takes `**options` a signature with one keyword parameter per option.

    `annotate` makes the annotation of a parameter from the option's type and help.
    """
    signature = inspect.signature(function, eval_str=True)
    types = get_type_hints(CompressionOptions)
    parameters = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    for option in OPTION_FIELDS:
        annotation = annotate(types[option.name], option.metadata["help"])
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(option.name, kind, default=option.default, annotation=annotation))
    function.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return function


def resolve_compressor(compressor: object) -> Compressor:
    """Return the compressor; for None, one with the bundled model. Raises InvalidInputError for anything
    else."""
    if compressor is None:
        return Compressor()
    if not isinstance(compressor, Compressor):
        raise InvalidInputError(f"compressor is {type_name(compressor)}. Pass a tersely.Compressor.")
    return compressor


def check_title_key(value: object) -> str | None:
    """Return the metadata key of titles, or None. Raises InvalidInputError for anything but text or None."""
    return None if value is None else check_text(value, "title_key", "Pass text, or None.")


def check_keep(keep: int) -> int:
    """Return how many of the newest results stay whole. Raises InvalidInputError unless it is 0 or more."""
    return check_count(keep, "keep", "results", minimum=0)


def to_documents(rows: Iterable[Row], title_key: str | None) -> list[Document]:
    """Convert a framework's documents. A title is the text under `title_key` of the metadata.

    A prepared document in the metadata is used. If any of these cannot be read, one warning is logged for
    all. Raises InvalidInputError if two different texts have the same id.
    """
    texts: dict[str, str] = {}
    problems: list[Exception] = []
    documents: list[Document] = []
    for key, text, values in rows:
        if key is not None and texts.setdefault(key, text) != text:
            raise InvalidInputError(
                f"Two documents have the id {key!r} and different texts. Give each its own."
            )
        title = values.get(title_key) if title_key else None
        document = Document(text, title if isinstance(title, str) else None)
        if (prepared := values.get(PREPARED_KEY)) is not None:
            try:
                document = PreparedDocument.from_bytes(base64.b85decode(prepared), document)
            except (TypeError, ValueError) as error:  # damaged, or made for another document
                problems.append(error)
        documents.append(document)
    if problems:
        logger.warning(
            "%d of %d documents are read as if they were not prepared; the first: %s",
            len(problems),
            len(documents),
            problems[0],
        )
    return documents


def prepare_documents(
    compressor: Compressor, rows: Iterable[tuple[str, Mapping[str, Any]]], title_key: str | None
) -> list[str]:
    """Prepare (text, metadata) pairs. Return the value for the metadata of each, under `PREPARED_KEY`."""
    bare = ((None, text, {**values, PREPARED_KEY: None}) for text, values in rows)
    prepared = compressor.prepare(to_documents(bare, title_key))
    return [base64.b85encode(document.to_bytes()).decode("ascii") for document in prepared]


def add_note(values: Mapping[str, Any], note: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with the note of a compressed document and without the prepared whole document."""
    return {**{key: value for key, value in values.items() if key != PREPARED_KEY}, NOTE_KEY: note}


def make_note(result: Compression, document: CompressedDocument) -> dict[str, Any]:
    """Return the relevance of a compressed document and the "spans" of its excerpts.

    For each span, `document.text[at:at + end - start] == original[start:end]`. "best_fits" and "answerable"
    are about the whole compression.
    """
    citations = result.citations().of(document.source)
    spans = [{"start": entry.start, "end": entry.end, "at": entry.text_start} for entry in citations]
    return {
        "relevance": document.relevance,
        "spans": spans,
        "best_fits": result.best_fits,
        "answerable": result.answerable,
    }


def make_receipt(result: Compression) -> dict[str, Any]:
    """Return `Compression.to_dict()` without texts, and without the error of a failed model.

    Such an error may quote the documents.
    """
    left_out = {"text", "documents", "citations", "marks", "warnings"}
    if result.status in ("degraded", "failed_open"):
        left_out.add("reason")
    return {name: value for name, value in result.to_dict().items() if name not in left_out}


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Token limits for the results of tools.

    Args:
        over: limit for tools that `tools` does not name; None leaves their results unchanged.
        tools: limits by tool name; None leaves the results of that tool unchanged. A name such as "read_file"
            also sets the limit of tools of servers, such as "mcp__files__read_file", unless `tools` has their
            full name.

    Raises InvalidInputError unless limits are whole numbers above 0.
    """

    over: int | None
    tools: Mapping[str, int | None] | None = None

    def __post_init__(self) -> None:
        tools = cast("object", {} if self.tools is None else self.tools)
        if not isinstance(tools, Mapping):
            raise InvalidInputError(
                f"tools is {type_name(tools)}. Pass a limit for each name, such as "
                '{"search": 500, "read_file": None}.'
            )
        named = cast("Mapping[object, object]", tools)
        if not all(isinstance(name, str) for name in named):
            raise InvalidInputError("tools has a name that is not text. Pass limits by the names of tools.")
        for name, limit in {"over": self.over, **{f"tools[{n!r}]": v for n, v in named.items()}}.items():
            if limit is not None:
                check_count(limit, name, "tokens")

    def get(self, tool: str | None) -> int | None:
        """Return the limit of a tool; None if its results stay unchanged."""
        tools, name = self.tools or {}, tool or ""
        return tools.get(name, tools.get(name.rpartition("__")[2], self.over))
