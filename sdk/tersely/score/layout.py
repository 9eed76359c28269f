"""Windows: a query and documents as token ids for the encoder.

One window is (EFFCOMP section 3.1, with a marker per document so that reranking shares the forward pass):

    [CLS] query [SEP] (evidence [SEP]) [DOC] title [SEN] s1 [SEN] s2 ... [DOC] title [SEN] ... [SEP]

The encoder's hidden state at `[SEN]` gives the keep logit of that sentence, and the one at `[DOC]` gives the
relevance logit of that document. The evidence is a sentence that the first pass found; with it, the second
pass can follow a hop that the question does not name. Training, ONNX inference and the parity tests all build
windows here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely.errors import ArtifactError
from tersely.runtime.artifacts import Artifact
from tersely.runtime.cancellation import check_cancelled, current_time_limit
from tersely.score.protocol import ScoredInput
from tersely.tokens import replace_surrogates

LAYOUT_VERSION = 1
"""Version of the layout. It changes when the same input gives other windows. An artifact of another version
is refused."""

INPUT_NAMES = ("input_ids", "attention_mask", "segments", "sentence_positions", "doc_positions")
OUTPUT_NAMES = ("keep_logits", "relevance_logits")

TEXTS_AT_ONCE = 1024
"""Number of texts that the tokenizer gets at a time, because its output takes 20 times the RAM of the ids."""

Ids = list[int]
"""Token ids."""


@dataclass(frozen=True, slots=True)
class LayoutConfig:
    """Settings of windows. All lengths are in tokens."""

    cls_id: int
    sep_id: int
    pad_id: int
    sen_id: int
    doc_id: int
    max_length: int
    """Longest window, special tokens included."""
    docs_per_window: int = 1
    """Number of documents in a window. 1 keeps windows short, which is fast on a CPU. A long-context encoder
    reads many documents together."""
    query_length: int = 64
    title_length: int = 24
    evidence_length: int = 64

    def to_dict(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, int]) -> LayoutConfig:
        """Read an object from the values of `to_dict`. Raises TypeError or ValueError for anything else."""
        if any(type(value) is not int or value < 0 for value in values.values()):
            raise ValueError("the layout holds values that are not whole numbers of 0 or more")
        return cls(**values)


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """Token ids of one document: its title and each of its sentences, without special tokens."""

    title: Ids
    sentences: Sequence[Ids]


@dataclass(slots=True)
class Window:
    """One input of the encoder, and the sentence or document of each of its markers."""

    input_ids: Ids
    owners: list[int]
    """The owner of each token: 0 for the query, k >= 1 for the window's k-th sentence, -1 for everything
    else."""
    sentence_positions: list[int] = field(default_factory=list[int])
    doc_positions: list[int] = field(default_factory=list[int])
    sentences: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(document, sentence) of each `[SEN]`. A sentence longer than a window appears more than once."""
    documents: list[int] = field(default_factory=list[int])


