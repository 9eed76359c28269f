"""llama.cpp's own server on a free port of loopback, until its standard input closes: `llama_server.py GGUF`.

A process of its own, so that a crash in native code fails one test and does not end the run.
"""

from __future__ import annotations

import sys
from typing import Any

import xllamacpp

THREADS = 1
CONTEXT = 8192


def main() -> None:
    params: Any = xllamacpp.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx, params.n_parallel, params.cpuparams.n_threads, params.port = CONTEXT, 1, THREADS, 0
    server: Any = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
