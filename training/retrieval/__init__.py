"""A retriever as a service: search in a corpus of any size, at one HTTP endpoint.

store.py      the passages in SQLite
bm25.py       BM25 on disk
encoders.py   E5-like encoders of transformers, and that of the bundled selector
dense.py      vectors on disk, and a FAISS index of them: IVF or HNSW
server.py     the endpoint
client.py     the endpoint as a retriever of the SDK's agent

    python -m training.retrieval build --corpus wiki.jsonl --encoder intfloat/e5-base-v2 --out INDEX
    python -m training.retrieval serve --index INDEX --port 8765
"""
