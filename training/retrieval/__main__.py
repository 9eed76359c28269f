"""`python -m training.retrieval build --corpus FILE --out INDEX`, and `serve --index INDEX --port 8765`.

`build` writes the passages, an index for BM25, and unless `--encoder ""` their vectors and a FAISS index. A
stopped build continues with the vectors.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import get_args

from training.retrieval.bm25 import build_bm25
from training.retrieval.encoders import BUNDLED, open_encoder
from training.retrieval.server import Corpus, Method, make_server
from training.retrieval.store import Store, read_corpus


def build(corpus: Path, out: Path, encoder: str = BUNDLED, kind: str = "ivf") -> int:
    """Build an index of a corpus, and return its number of passages. Raises ValueError for an empty
    corpus."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "index.json").exists():
        (out / "passages.db").unlink(missing_ok=True)
        if not Store(out / "passages.db").write(read_corpus(corpus)):
            raise ValueError(f"{corpus} has no passage")
        build_bm25(Store(out / "passages.db").read_texts(), out / "bm25")
        (out / "index.json").write_text(json.dumps({"encoder": encoder}), encoding="utf-8")
    store = Store(out / "passages.db")
    if encoder:
        from training.retrieval.dense import build_index, encode_corpus  # needs faiss

        build_index(encode_corpus(store, open_encoder(encoder), out), out / "vectors.faiss", kind)
    return len(store)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.retrieval", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("build")
    builder.add_argument("--corpus", type=Path, required=True, help="JSON lines; see store.read_corpus")
    builder.add_argument("--out", type=Path, required=True, help="folder of the index")
    builder.add_argument(
        "--encoder", default=BUNDLED, help=f'{BUNDLED}, a model like E5, or "" for BM25 alone'
    )
    builder.add_argument("--kind", choices=("ivf", "hnsw"), default="ivf")
    server = commands.add_parser("serve")
    server.add_argument("--index", type=Path, required=True, help="folder of a built index")
    server.add_argument("--method", choices=get_args(Method), default="dense")
    server.add_argument("--host", default="127.0.0.1")
    server.add_argument("--port", type=int, default=8765)
    args = parser.parse_args()
    if args.command == "build":
        print(f"{build(args.corpus, args.out, args.encoder, args.kind)} passages")
        return
    running = make_server(Corpus(args.index, args.method), args.host, args.port)
    print(f"http://{args.host}:{args.port}", flush=True)
    running.serve_forever()


if __name__ == "__main__":
    main()
