"""Tools that an agent may call, and functions that run its calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tersely.errors import InvalidInputError
from tersely.inputs import check_count, check_list, check_members, type_name
from tersely_agents.agent.retrieval import Hit, Reading, Retriever, check_retriever, read_passages
from tersely_agents.chat import ToolCall
from tersely_agents.experience import ExperienceBank, format_experiences

DEFAULT_HITS = 10
"""Number of documents of a search, unless the model asks for another number (ZipRL, appendix U)."""
MAX_HITS = 50
READING_HITS = 5
"""Number of documents that `reading_tool` reads (RECON, appendix B.4)."""
PART_CHARACTERS = 4000
"""Number of characters of an original that `find_original` shows at once."""


class ToolError(Exception):
    """The model called a tool with arguments that it cannot use. The message is for the model."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool call."""

    text: str
    """Text for the model; it may describe an error."""
    error: str | None = None
    is_broken: bool = False
    """True if the tool itself failed; False for wrong arguments of the model, or without an error."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    `parameters` maps each parameter to its description; those in `required` must be given. `run` gets texts
    by name and returns the text that the model sees.
    """

    name: str
    description: str
    parameters: Mapping[str, str]
    run: Callable[[Mapping[str, str]], str]
    required: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        where = f"of the tool {self.name!r}"
        for name in ("name", "description"):
            value: object = getattr(self, name)
            if not isinstance(value, str):
                raise InvalidInputError(f"The {name} {where} is {type_name(value)}. Pass text.")
        check_members(self.parameters, ("items", "keys"), f"parameters {where}", "Pass a mapping of texts.")
        if not callable(self.run):
            raise InvalidInputError(f"run {where} is {type_name(self.run)}. Pass a function.")
        remedy = "Pass a tuple of names of parameters."
        names: list[str] = check_list(self.required, str, f"required {where}", remedy)
        if any(name not in self.parameters for name in names):
            raise InvalidInputError(f"required {where} is {self.required!r}. {remedy}")

    def check(self, arguments: Mapping[str, str]) -> None:
        """Raise ToolError for a parameter that is unknown or missing."""
        for name in arguments:
            if name not in self.parameters:
                raise ToolError(
                    f"{self.name} has no parameter {name!r}, only {', '.join(self.parameters) or 'none'}"
                )
        for name in self.required:
            if not arguments.get(name, "").strip():
                raise ToolError(f"{self.name} needs the parameter {name!r}")

    def schema(self) -> dict[str, Any]:
        """Return the tool in OpenAI's format."""
        properties = {name: {"type": "string", "description": text} for name, text in self.parameters.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.required)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def describe(self) -> str:
        """Return the tool as text, for a prompt."""
        lines = [
            f"  {name} ({'required' if name in self.required else 'optional'}): {text}"
            for name, text in self.parameters.items()
        ]
        return "\n".join([f"{self.name}: {self.description}", *lines])


def run_tool(tool: Tool, arguments: Mapping[str, str]) -> Result:
    """Run a tool. If it fails, the model gets the error as its result."""
    try:
        tool.check(arguments)
        result = cast("object", tool.run(arguments))
        if not isinstance(result, str):
            raise TypeError(f"{tool.name} gave a {type(result).__name__} and not a text")
        return Result(result)
    except ToolError as error:
        return Result(f"[error: {error}]", str(error))
    except Exception as error:  # noqa: BLE001 - tools are the user's, and the model may know another way
        message = f"{type(error).__name__}: {error}"
        return Result(f"[error: {message}]", message, is_broken=True)


def run_call(call: ToolCall, tools: Sequence[Tool]) -> tuple[dict[str, str], Result]:
    """Run the tool that a call names. Returns its arguments as texts, and the result."""
    tool = next((tool for tool in tools if tool.name == call.name), None)
    try:
        if tool is None:
            raise ToolError(f"there is no tool {call.name!r}, only {', '.join(t.name for t in tools)}")
        arguments = _read_arguments(call.arguments)
    except ToolError as error:
        return {}, Result(f"[error: {error}]", str(error))
    return arguments, run_tool(tool, arguments)


def _read_arguments(text: str) -> dict[str, str]:
    try:
        values: object = json.loads(text or "{}")
    except (ValueError, TypeError, RecursionError) as error:
        raise ToolError(f"the arguments are no JSON: {error}") from error
    if not isinstance(values, dict):
        raise ToolError("the arguments are no JSON object")
    given = cast("dict[str, object]", values)
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in given.items() if v is not None}


def with_ids(calls: Sequence[ToolCall], turn: int) -> list[ToolCall]:
    """Give a new id to each call without an id, or with the id of an earlier call."""
    seen: set[str] = set()
    identified: list[ToolCall] = []
    for number, call in enumerate(calls):
        if not call.id or call.id in seen:
            call = replace(call, id=f"call_{turn}_{number}")
        seen.add(call.id)
        identified.append(call)
    return identified


