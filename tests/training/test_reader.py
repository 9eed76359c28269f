"""The extractive reader: its contexts, its loss, and its training up to an ONNX graph that answers."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from benchmarks.shared.readers import Prompt, open_reader
from benchmarks.shared.readers.extractive import ExtractiveReader, SpanLayout, collate, cut_windows
from benchmarks.shared.tasks.rows import read_rows
from tests.training.tiny import make_reader_config
from training.reader.__main__ import make_reader
from training.reader.data import MarkedContext, draw_context, read_sources
from training.reader.model import SpanModel, span_loss
from training.reader.train import make_example
from training.run import Run
from training.selector_model.groups import belongs_to_readers, write_groups
from training.selector_model.questions import parse_question


def read_ids(
    data: Path, name: str, trained: set[str] | None = None, heldout: set[str] | None = None
) -> set[str]:
    sources = read_sources(data, (name,), trained or set(), heldout or set(), random.Random(3))
    return {source.name.split()[1] for source in sources}


def list_usable(data: Path) -> list[str]:
    questions = [parse_question(row) for row in read_rows(data, "train", "hotpotqa")]
    return [q.id for q in questions if q.answers != ("yes",)]


def test_marked_span_is_the_answer(data: Path) -> None:
    sources = read_sources(data, ("qed_nq", "hotpotqa"), set(), set(), random.Random(3))
    assert len(sources) == 8 + sum(belongs_to_readers("hotpotqa", number) for number in list_usable(data))
    rng = random.Random(4)
    with_answer = without_answer = 0
    for source in sources * 20:
        marked = draw_context(source, rng)
        answer = source.documents[0].text[slice(*source.answer)]
        if marked.answer:
            with_answer += 1
            assert marked.context[slice(*marked.answer)] == answer
        else:
            without_answer += 1
            # Fixtures of HotpotQA repeat their towns, so another document can contain a lost answer.
            assert len(source.documents) > 4 or answer not in marked.context
    assert with_answer > without_answer > 0


def test_reader_gets_its_half_without_the_selectors_questions(data: Path) -> None:
    assert len(read_ids(data, "qed_nq") - read_ids(data, "qed_nq", {"town-0"}, {"town-1"})) == 2
    usable = list_usable(data)
    half = read_ids(data, "hotpotqa", {"hop-0"})
    assert half == {number for number in usable if belongs_to_readers("hotpotqa", number)}
    assert 0 < len(half) < len(usable)
    held = min(half)
    assert half - read_ids(data, "hotpotqa", set(), {held}) == {held}
    assert not any(belongs_to_readers("qed_nq", str(number)) for number in range(40))


def test_loss_matches_values_worked_by_hand() -> None:
    start = torch.tensor([[0.0, 5.0, 1.0, 2.0]])
    end = torch.tensor([[0.0, 5.0, 0.0, 3.0]])
    allowed = torch.tensor([[True, False, True, True]])  # the question does not compete
    loss = span_loss(start, end, allowed, torch.tensor([2]), torch.tensor([3]))
    first = math.log(math.exp(0) + math.exp(1) + math.exp(2)) - 1
    last = math.log(math.exp(0) + math.exp(0) + math.exp(3)) - 3
    assert float(loss) == pytest.approx((first + last) / 2)


@pytest.fixture(scope="module")
def folder(bert: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished reader."""
    selector, out = tmp_path_factory.mktemp("selector"), tmp_path_factory.mktemp("reader")
    for part in ("train", "heldout"):
        write_groups(selector, part, [])
    make_reader(make_reader_config(bert), data, selector, out)
    return out


@pytest.fixture
def reader(folder: Path) -> ExtractiveReader:
    return ExtractiveReader(folder)


def test_graph_answers_as_torch_does(reader: ExtractiveReader, folder: Path, bert: Path) -> None:
    text = "Orvelle is a harbour town. It was founded by Ada Penrose. " * 6
    rows = list(cut_windows(reader.tokenizer, reader.layout, Prompt("Who founded Orvelle?", text)))
    assert len(rows) > 1
    covered = {offset for w in rows for offset in w.offsets}
    assert len(covered) == len(reader.tokenizer.encode(text, add_special_tokens=False).ids)
    model = SpanModel(AutoModel.from_pretrained(bert, attn_implementation="eager"))
    model.load_state_dict(torch.load(folder / "reader.pt"))
    arrays = collate(rows, reader.layout.pad_id)
    with torch.inference_mode():
        start, _ = model.eval()(**{k: torch.from_numpy(v) for k, v in arrays.items()})
    (graph,) = reader._session.run(arrays, ["start"])
    for row, length in enumerate(arrays["attention_mask"].sum(1)):
        expected = start[row, :length].tolist()
        assert graph[row, :length].tolist() == pytest.approx(expected, abs=0.25)  # int8


def test_answers_are_spans_of_their_context(reader: ExtractiveReader) -> None:
    prompts = [Prompt("Who founded Orvelle?", "Orvelle was founded by Ada Penrose. " * n) for n in (0, 1, 9)]
    answers = reader.answer(prompts)
    assert answers[0] == ""
    assert all(a in p.context for a, p in zip(answers, prompts, strict=True) if a is not None)
    assert reader.answer(prompts[::-1]) == answers[::-1]


def test_window_that_cuts_the_answer_is_dropped(reader: ExtractiveReader) -> None:
    head = len(reader.tokenizer.encode("who", add_special_tokens=False).ids) + 2
    layout = SpanLayout(2, 3, 0, max_length=head + 4 + 1, stride=0)  # four tokens of context

    def make(context: str) -> tuple[object, ...] | None:
        at = context.index("ada")
        marked = MarkedContext("who", context, (at, at + len("ada penrose")))
        return make_example(reader.tokenizer, layout, marked, random.Random(1))

    assert make("salt salt salt ada penrose salt") is None
    example = make("salt salt ada penrose salt")
    assert example is not None
    assert example[1:] == (head + 2, head + 3)


def test_finished_reader_lists_its_questions_and_results(folder: Path, reader: ExtractiveReader) -> None:
    facts = json.loads((folder / "reader.json").read_text())
    card = (folder / "README.md").read_text()
    assert "| squad_train44 | SQuAD 1.1" in card
    assert f"F1 {facts['heldout']['f1']}" in card
    names = reader.trained_on
    assert names is not None
    assert len(names) == facts["sources"]
    assert {name.split()[0] for name in names} <= {"squad_train44", "hotpotqa"}
    older = Path(__file__).parents[2] / "models" / "span-reader"
    assert open_reader(f"extractive:{older}").trained_on is None
    run = Run(folder / "run")
    assert run.history[-1]["contexts"] == facts["contexts"] > 0
    assert not (run.folder / "checkpoint.pt").exists()  # the same command trains anew
