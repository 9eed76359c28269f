"""What an agent can do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tersely.errors import InvalidInputError
from tersely.inputs import check_members, is_list_of, type_name
from tersely_agents.agent.retrieval import Hit, Retriever, check_retriever
from tersely_agents.experience.bank import ExperienceBank
from tersely_agents.experience.extraction import format_experiences

TOP_K = 10
"""Documents that a search gives, unless the agent says otherwise (ZipRL, appendix U)."""
MOST = 50


class ToolError(Exception):
    """A tool was called with arguments that it cannot use; the message is for the model."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    `parameters` maps each parameter to what it is; those in `required` must be given. `run` gets texts by
    name and returns the text that the model gets to see.
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
        if not is_list_of(self.required, str) or any(n not in self.parameters for n in self.required):
            raise InvalidInputError(
                f"required {where} is {self.required!r}. Pass a tuple of names of parameters."
            )

    def check(self, arguments: Mapping[str, str]) -> None:
        """Raises ToolError for a parameter that is unknown or missing."""
        for name in arguments:
            if name not in self.parameters:
                raise ToolError(
                    f"{self.name} has no parameter {name!r}, only {', '.join(self.parameters) or 'none'}"
                )
        for name in self.required:
            if not arguments.get(name, "").strip():
                raise ToolError(f"{self.name} needs the parameter {name!r}")

    def schema(self) -> dict[str, Any]:
        """The tool in OpenAI's format."""
        properties = {name: {"type": "string", "description": text} for name, text in self.parameters.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.required)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def describe(self) -> str:
        """The tool as text, for a prompt."""
        lines = [
            f"  {name} ({'required' if name in self.required else 'optional'}): {text}"
            for name, text in self.parameters.items()
        ]
        return "\n".join([f"{self.name}: {self.description}", *lines])


def search_tools(retriever: Retriever) -> list[Tool]:
    """`search` and `open_page` over a retriever."""
    check_retriever(retriever)

    def search(arguments: Mapping[str, str]) -> str:
        try:
            k = int(arguments.get("topk", TOP_K))
        except ValueError as error:
            raise ToolError("topk is a whole number") from error
        hits = retriever.search(arguments["query"], min(max(1, k), MOST))
        if not hits:
            return "Nothing was found. Try other words."
        return "\n\n".join(_show_hit(hit) for hit in hits)

    def open_page(arguments: Mapping[str, str]) -> str:
        docid = arguments.get("docid") or arguments.get("url") or ""
        try:
            document = retriever.open(docid)
        except KeyError:
            raise ToolError(f"there is no document {docid!r}; take a docid from a search result") from None
        return f"[docid: {docid}] {document.title or ''}\n{document.text}"

    return [
        Tool(
            "search",
            "finds documents",
            {"query": "what to look for", "topk": f"most documents; {TOP_K} by default"},
            search,
            ("query",),
        ),
        Tool(
            "open_page",
            "shows a document that a search has found",
            {"docid": "its docid", "url": "its url, where it has one"},
            open_page,
        ),
    ]


def _show_hit(hit: Hit) -> str:
    url = "" if hit.url is None else f" [url: {hit.url}]"
    return f"[docid: {hit.docid}]{url} {hit.title}\n{hit.passage}"


def finish_tool(*, needs_explanation: bool = False) -> Tool:
    """Ends the task; the loop reads its arguments. ZipRL's needs an explanation (appendix U)."""
    return Tool(
        "finish",
        "gives the answer and ends the task",
        {
            "answer": "the answer, as short as it can be",
            "explanation": "what it rests on, with [docid]s",
            "confidence": "how sure you are, 0 to 100 %",
        },
        lambda arguments: json.dumps(dict(arguments)),
        ("answer", "explanation") if needs_explanation else ("answer",),
    )


def original_tool(lookup: Callable[[str], str | None], part: int) -> Tool:
    """`open_original` for texts that were shortened, `part` characters at a time."""

    def open_original(arguments: Mapping[str, str]) -> str:
        text = lookup(arguments["id"])
        if text is None:
            raise ToolError(f"there is no original with the id {arguments['id']!r}")
        parts = max(1, -(-len(text) // part))
        try:
            number = int(arguments.get("part", "1"))
        except ValueError as error:
            raise ToolError("part is a whole number") from error
        if not 1 <= number <= parts:
            raise ToolError(f"part is {number}, and there are {parts}")
        return f"[part {number} of {parts}]\n{text[(number - 1) * part : number * part]}"

    return Tool(
        "open_original",
        "shows a text that was shortened, part by part",
        {"id": "the id of the original", "part": "which part; 1 by default"},
        open_original,
        ("id",),
    )


def experience_tool(bank: ExperienceBank, problem: str, recalled: list[str]) -> Tool:
    """`retrieve_experience` for one task; the ids of what it gives go to `recalled`."""

    def retrieve(arguments: Mapping[str, str]) -> str:
        lessons = bank.recall(arguments["query"], problem)
        recalled.extend(lesson.experience.id for lesson in lessons)
        return format_experiences(lessons) or "There is no experience yet."

    return Tool(
        "retrieve_experience",
        "recalls what earlier tasks have taught: for an unfamiliar problem, when stuck, or before answering",
        {"query": "what you are about to do, or stuck with"},
        retrieve,
        ("query",),
    )


PART_CHARACTERS = 4000
"""Characters of an original that a model is shown at once."""


def find_original(lookup: Callable[[str], str | None], key: str, part: int = 1) -> str:
    """A part of the original with the id `key`, for a model; an error in brackets where there is none."""
    try:
        return original_tool(lookup, PART_CHARACTERS).run({"id": key, "part": str(part)})
    except ToolError as error:
        return f"[error: {error}]"
