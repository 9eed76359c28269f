"""Requests and replies. Compression options, their types and their help come from the SDK."""

from __future__ import annotations

import threading
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, create_model

from tersely import Citation, CompressedDocument, CompressionOptions, Span
from tersely.messages import ROLES
from tersely.options import OPTION_FIELDS
from tersely.types import Mark

# The SDK checks values and says what to do. The schema states the same rules for programs that read it.
_COUNT: dict[str, Any] = {"minimum": 1}
_SHARE: dict[str, Any] = {"exclusiveMinimum": 0, "maximum": 1}
_BOUNDS: dict[str, dict[str, Any]] = {
    "budget": _COUNT,
    "rate": _SHARE,
    "recall": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "abstain": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "max_docs": _COUNT,
    "min_tokens": _COUNT,
    "timeout": {"exclusiveMinimum": 0, "maximum": threading.TIMEOUT_MAX},
}
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["role"],
    "properties": {"role": {"enum": list(ROLES)}},
}
# The class \s of JSON Schema lacks some characters that are white space in Python.
_NOT_BLANK: dict[str, Any] = {"pattern": r"[^\s\x1c-\x1f\x85]"}


def _given(name: str, kind: str) -> dict[str, Any]:
    return {"required": [name], "properties": {name: {"type": kind}}}


def _absent(*names: str) -> dict[str, Any]:
    return {"properties": {name: {"type": "null"} for name in names}}


_ONE_LIMIT: dict[str, Any] = {"anyOf": [_absent("budget"), _absent("rate")]}
_QUERY_OR_LIMIT = {
    "anyOf": [
        _given("query", "string"),
        {
            **_absent("recall", "abstain"),
            "anyOf": [_given("budget", "integer"), _given("rate", "number"), _given("level", "integer")],
        },
    ]
}

# In JSON, 5.0 is a whole number too.
_WHOLE = BeforeValidator(lambda value: int(value) if isinstance(value, float) and value % 1 == 0 else value)
_TYPES = get_type_hints(CompressionOptions)
_WHOLE_OPTIONS = ("budget", "level", "max_docs", "min_tokens")
_MaybeCount = Annotated[int | None, _WHOLE]
_RULES: dict[str, Any] = {"allOf": [_ONE_LIMIT, _QUERY_OR_LIMIT]}

OPTIONS: dict[str, Any] = {
    option.name: (
        Annotated[_TYPES[option.name], _WHOLE] if option.name in _WHOLE_OPTIONS else _TYPES[option.name],
        Field(
            option.default,
            description=option.metadata["help"],
            json_schema_extra=_BOUNDS.get(option.name),
        ),
    )
    for option in OPTION_FIELDS
}
_QUERY = "the question that the context should answer"


class _Request(BaseModel):
    # Strict, because a number in quotes is most often a mistake. No other keys, because of misspelt options.
    model_config = ConfigDict(strict=True, extra="forbid")


_Options = create_model("_Options", __base__=_Request, **OPTIONS)


class DocumentBody(BaseModel):
    """A document. Further keys join its metadata."""

    model_config = ConfigDict(strict=True, extra="allow")

    text: str
    title: str | None = None
    id: str | None = None
    metadata: dict[str, Any] = {}


class WithDocuments(_Request):
    query: str | None
    documents: list[str | DocumentBody] = Field(description="texts, or objects with the key `text`")


class MaybeQuestion(WithDocuments):
    query: str | None = Field(
        None,
        description=f"{_QUERY}; null keeps the most informative sentences, up to a limit",
        json_schema_extra=_NOT_BLANK,
    )


class CompressRequest(MaybeQuestion, _Options):
    model_config = ConfigDict(json_schema_extra=_RULES)


class BatchItem(WithDocuments):
    query: str | None = Field(None, description=f"{_QUERY}, or null; an empty one gets a line with an error")
    id: str | int | None = Field(None, description="comes back with the result")


class BatchRequest(_Options):
    model_config = ConfigDict(json_schema_extra=_ONE_LIMIT)

    requests: list[BatchItem] = Field(description="questions with their documents")


class MessagesRequest(_Request):
    model_config = ConfigDict(json_schema_extra=_ONE_LIMIT)

    messages: list[dict[str, Any]] = Field(
        description="a valid chat in OpenAI's format, with a question of the user unless there is a limit",
        json_schema_extra={"items": _MESSAGE},
    )
    query: str | None = Field(
        None,
        description="what the results are needed for; null: the last message of the user",
        json_schema_extra=_NOT_BLANK,
    )
    budget: _MaybeCount = Field(
        None, description="the largest number of tokens of all messages", json_schema_extra=_COUNT
    )
    rate: float | None = Field(
        None, description="the same limit, as a share of the tokens before", json_schema_extra=_SHARE
    )
    timeout: float | None = Field(
        None,
        description="seconds after which the model stops reading",
        json_schema_extra=_BOUNDS["timeout"],
    )


class GatewayConfig(BaseModel):
    model_config = ConfigDict(strict=True)

    frozen_message_count: Annotated[
        int, Field(ge=0, description="first messages that stay as they are"), _WHOLE
    ] = 0


