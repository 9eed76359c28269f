"""The model in this repository: complete, documented, and the same in a batch and alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tersely import Compressor, Document
from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.score.calibration import read_calibration
from tersely.score.layout import (
    OUTPUT_NAMES,
    EncodedDocument,
    Layout,
    LayoutConfig,
    Window,
    collate,
)

MODEL = Path(__file__).resolve().parents[2] / "models" / "tersely-mini"
MANIFEST: dict[str, Any] = json.loads((MODEL / "manifest.json").read_text(encoding="utf-8"))
CONFIG: dict[str, Any] = json.loads((MODEL / "config.json").read_text(encoding="utf-8"))
CARD = (MODEL / "README.md").read_text(encoding="utf-8")
GRAPH = MODEL / "onnx" / "model_quantized.onnx"
QUESTION = "Who designed the lighthouse of Brackmoor, and when was it finished?"
TEXTS = (
    ("Brackmoor", ("The lighthouse of Brackmoor was designed by Ida Penrose.", "It was finished in 1871.")),
    (
        "Tarnwick",
        ("Tarnwick is a market town.", "Its main export is barley.", "The market is held on Tuesday."),
    ),
    ("", ("Copper wire is drawn through a die.",)),
    ("Ida Penrose", ("Ida Penrose was an engineer.", "She was born in Lindisvale. " * 12, "She never swam.")),
    ("Tides", tuple(f"On day {n} the water stood {n * 7} hands high." for n in range(9))),
)

Logits = tuple[NDArray[np.float32], NDArray[np.float32]]


def test_the_manifest_lists_every_file_and_its_checksum() -> None:
    files = {p.relative_to(MODEL).as_posix(): p for p in MODEL.rglob("*") if p.is_file()}
    del files["manifest.json"]
    actual = {
        name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
        for name, path in files.items()
    }
    assert actual == MANIFEST["files"]


def test_the_card_names_the_base_model_and_the_licence() -> None:
    header = CARD.split("---")[1].splitlines()
    assert f"base_model: {MANIFEST['base_model']}" in header
    assert "license: apache-2.0" in header


def test_the_card_names_every_training_set_with_its_licence() -> None:
    part = CARD.split("## Training data")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line
    ]
    licences = {name: licence for name, _, licence in rows[2:]}
    assert sorted(licences) == sorted(MANIFEST["data"])
    assert MANIFEST["data"]
    for licence in licences.values():
        assert licence.startswith(("CC BY", "MIT", "Apache-2.0", "CC0", "of each package"))


@pytest.fixture(scope="module")
def windows() -> list[Window]:
    layout = Layout(
        Tokenizer.from_file(str(MODEL / "tokenizer.json")), LayoutConfig.from_dict(CONFIG["layout"])
    )
    documents = [
        EncodedDocument(layout.tokenize([title])[0], layout.tokenize(sentences)) for title, sentences in TEXTS
    ]
    return layout.windows(layout.tokenize([QUESTION])[0], documents)


@pytest.fixture(scope="module")
def session() -> EncoderSession:
    return EncoderSession(GRAPH, threads=1)


def run(session: EncoderSession, windows: Sequence[Window]) -> list[Logits]:
    """Return the logits of each window's sentences and documents, read in one batch."""
    keep, relevance = session.run(collate(windows, CONFIG["layout"]["pad_id"]), OUTPUT_NAMES)
    assert keep.dtype == relevance.dtype == np.float32
    return [
        (keep[row, : len(w.sentences)], relevance[row, : len(w.documents)]) for row, w in enumerate(windows)
    ]


def flat(rows: Sequence[Logits]) -> NDArray[np.float32]:
    return np.concatenate([part for row in rows for part in row])


def test_batched_and_single_runs_agree(session: EncoderSession, windows: list[Window]) -> None:
    # Not to rounding: the int8 graph scales its activations by the largest value of the whole batch.
    batched = flat(run(session, windows))
    single = flat([run(session, [window])[0] for window in windows])
    assert np.abs(batched - single).max() < 1.25
    assert np.corrcoef(batched, single)[0, 1] > 0.97


def test_bundled_calibration_promises_up_to_99_percent() -> None:
    calibration = read_calibration(load_artifact(MODEL))
    assert calibration is not None
    assert sum(calibration.questions.values()) == len(calibration.scores) >= 500
    assert calibration.highest_recall > 0.99
    documents = [Document(" ".join(sentences), title) for title, sentences in TEXTS]
    sizes = [Compressor().compress(QUESTION, documents, recall=r).tokens_after for r in (0.8, 0.95, 0.99)]
    assert sizes == sorted(sizes)
    assert "1871" in Compressor().compress(QUESTION, documents, recall=0.95).text
