"""What adapters of other frameworks share: checks, options, documents, notes and receipts.

Nothing else in the SDK imports this module.
"""

from __future__ import annotations

import base64
import inspect
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any, TypeVar, cast, get_type_hints

from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import check_count, type_name
from tersely.options import OPTION_FIELDS, CompressionOptions, make_options
from tersely.prepared import PreparedDocument
from tersely.types import CompressedDocument, Compression, Document

logger = logging.getLogger("tersely")

NOTE_KEY = "tersely"
"""Key of the note in a framework's metadata."""

PREPARED_KEY = "tersely_prepared"
"""Key of what was prepared, in a framework's metadata: bytes as base64, because metadata is often JSON."""

EVENT_NAME = "tersely.compression"
"""Name of the event with the receipt of a compression."""

_OPTION_NAMES = frozenset(option.name for option in OPTION_FIELDS)

Function = TypeVar("Function", bound=Callable[..., Any])


def require_package(package: str, extra: str, lowest: tuple[int, ...], below: tuple[int, ...]) -> None:
    """Check that a framework is installed, in a version from `lowest` up to, but not including, `below`.

    Raises MissingDependencyError otherwise; it names the `extra` to install.
    """
    remedy = f"pip install 'tersely[{extra}]'"
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
    """`arguments` with one `CompressionOptions` under "options", in place of its options.

    Options may stand on their own (`budget=12`), and under "options" as a `CompressionOptions` or a mapping.
    One that stands on its own replaces the same one under "options". Other arguments stay.

    Raises InvalidInputError for an option that does not exist or cannot be used.
    """
    options = {name: value for name, value in arguments.items() if name in _OPTION_NAMES}
    gathered = {name: value for name, value in arguments.items() if name not in _OPTION_NAMES}
    given = gathered.get("options")
    if isinstance(given, CompressionOptions):
        return {**gathered, "options": replace(given, **options)}
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInputError(f"options is {type_name(given)}. Pass CompressionOptions or a mapping.")
    options = {**cast("Mapping[str, Any]", given or {}), **options}
    return {**gathered, "options": make_options(options)}


def _type_only(option_type: Any, explanation: str) -> Any:
    return option_type


def name_options(function: Function, annotate: Callable[[Any, str], Any] = _type_only) -> Function:
    """`function`, with a signature that has a keyword parameter for every option instead of `**options`.

    Args:
        function: takes `**options`, and passes them on.
        annotate: makes the annotation of an option's parameter, from its type and its help.
    """
    signature = inspect.signature(function, eval_str=True)
    types = get_type_hints(CompressionOptions)
    parameters = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=annotate(types[option.name], option.metadata["help"]),
        )
        for option in OPTION_FIELDS
    ]
    function.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess]
    return function


def check_ids(documents: Iterable[tuple[str | None, str]]) -> None:
    """Check that no id stands for two texts, among pairs of (id, text).

    The same document may come twice, and documents may have no id. Raises InvalidInputError.
    """
    texts: dict[str, str] = {}
    for key, text in documents:
        if key is not None and texts.setdefault(key, text) != text:
            raise InvalidInputError(
                f"Two documents have the id {key!r} and different texts. Give each its own."
            )


def check_compressor(compressor: object) -> Compressor:
    """The compressor; one with the bundled model for None. Raises InvalidInputError for anything else."""
    if compressor is None:
        return Compressor()
    if not isinstance(compressor, Compressor):
        raise InvalidInputError(f"compressor is {type_name(compressor)}. Pass a tersely.Compressor.")
    return compressor


def check_text(value: object, name: str) -> str | None:
    """A text, or None. Raises InvalidInputError for anything else."""
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{name} is {type_name(value)}. Pass text, or None.")
    return value


def check_model_name(value: object) -> str | None:
    """The folder or the hub name of a model; None for the bundled one. Raises InvalidInputError."""
    if isinstance(value, str) and not value.strip():
        raise InvalidInputError("model is empty. Pass a folder or a hub name, or None for the bundled model.")
    return check_text(value, "model")