class GatewayRequest(BaseModel):
    """A request of a gateway such as LiteLLM. Further keys are ignored, as gateways add some."""

    messages: list[dict[str, Any]] = Field(description="a chat in OpenAI's format, or any part of one")
    model: str | None = Field(None, description="the model that will read the chat; without effect")
    config: GatewayConfig = GatewayConfig()


FORMS = frozenset({"documents form", "messages form"})
"""Names of the two requests of /v1/compress, in the places of errors."""
CompressBody = Annotated[
    Annotated[CompressRequest, Tag("documents form")] | Annotated[GatewayRequest, Tag("messages form")],
    Discriminator(
        lambda body: "messages form" if isinstance(body, dict) and "messages" in body else "documents form"
    ),
]


class RerankRequest(_Request):
    """A request of text-embeddings-inference."""

    query: str = Field(json_schema_extra=_NOT_BLANK)
    texts: list[str] = Field(min_length=1)
    raw_scores: bool = Field(False, description="log-odds instead of probabilities")
    return_text: bool = False
    truncate: bool = Field(False, description="without effect: long texts are read whole")
    truncation_direction: Literal["left", "right", "Left", "Right"] = "Right"


class NoulQuestion(_Request):
    type: Literal["noul"]
    instructions: str = Field(
        description="the question that the state may answer", json_schema_extra=_NOT_BLANK
    )
    criteria: Any = Field(None, description="without effect")


class ChoiceQuestion(_Request):
    type: Literal["choice"]
    instructions: str = Field(description="the question, if the state has none", json_schema_extra=_NOT_BLANK)
    criteria: dict[str, Any] = Field(description="passages by name", min_length=2, max_length=255)


class SystemOneRequest(_Request):
    """A request of System One. The questions are of the types `noul` and `choice`."""

    state: str | dict[str, Any] | list[Any] = Field(
        description="texts. In an object, `question` or `query` is asked in place of the instructions"
    )
    questions: dict[str, Annotated[NoulQuestion | ChoiceQuestion, Field(discriminator="type")]] = Field(
        min_length=1
    )
    model: str | None = Field(None, description="without effect")


class SummarizeRequest(WithDocuments):
    query: str = Field(  # pyright: ignore[reportIncompatibleVariableOverride]
        description=_QUERY, json_schema_extra=_NOT_BLANK
    )
    question: str | None = Field(
        None,
        description="what the user wants to know, if more than the query",
        json_schema_extra=_NOT_BLANK,
    )
    budget: _MaybeCount = Field(
        None, description="the largest number of tokens of the summary", json_schema_extra=_COUNT
    )


class CompressReply(BaseModel):
    """`Compression.to_dict()`: offsets are code points of the document `doc` of the request."""

    text: str
    documents: list[CompressedDocument]
    kept: list[Span]
    dropped: list[Span]
    citations: list[Citation]
    marks: list[Mark]
    relevance: list[float]
    tokens_before: int
    tokens_after: int
    rate: float
    status: str
    reason: str | None
    model: str
    warnings: list[str]
    recall_met: bool | None
    answerable: float | None
    refused: float | None
    distance: float | None
    calibrated: bool | None
    best_fits: bool | None
    timings: dict[str, float]


class MessagesReply(BaseModel):
    messages: list[dict[str, Any]]
    results: list[int] = Field(description="document i of the receipt is message results[i]")
    tokens_before: int
    tokens_after: int
    receipt: CompressReply


class GatewayResult(BaseModel):
    message: int = Field(description="position of the message with the shortened text")
    hash: str = Field(description="id of the original, for /v1/retrieve")
    best_fits: bool | None = Field(
        description="false if the limit had no room for the part with the highest score"
    )
    answerable: float | None = Field(description="probability that the text answers the question")


class GatewayReply(BaseModel):
    messages: list[dict[str, Any]]
    tokens_before: int = Field(description="tokens of the texts of all messages")
    tokens_after: int
    tokens_saved: int
    compression_ratio: float = Field(description="tokens_after / tokens_before; 1 without texts")
    transforms_applied: list[str]
    ccr_hashes: list[str] = Field(description="ids of the shortened results, for /v1/retrieve")
    results: list[GatewayResult] = Field(description="one for each shortened text")


class NoulAnswer(BaseModel):
    type: Literal["noul"]
    noul: float = Field(description="probability that the texts answer the question")


class ChoiceAnswer(BaseModel):
    type: Literal["choice"]
    choice: str
    probabilities: dict[str, float]
    confidence: float = Field(
        description="1 if one option has all of the probability, 0 if all have the same"
    )


class SystemOneUsage(BaseModel):
    input_tokens: int
    output_tokens: int


class SystemOneReply(BaseModel):
    model: str
    answers: dict[str, NoulAnswer | ChoiceAnswer]
    usage: SystemOneUsage


class Original(BaseModel):
    hash: str
    original_content: str


class Ranked(BaseModel):
    index: int
    score: float
    pruned_text: str = Field(description="the sentences that the query needs; may be empty")
    text: str | None = None


class ErrorBody(BaseModel):
    type: str
    message: str


class ErrorReply(BaseModel):
    error: ErrorBody


class Health(BaseModel):
    status: Literal["ok"]
    version: str
    model: str
