"""The extractive reader: its contexts, its loss, and its training up to an ONNX graph that answers."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
from training.selector_model.groups import Question, belongs_to_readers, parse_question, write_groups


def policy_questions(data: Path) -> list[Question]:
    return [parse_question(row) for row in read_rows(data, "train", "hotpotqa")]


def test_the_marked_span_is_the_answer(data: Path) -> None:
    sources = read_sources(data, ("qed_nq", "hotpotqa"), set(), set(), random.Random(3))
    own = [
        q for q in policy_questions(data) if belongs_to_readers("hotpotqa", q.id) and q.answers != ("yes",)
    ]
    assert len(sources) == 8 + len(own)
    # Fixtures of HotpotQA repeat their towns: there a lost answer may stand elsewhere.
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
            assert len(source.documents) > 4 or answer not in marked.context
    assert with_answer > without_answer > 0


def test_questions_of_the_selector_are_left_out(data: Path) -> None:
    everything = {s.question for s in read_sources(data, ("qed_nq",), set(), set(), random.Random(3))}
    rest = {s.question for s in read_sources(data, ("qed_nq",), {"town-0"}, {"town-1"}, random.Random(3))}
    assert len(everything - rest) == 2


def test_the_loss_matches_values_worked_by_hand() -> None:
    start = torch.tensor([[0.0, 5.0, 1.0, 2.0]])
    end = torch.tensor([[0.0, 5.0, 0.0, 3.0]])
    allowed = torch.tensor([[True, False, True, True]])  # the question does not compete
    loss = span_loss(start, end, allowed, torch.tensor([2]), torch.tensor([3]))
    first = math.log(math.exp(0) + math.exp(1) + math.exp(2)) - 1
    last = math.log(math.exp(0) + math.exp(0) + math.exp(3)) - 3
    assert float(loss) == pytest.approx((first + last) / 2)


@pytest.fixture(scope="module")
def reader_folder(tiny_encoder: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "modernbert" in str(tiny_encoder):
        pytest.skip("one encoder is enough")
    selector, out = tmp_path_factory.mktemp("selector"), tmp_path_factory.mktemp("reader")
    for part in ("train", "heldout"):
        write_groups(selector, part, [])
    make_reader(make_reader_config(tiny_encoder), data, selector, out)
    return out


def test_the_graph_answers_as_torch_does(reader_folder: Path, tiny_encoder: Path) -> None:
    reader = ExtractiveReader(reader_folder)
    text = "Orvelle is a harbour town. It was founded by Ada Penrose. " * 6
    prompt = Prompt("Who founded Orvelle?", text)
    rows = list(cut_windows(reader.tokenizer, reader.layout, prompt))
    assert len(rows) > 1
    covered = {offset for w in rows for offset in w.offsets}
    assert len(covered) == len(reader.tokenizer.encode(text, add_special_tokens=False).ids)
    model = SpanModel(AutoModel.from_pretrained(tiny_encoder, attn_implementation="eager"))
    model.load_state_dict(torch.load(reader_folder / "reader.pt"))
    arrays = collate(rows, reader.layout.pad_id)
    with torch.inference_mode():
        start, _ = model.eval()(**{k: torch.from_numpy(v) for k, v in arrays.items()})
    (start_onnx,) = reader._session.run(arrays, ["start"])
    lengths = arrays["attention_mask"].sum(1)
    for row, length in enumerate(lengths):
        assert start_onnx[row, :length].tolist() == pytest.approx(
            start[row, :length].tolist(), abs=0.25
        )  # int8


def test_answers_are_spans_of_their_context(reader_folder: Path) -> None:
    reader = ExtractiveReader(reader_folder)
    prompts = [Prompt("Who founded Orvelle?", "Orvelle was founded by Ada Penrose. " * n) for n in (0, 1, 9)]
    answers = reader.answer(prompts)
    assert answers[0] == ""
    assert all(a in p.context for a, p in zip(answers, prompts, strict=True) if a is not None)
    assert reader.answer(prompts) == answers
    assert reader.answer(prompts[::-1]) == answers[::-1]


def test_a_reader_learns_its_half_of_multi_hop_sets_without_held_out_questions(data: Path) -> None:
    everything = {s.name for s in read_sources(data, ("hotpotqa",), {"hop-0"}, set(), random.Random(3))}
    usable = [q for q in policy_questions(data) if q.answers != ("yes",)]
    assert everything == {f"hotpotqa {q.id}" for q in usable if belongs_to_readers("hotpotqa", q.id)}
    assert 0 < len(everything) < len(usable)
    held = sorted(everything)[0].split()[1]
    rest = {s.name for s in read_sources(data, ("hotpotqa",), set(), {held}, random.Random(3))}
    assert everything - rest == {f"hotpotqa {held}"}


@given(st.sampled_from(["hotpotqa", "twowiki", "qed_nq"]), st.text())
def test_a_question_is_for_readers_or_for_policies_wherever_it_is_asked(source: str, number: str) -> None:
    assert belongs_to_readers(source, number) in ({True, False} if source != "qed_nq" else {False})


def test_a_window_that_cuts_the_answer_is_left_out(reader_folder: Path) -> None:
    reader = ExtractiveReader(reader_folder)
    head = len(reader.tokenizer.encode("who", add_special_tokens=False).ids) + 2
    layout = SpanLayout(2, 3, 0, max_length=head + 4 + 1, stride=0)  # four tokens of context
    context = "salt salt salt ada penrose salt"
    marked = MarkedContext("who", context, (context.index("ada"), context.index(" salt", 20)))
    assert make_example(reader.tokenizer, layout, marked, random.Random(1)) is None
    shifted = MarkedContext(
        "who", context[5:], (marked.answer[0] - 5, marked.answer[1] - 5) if marked.answer else None
    )
    example = make_example(reader.tokenizer, layout, shifted, random.Random(1))
    assert example is not None
    assert example[1:] == (head + 2, head + 3)


def test_the_card_names_the_training_sets_and_the_results(reader_folder: Path) -> None:
    card = (reader_folder / "README.md").read_text()
    assert "| squad_train44 | SQuAD 1.1" in card
    assert f"F1 {json.loads((reader_folder / 'reader.json').read_text())['heldout']['f1']}" in card


def test_a_reader_lists_what_it_was_trained_on(reader_folder: Path) -> None:
    card = json.loads((reader_folder / "reader.json").read_text())
    names = ExtractiveReader(reader_folder).trained_on
    assert names is not None
    assert len(names) == card["sources"]
    assert {name.split()[0] for name in names} <= {"squad_train44", "hotpotqa"}
    older = Path(__file__).parents[2] / "models" / "span-reader"
    assert open_reader(f"extractive:{older}").trained_on is None


def test_a_finished_reader_has_learned_and_is_trained_anew_by_the_same_command(reader_folder: Path) -> None:
    run = Run(reader_folder / "run")
    assert run.history[-1]["contexts"] == json.loads((reader_folder / "reader.json").read_text())["contexts"]
    assert run.history[-1]["contexts"] > 0
    assert not (run.folder / "checkpoint.pt").exists()