def search_tools(retriever: Retriever, k: int = DEFAULT_HITS) -> list[Tool]:
    """Return the tools `search` and `open_page` over a retriever. A search gives `k` documents unless the
    model asks for another number."""
    check_retriever(retriever)
    check_count(k, "k", "documents")

    def search(arguments: Mapping[str, str]) -> str:
        count = _read_number(arguments, "topk", k)
        hits = retriever.search(arguments["query"], min(max(1, count), MAX_HITS))
        return "\n\n".join(map(_show_hit, hits)) or "Nothing was found. Try other words."

    def open_page(arguments: Mapping[str, str]) -> str:
        docid = arguments.get("docid") or arguments.get("url") or ""
        try:
            document = retriever.open(docid)
        except KeyError:
            raise ToolError(f"there is no document {docid!r}; take a docid from a search result") from None
        return f"[docid: {docid}] {document.title or ''}\n{document.text}"

    limit = f"most documents; {k} by default"
    page = {"docid": "its docid", "url": "its url, where it has one"}
    return [
        Tool("search", "finds documents", {"query": "what to look for", "topk": limit}, search, ("query",)),
        Tool("open_page", "shows a document that a search has found", page, open_page),
    ]


def _show_hit(hit: Hit) -> str:
    url = "" if hit.url is None else f" [url: {hit.url}]"
    return f"[docid: {hit.docid}]{url} {hit.title}\n{hit.passage}"


def _read_number(arguments: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(arguments.get(name, default))
    except ValueError as error:
        raise ToolError(f"{name} is a whole number") from error


def reading_tool(retriever: Retriever, read: Reading = read_passages, k: int = READING_HITS) -> Tool:
    """Return a tool `search` that gives the `k` best documents to `read`, and its text to the model."""
    check_retriever(retriever)
    check_count(k, "k", "documents")
    if not callable(read):
        raise InvalidInputError(f"read is {type_name(read)}. Pass a function, such as read_passages.")

    def search(arguments: Mapping[str, str]) -> str:
        query = arguments["query"]
        hits = retriever.search(query, k)
        return read(arguments.get("question") or query, query, hits) if hits else "Nothing was found."

    parameters = {"query": "what to look for", "question": "what you want to know in the end"}
    return Tool("search", "finds documents and tells what they say", parameters, search, ("query",))


def finish_tool(*, needs_explanation: bool = False) -> Tool:
    """Return the tool that ends the task; the loop reads its arguments.

    needs_explanation: True to require an explanation, as in ZipRL (appendix U).
    """
    parameters = {
        "answer": "the answer, as short as it can be",
        "explanation": "what it rests on, with [docid]s",
        "confidence": "how sure you are, 0 to 100 %",
    }
    required = ("answer", "explanation") if needs_explanation else ("answer",)
    about = "gives the answer and ends the task"
    return Tool("finish", about, parameters, lambda given: json.dumps(dict(given)), required)


def original_tool(lookup: Callable[[str], str | None], part_characters: int) -> Tool:
    """Return the tool `open_original`, which shows the original of a shortened text, part by part."""

    def open_original(arguments: Mapping[str, str]) -> str:
        text = lookup(arguments["id"])
        if text is None:
            raise ToolError(f"there is no original with the id {arguments['id']!r}")
        parts = max(1, -(-len(text) // part_characters))
        part = _read_number(arguments, "part", 1)
        if not 1 <= part <= parts:
            raise ToolError(f"part is {part}, and there are {parts}")
        return f"[part {part} of {parts}]\n{text[(part - 1) * part_characters : part * part_characters]}"

    parameters = {"id": "the id of the original", "part": "which part; 1 by default"}
    about = "shows a text that was shortened, part by part"
    return Tool("open_original", about, parameters, open_original, ("id",))


def find_original(lookup: Callable[[str], str | None], key: str, part: int = 1) -> str:
    """Return a part of the original with the id `key`, for a model, or an error in brackets."""
    try:
        return original_tool(lookup, PART_CHARACTERS).run({"id": key, "part": str(part)})
    except ToolError as error:
        return f"[error: {error}]"


def experience_tool(bank: ExperienceBank, problem: str, recalled: list[str]) -> Tool:
    """Return the tool `retrieve_experience` for one task. Ids of the lessons it gives go to `recalled`."""

    def retrieve(arguments: Mapping[str, str]) -> str:
        lessons = bank.recall(arguments["query"], problem)
        recalled.extend(lesson.experience.id for lesson in lessons)
        return format_experiences(lessons) or "There is no experience yet."

    about = (
        "recalls what earlier tasks have taught: for an unfamiliar problem, when stuck, or before answering"
    )
    parameters = {"query": "what you are about to do, or stuck with"}
    return Tool("retrieve_experience", about, parameters, retrieve, ("query",))
