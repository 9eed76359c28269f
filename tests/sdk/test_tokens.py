"""Token counters: what a caller may pass, the errors, and the built-in estimate."""

from __future__ import annotations

import hashlib
import random
import socket
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from tersely import tokens
from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.tokens import ApproximateCounter, TokenCounter, count_tokens, replace_surrogates, resolve_counter
from tests.sdk.inputs import text as random_text

TOKENIZER = Path(__file__).parents[2] / "models" / "tersely-mini" / "tokenizer.json"
FILE_COUNTER = resolve_counter(TOKENIZER)
ENCODINGS = ["o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base"]

any_text = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),  # lone surrogates and NUL included
    st.integers(0, 1 << 32).map(lambda seed: random_text(random.Random(seed))),
)


@pytest.fixture(autouse=True)
def forbid_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was touched")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


class FakeTiktoken(SimpleNamespace):
    """The used part of tiktoken. `opened` lists the encodings that were opened, `seen` the encoded texts."""

    def __init__(self) -> None:
        super().__init__(opened=[], seen=[])

    def get_encoding(self, encoding_name: str) -> SimpleNamespace:
        self.opened.append(encoding_name)

        def encode_ordinary(text: str) -> list[int]:
            self.seen.append(text)
            return list(text.encode())

        return SimpleNamespace(encode_ordinary=encode_ordinary)

    def encoding_name_for_model(self, model_name: str) -> str:
        return {"gpt-4o": "o200k_base", "gpt-2": "gpt2"}[model_name]


@pytest.fixture
def tiktoken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTiktoken:
    """Return a tiktoken without vocabularies, whose cache is the temporary folder of the test."""
    fake = FakeTiktoken()
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return fake


# -- resolve_counter --


@pytest.mark.parametrize(
    "spec", [TOKENIZER, str(TOKENIZER), TOKENIZER.parent], ids=["path", "name", "folder"]
)
def test_a_tokenizer_file_counts_as_its_tokenizer(spec: str | Path) -> None:
    counter = resolve_counter(spec)
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for text in ("The lamp was lit.", "灯塔 1861", "naïve café"):
        assert counter.count(text) == len(tokenizer.encode(text, add_special_tokens=False).ids) > 0
    assert counter.count("") == 0


def test_a_tokenizer_file_counts_without_truncation_and_padding(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    one = len(tokenizer.encode("lamp", add_special_tokens=False).ids)
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    file = tmp_path / "tokenizer.json"
    tokenizer.save(str(file))
    counter = resolve_counter(file)
    assert counter.count("lamp") == one
    assert counter.count("lamp " * 100) == 100 * one


@pytest.mark.parametrize("spec", ["gpt-4o", "o200k_base", "no/such/tokenizer.json", ""])
def test_a_missing_file_is_refused(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=r"no file .*Pass the path of a tokenizer\.json.*tiktoken:"):
        resolve_counter(spec)


@pytest.mark.parametrize("content", ["", "{}", "not json", '{"version": "1.0", "model": {"type": "Odd"}}'])
def test_a_damaged_tokenizer_file_is_refused(content: str, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content)
    with pytest.raises(InvalidInputError, match=r"not a readable tokenizer\.json .*Download it again"):
        resolve_counter(file)


@pytest.mark.parametrize("number", [-1, 2.0, True, None, "3"])
def test_a_function_must_return_a_count(number: object) -> None:
    counter = resolve_counter(lambda _: number)
    with pytest.raises(InvalidInputError, match="must return a whole number of tokens, 0 or more"):
        counter.count("text")


def test_an_error_of_a_function_is_raised() -> None:
    def fail(text: str) -> int:
        raise KeyError(text)

    with pytest.raises(KeyError, match="lamp"):
        resolve_counter(fail).count("lamp")


def test_a_counter_object_is_used_unchanged() -> None:
    class Letters:
        def count(self, text: str) -> int:
            return len(text)

    letters = Letters()
    assert isinstance(letters, TokenCounter)
    assert resolve_counter(letters) is letters


@pytest.mark.parametrize("spec", [3, 1.5, ["gpt-4o"], b"tokenizer.json", object()])
def test_other_objects_are_refused(spec: object) -> None:
    with pytest.raises(
        InvalidInputError, match=rf"is of type {type(spec).__name__}\. Pass the path of a tokenizer"
    ):
        resolve_counter(spec)


# -- tiktoken --


def fill_cache(monkeypatch: pytest.MonkeyPatch, folder: Path, encoding: str, content: bytes) -> Path:
    """Write a substitute for a vocabulary to tiktoken's cache, and expect its checksum."""
    name, _ = tokens._CACHE_FILES[encoding]
    monkeypatch.setitem(tokens._CACHE_FILES, encoding, (name, hashlib.sha256(content).hexdigest()))
    file = folder / name
    file.write_bytes(content)
    return file


def test_the_error_without_tiktoken_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingDependencyError, match=r"needs tiktoken: pip install tiktoken"):
        resolve_counter("tiktoken:o200k_base")