class Layout:
    """A builder of windows with a tokenizer and settings. Threads may share it, because it has no state."""

    def __init__(self, tokenizer: Tokenizer, config: LayoutConfig) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        self.config = config

    @classmethod
    def load(cls, artifact: Artifact) -> Layout:
        """Load the layout of a model. Raises ArtifactError for another layout version or an unusable
        tokenizer."""
        check_layout_version(artifact)
        with artifact.translate_errors():
            tokenizer = Tokenizer.from_file(str(artifact.tokenizer_path))
            return cls(tokenizer, LayoutConfig.from_dict(artifact.config["layout"]))

    def tokenize(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text, without special tokens.

        Raises WorkCancelledError once the request is cancelled, and TimeIsUpError once its time is up.
        """
        ids: list[Ids] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            check_cancelled()
            current_time_limit().check()
            batch = [
                t if t.isascii() else replace_surrogates(t) for t in texts[start : start + TEXTS_AT_ONCE]
            ]
            ids += [e.ids for e in self.tokenizer.encode_batch(batch, add_special_tokens=False)]
        return ids

    def windows(
        self, query: Sequence[int], documents: Sequence[EncodedDocument], *, evidence: Ids | None = None
    ) -> list[Window]:
        """Return windows that together read every token of every sentence, in document order."""
        builder = _Builder(self._prefix(query, evidence), self.config)
        for index, document in enumerate(documents):
            builder.add(index, document)
        return builder.finish()

    def _prefix(self, query: Sequence[int], evidence: Ids | None) -> tuple[Ids, list[int]]:
        """Return the ids in front of the first document, and their owners."""
        c = self.config
        query = query[: c.query_length]
        ids = [c.cls_id, *query, c.sep_id]
        owners = [-1, *([0] * len(query)), -1]
        if evidence:
            tail = [*evidence[: c.evidence_length], c.sep_id]
            ids += tail
            owners += [-1] * len(tail)
        return ids, owners


def check_layout_version(artifact: Artifact) -> None:
    """Raise ArtifactError if the model was exported for another `LAYOUT_VERSION`."""
    version = artifact.config.get("layout_version")
    if version != LAYOUT_VERSION:
        is_newer = isinstance(version, int) and version > LAYOUT_VERSION
        raise ArtifactError(
            f"{artifact.path} has layout version {version!r}; this version of tersely reads "
            f"{LAYOUT_VERSION}. "
            + ("Upgrade tersely." if is_newer else "Export the model again with this version.")
        )


class _Builder:
    """A builder of the windows of one request."""

    def __init__(self, prefix: tuple[Ids, list[int]], config: LayoutConfig) -> None:
        self._ids, self._owners = prefix
        self._config = config
        self._finished: list[Window] = []
        self._window = self._make_window()

    def add(self, index: int, document: EncodedDocument) -> None:
        """Add all sentences of a document, in as many windows as they need."""
        if not document.sentences:
            return
        if len(self._window.documents) >= self._config.docs_per_window:
            self._finish_window()
        self._open_document(index, document.title)
        for number, sentence in enumerate(document.sentences):
            start = 0
            while True:
                room = self._room()
                if len(sentence) - start > room and self._window.sentences:
                    self._finish_window()
                    self._open_document(index, document.title)
                    continue
                self._append_sentence(index, number, sentence[start : start + room])
                start += room
                if start >= len(sentence):
                    break

    def finish(self) -> list[Window]:
        """Return all windows."""
        self._finish_window()
        return self._finished

    def _room(self) -> int:
        """Return the tokens left for one more sentence, after its marker and the final separator."""
        return self._config.max_length - len(self._window.input_ids) - 2

    def _make_window(self) -> Window:
        return Window(list(self._ids), list(self._owners))

    def _finish_window(self) -> None:
        """Begin another window. Drop the present one if it has no sentence."""
        if self._window.sentences:
            self._window.input_ids.append(self._config.sep_id)
            self._window.owners.append(-1)
            self._finished.append(self._window)
        self._window = self._make_window()

    def _open_document(self, index: int, title: Ids) -> None:
        head = [self._config.doc_id, *title[: self._config.title_length]]
        if self._room() - len(head) < 1:
            self._finish_window()
        if self._room() - len(head) < 1:
            raise ValueError(
                f"max_length {self._config.max_length} leaves no room for a sentence after the query, the "
                "evidence and a title; raise it, or lower their lengths"
            )
        window = self._window
        window.doc_positions.append(len(window.input_ids))
        window.documents.append(index)
        window.input_ids += head
        window.owners += [-1] * len(head)

    def _append_sentence(self, index: int, number: int, ids: Ids) -> None:
        window = self._window
        window.sentence_positions.append(len(window.input_ids))
        window.sentences.append((index, number))
        window.input_ids += [self._config.sen_id, *ids]
        window.owners += [-1, *([len(window.sentences)] * len(ids))]


def collate(windows: Sequence[Window], pad_id: int) -> dict[str, NDArray[np.int64]]:
    """Pad windows to a batch of (B) rows, under the names of `INPUT_NAMES`.

    Ids, mask and owners ("segments") have shape (B, L), sentence positions (B, S), document positions (B, D).
    Padded positions point at token 0; callers read only as many as a window has markers.
    """

    def pad(rows: Sequence[list[int]], value: int) -> NDArray[np.int64]:
        out = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
        for i, row in enumerate(rows):
            out[i, : len(row)] = row
        return out

    ids = pad([w.input_ids for w in windows], pad_id)
    return {
        "input_ids": ids,
        "attention_mask": pad([[1] * len(w.input_ids) for w in windows], 0),
        "segments": pad([w.owners for w in windows], -1),
        "sentence_positions": pad([w.sentence_positions for w in windows], 0),
        "doc_positions": pad([w.doc_positions for w in windows], 0),
    }


def batches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Yield indices in batches of similar length, of at most `max_tokens` tokens with padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and lengths[index] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class RequestIds(NamedTuple):
    """Token ids of a request: of the query, of each title, and of each sentence."""

    query: Ids
    titles: list[Ids]
    sentences: list[Ids]

    def group_by_document(self, documents: Sequence[ScoredInput]) -> list[EncodedDocument]:
        """Return the ids of each document."""
        out: list[EncodedDocument] = []
        start = 0
        for title, document in zip(self.titles, documents, strict=True):
            end = start + len(document.units)
            out.append(EncodedDocument(title, self.sentences[start:end]))
            start = end
        return out


def tokenize_request(layout: Layout, query: str, documents: Sequence[ScoredInput]) -> RequestIds:
    """Return the ids of a request. Only texts without prepared ids are tokenized.

    Raises the errors of `Layout.tokenize`.
    """
    texts = [query, *(d.title or "" for d in documents)]
    texts += [d.text[u.start : u.end] for d in documents for u in d.units]
    known: list[Ids | None] = [None]
    known += [None if d.preparation is None else list(d.preparation.title_ids) for d in documents]
    known += [ids for d in documents for ids in _find_prepared_ids(d)]
    missing = iter(layout.tokenize([text for text, ids in zip(texts, known, strict=True) if ids is None]))
    ids = [next(missing) if prepared is None else prepared for prepared in known]
    count = len(documents)
    return RequestIds(ids[0], ids[1 : count + 1], ids[count + 1 :])


def _find_prepared_ids(document: ScoredInput) -> list[Ids | None]:
    """Return the prepared ids of each unit; None for a unit without any."""
    if document.preparation is None:
        return [None] * len(document.units)
    ids = document.preparation.ids
    return [None if at is None else list(ids[at]) for at in document.preparation.locate(document.units)]
