"""The retriever as a service: a built corpus behind a real server on the loopback interface."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tersely.score.bm25 import BM25
from tersely_agents.agent import search_tools
from training.retrieval import bm25 as bm25_module
from training.retrieval.__main__ import build
from training.retrieval.bm25 import DiskBM25, build_bm25, split_terms
from training.retrieval.client import RemoteRetriever
from training.retrieval.server import MAX_REQUEST_BYTES, Corpus, make_server
from training.retrieval.store import read_corpus

ROWS = [
    {"id": "keys", "title": "Keys", "text": "Ada holds the spare key.", "url": "http://example.com/keys"},
    {"id": "keys-2", "title": "Keys", "text": "It is made of iron.", "url": "http://example.com/keys"},
    {"id": "roof", "title": "House", "text": "The roof of the house is new."},
    {"id": "boat", "contents": '"Boats"\nThe boat lies in the harbour.'},
]


def write_corpus(file: Path) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return file


@pytest.fixture
def retriever(tmp_path: Path) -> Iterator[RemoteRetriever]:
    assert build(write_corpus(tmp_path / "corpus.jsonl"), tmp_path / "index", encoder="") == len(ROWS)
    server = make_server(Corpus(tmp_path / "index", "bm25"), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield RemoteRetriever(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_finds_passages_with_their_addresses(retriever: RemoteRetriever) -> None:
    first, *_ = retriever.search("Who holds the spare key?", 2)
    assert (first.docid, first.title, first.url) == ("keys", "Keys", "http://example.com/keys")
    assert first.passage == "Ada holds the spare key."
    assert retriever.search("harbour boats", 5)[0].title == "Boats"
    assert retriever.search("zeppelin", 5) == []


def test_opens_a_passage_or_all_of_an_address(retriever: RemoteRetriever) -> None:
    assert retriever.open("roof").text == "The roof of the house is new."
    assert retriever.open("http://example.com/keys").text == "Ada holds the spare key.\nIt is made of iron."
    with pytest.raises(KeyError):
        retriever.open("nothing")


def test_agents_tools_use_it(retriever: RemoteRetriever) -> None:
    search, open_page = search_tools(retriever, 1)
    found = search.run({"query": "spare key"})
    assert found.startswith("[docid: keys] [url: http://example.com/keys] Keys\n")
    assert "made of iron" in open_page.run({"url": "http://example.com/keys"})


def test_bad_request_is_refused(retriever: RemoteRetriever) -> None:
    from urllib.error import HTTPError

    for path, body in (("/search", {}), ("/search", {"queries": 3}), ("/other", {})):
        with pytest.raises(HTTPError):
            retriever._post(path, body)


@pytest.mark.parametrize("size", [MAX_REQUEST_BYTES + 1, -1])
def test_a_body_of_a_refused_size_is_no_other_request(retriever: RemoteRetriever, size: int) -> None:
    address = urlsplit(retriever._url)
    request = f"POST /open HTTP/1.1\r\nContent-Length: {size}\r\n\r\n"
    with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
        connection.sendall(f"{request}POST /open HTTP/1.1\r\n\r\n".encode())
        replies = b"".join(iter(partial(connection.recv, 1 << 16), b""))
    assert replies.count(b"HTTP/1.1 ") == 1
    assert replies.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("line", ["{}", "[]", '{"title": "No text"}', "no JSON"])
def test_names_a_line_without_text(tmp_path: Path, line: str) -> None:
    file = write_corpus(tmp_path / "corpus.jsonl")
    file.write_text(file.read_text(encoding="utf-8") + line, encoding="utf-8")
    with pytest.raises(ValueError, match=r"corpus\.jsonl, line 5: expected"):
        list(read_corpus(file))


def test_refuses_an_empty_corpus(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").touch()
    with pytest.raises(ValueError, match="has no passage"):
        build(tmp_path / "corpus.jsonl", tmp_path / "index", encoder="")


WORDS = st.lists(
    st.sampled_from(["one", "two", "three", "four", "five", "six", "seven"]), min_size=1, max_size=9
)


@settings(max_examples=30)
@given(texts=st.lists(WORDS, min_size=2, max_size=12), query=WORDS, part=st.integers(1, 5))
def test_bm25_on_disk_scores_like_that_in_memory(
    texts: list[list[str]], query: list[str], part: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("bm25")
    joined, asked = [" ".join(words) for words in texts], " ".join(dict.fromkeys(query))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25_module, "PART", part)
        patch.setattr(bm25_module, "COMMON", 1.0)
        build_bm25(joined, folder)
        found = DiskBM25(folder).search(asked, len(texts))
    scores = BM25(joined, split=split_terms).scores(asked)
    assert {place for place, _ in found} == set(np.flatnonzero(scores).tolist())
    assert [s for _, s in found] == pytest.approx([scores[place] for place, _ in found], rel=1e-4)
    assert [s for _, s in found] == sorted((s for _, s in found), reverse=True)


class HashEncoder:
    """An encoder that gives a text the sum of its words' random vectors."""

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [sum(self._vector(word) for word in split_terms(text)) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)

    encode_passages = encode_queries

    def _vector(self, word: str) -> NDArray[np.float64]:
        return np.random.default_rng(random.Random(word).getrandbits(32)).normal(size=32)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_dense_index_finds_what_exact_search_finds(tmp_path: Path, kind: str) -> None:
    from training.retrieval.dense import DenseIndex, build_index, encode_corpus
    from training.retrieval.store import Passage, Store

    draw, words = random.Random(0), [f"w{n}" for n in range(300)]
    texts = [" ".join(draw.sample(words, 6)) for _ in range(400)]
    store, encoder = Store(tmp_path / "passages.db"), HashEncoder()
    store.write(Passage(str(n), "", text, None) for n, text in enumerate(texts))
    vectors = encode_corpus(store, encoder, tmp_path)
    (tmp_path / "vectors.f16").write_bytes((tmp_path / "vectors.f16").read_bytes()[:-100])  # stopped
    np.testing.assert_array_equal(encode_corpus(store, encoder, tmp_path), vectors)
    build_index(vectors, tmp_path / "vectors.faiss", kind)
    index = DenseIndex(tmp_path / "vectors.faiss", encoder.encode_queries)
    asked = [" ".join(text.split()[:4]) for text in texts[:50]]
    exact = (encoder.encode_queries(asked) @ vectors.astype(np.float32).T).argsort(1)[:, ::-1][:, :5]
    found = [[number for number, _ in row] for row in index.search(asked, 5)]
    kept = sum(len(set(f) & set(e)) for f, e in zip(found, exact.tolist(), strict=True)) / 250
    assert kept > 0.9


def test_e5_encoder_reads_prefixes(tmp_path: Path) -> None:
    import transformers

    from training.retrieval.encoders import E5

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "query", "passage", ":", "ada", "key"]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    transformers.BertTokenizer(vocab=numbers).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=10, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    encoder = E5(str(tmp_path), batch=2)
    queries, passages = encoder.encode_queries(["ada", "key", "ada key"]), encoder.encode_passages(["ada"])
    assert queries.shape == (3, 8)
    np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(encoder.encode_queries(["ada"]), queries[:1], atol=1e-5)  # padding is ignored
    assert not np.allclose(queries[0], passages[0])