@pytest.mark.parametrize("name", ["o300k_base", "no-such-model", "", "gpt-2"])
def test_an_unknown_encoding_is_refused(name: str, tiktoken: FakeTiktoken) -> None:
    with pytest.raises(
        InvalidInputError, match=r"not a known encoding or model. Use one of cl100k_base, .*model"
    ):
        resolve_counter(f"tiktoken:{name}")
    assert tiktoken.opened == []


@pytest.mark.parametrize("name", [*ENCODINGS, "gpt-4o"])
def test_a_missing_vocabulary_is_not_downloaded(name: str, tiktoken: FakeTiktoken, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"not cached .*downloads nothing.*or pass a tokenizer\.json"):
        resolve_counter(f"tiktoken:{name}")
    assert tiktoken.opened == []
    assert list(tmp_path.iterdir()) == []


def test_an_empty_cache_folder_is_refused(tiktoken: FakeTiktoken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    with pytest.raises(InvalidInputError, match="an empty TIKTOKEN_CACHE_DIR turns the cache off"):
        resolve_counter("tiktoken:o200k_base")
    assert tiktoken.opened == []


def test_a_damaged_vocabulary_is_refused(tiktoken: FakeTiktoken, tmp_path: Path) -> None:
    file = tmp_path / tokens._CACHE_FILES["o200k_base"][0]
    file.write_bytes(b"half a file")
    with pytest.raises(InvalidInputError, match=r"is damaged\. Delete it and fill the cache again"):
        resolve_counter("tiktoken:o200k_base")
    assert tiktoken.opened == []
    assert file.exists()


@pytest.mark.parametrize("name", ["o200k_base", "gpt-4o"])
def test_a_cached_vocabulary_counts(
    name: str, tiktoken: FakeTiktoken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_cache(monkeypatch, tmp_path, "o200k_base", b"vocabulary")
    counter = resolve_counter(f"tiktoken:{name}")
    assert tiktoken.opened == ["o200k_base"]
    assert counter.count("lamp") == 4
    assert counter.count("a\ud800b") == 3
    assert tiktoken.seen == ["lamp", "a?b"]


@pytest.mark.parametrize("variable", ["DATA_GYM_CACHE_DIR", None])
def test_the_cache_can_be_in_another_folder(
    variable: str | None, tiktoken: FakeTiktoken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the folder of the older variable, or else a temporary folder, as tiktoken does."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / "data-gym-cache"
    folder.mkdir()
    if variable:
        folder = tmp_path / "elsewhere"
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    fill_cache(monkeypatch, folder, "cl100k_base", b"vocabulary")
    resolve_counter("tiktoken:cl100k_base")
    assert tiktoken.opened == ["cl100k_base"]


# -- the estimate --


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), (" ", 1), ("\n", 1), ("a", 1), ("lamp", 1), ("the lamp", 2), ("\x00", 1)]
)
def test_the_estimate_of_a_few_words(text: str, number: int) -> None:
    assert ApproximateCounter().count(text) == number


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("def area(radius: float) -> float:\n    return 3.14159 * radius**2\n", 15, 30),
        ('{"id": 17, "name": "light", "ok": null}', 12, 22),
        ("灯塔建于一八六一年，从未熄灭。", 8, 20),
        ("Маяк стоит на северном утёсе над старой гаванью.", 9, 24),
        ("0123456789" * 3, 8, 30),
        ("😀" * 10, 10, 40),
    ],
    ids=["code", "json", "chinese", "russian", "digits", "emoji"],
)
def test_the_estimate_of_other_texts_is_plausible(text: str, least: int, most: int) -> None:
    assert least <= ApproximateCounter().count(text) <= most


@settings(max_examples=200)
@given(any_text)
def test_the_estimate_accepts_any_string(text: str) -> None:
    number = ApproximateCounter().count(text)
    assert (number > 0) == bool(text)
    assert number <= 3 * len(text)
    assert number == ApproximateCounter().count(text)


@settings(max_examples=100)
@given(any_text, any_text)
def test_two_texts_cost_about_the_sum(left: str, right: str) -> None:
    count = ApproximateCounter().count
    assert abs(count(left + right) - count(left) - count(right)) <= 8  # the first digits of a run cost 5


# -- strings that no vocabulary can encode --


@settings(max_examples=100)
@given(any_text)
def test_a_tokenizer_file_counts_any_string(text: str) -> None:
    counter = FILE_COUNTER
    assert counter.count(text) == counter.count(replace_surrogates(text))
    assert len(replace_surrogates(text)) == len(text)
    assert counter.count(text) <= 4 * len(text)


def test_a_function_may_count_with_numpy() -> None:
    counter = resolve_counter(lambda text: np.int64(len(text)))
    assert (type(count_tokens(counter, "four")), count_tokens(counter, "four")) == (int, 4)