def check_keep(keep: int) -> int:
    """A number of newest results that stay whole, 0 or more. Raises InvalidInputError."""
    return 0 if type(keep) is int and keep == 0 else check_count(keep, "keep", "results")


def to_document(text: str, metadata: Mapping[str, Any], title_key: str | None) -> Document:
    """A framework's document. Its title is the value under `title_key` of its metadata, if that is a text.

    What was prepared of it is used. A warning is logged where that cannot be: an index outlives its versions.
    """
    title = metadata.get(title_key) if title_key else None
    document = Document(text, title if isinstance(title, str) else None)
    prepared = metadata.get(PREPARED_KEY)
    if prepared is None:
        return document
    try:
        return PreparedDocument.from_bytes(base64.b64decode(prepared), document)
    except (TypeError, ValueError) as error:  # no base64, or no bytes of this document
        logger.warning("a document is read as if it were not prepared: %s", error)
        return document


def prepare_documents(
    compressor: Compressor, documents: Iterable[tuple[str, Mapping[str, Any]]], title_key: str | None
) -> list[str]:
    """What is prepared of each document, for its metadata under `PREPARED_KEY`.

    `documents` are pairs of (text, metadata); `title_key` is as in `to_document`.
    """
    prepared = compressor.prepare(
        to_document(text, {**metadata, PREPARED_KEY: None}, title_key) for text, metadata in documents
    )
    return [base64.b64encode(document.to_bytes()).decode("ascii") for document in prepared]


def add_note(metadata: Mapping[str, Any], note: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a compressed document: with a note, and without what was prepared of the whole one."""
    return {**{key: value for key, value in metadata.items() if key != PREPARED_KEY}, NOTE_KEY: note}


def make_note(result: Compression, document: CompressedDocument) -> dict[str, Any]:
    """What the metadata says about a compressed document: its relevance, and where its pieces come from.

    `document.text[at:at + end - start] == original[start:end]` for each of "spans".
    """
    pieces = result.citations().of(document.source).entries
    spans = [{"start": piece.start, "end": piece.end, "at": piece.text_start} for piece in pieces]
    return {"relevance": document.relevance, "spans": spans}


def make_receipt(result: Compression) -> dict[str, Any]:
    """The receipt as JSON values: statuses, numbers and places, and none of the documents' words.

    It has what `Compression.to_dict()` has, except texts, and except what a model that failed says of it,
    which may quote them.
    """
    left_out = {"text", "documents", "citations", "marks", "warnings"}
    if result.status in ("degraded", "failed_open"):
        left_out.add("reason")
    return {name: value for name, value in result.to_dict().items() if name not in left_out}


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Most tokens of the results of each tool.

    Args:
        over: of tools that are not named; None leaves their results as they are.
        tools: of the tool with this name; None leaves its results as they are.

    Raises InvalidInputError for a limit that is no whole number above 0.
    """

    over: int | None
    tools: Mapping[str, int | None] | None = field(default=None)

    def __post_init__(self) -> None:
        if self.tools is not None and not isinstance(cast("object", self.tools), Mapping):
            raise InvalidInputError(
                f"tools is {type_name(self.tools)}. Pass a limit for each name, such as "
                '{"search": 500, "read_file": None}.'
            )
        if not all(isinstance(cast("object", name), str) for name in self.tools or ()):
            raise InvalidInputError("tools has a name that is no text. Pass limits by the names of tools.")
        named = {f"tools[{name!r}]": limit for name, limit in (self.tools or {}).items()}
        for name, limit in {"over": self.over, **named}.items():
            if limit is not None:
                check_count(limit, name, "tokens")

    def of(self, tool: str | None) -> int | None:
        """The limit of a tool; None where its results stay as they are."""
        return (self.tools or {}).get(tool or "", self.over)
