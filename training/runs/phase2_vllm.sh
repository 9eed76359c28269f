#!/usr/bin/env bash
# Phase II on a GPU node, rewarded by a language model that vLLM serves beside the training.
#
#   RERANKER=FOLDER training/runs/phase2_vllm.sh RUN RUN2 [MODEL]
#
# The reader is asked as in EFFCOMP's appendix B.4 and writes at most 10 tokens, greedily. The paper loads it with
# nf4 weights and cuts prompts at 2,048 tokens; here it has its own precision and reads whole prompts.
#
# FOLDER holds an ONNX cross-encoder (the paper's is bge-reranker-base); of 30 documents it leaves ten, the best first.
# RUN is a finished Phase I run, RUN2 a new folder; MODEL is what `vllm serve` takes. Needs vLLM, which brings a
# torch of its own, in the environment VLLM (a folder; by default the one that is active).
set -euo pipefail
run=${1:?usage: $0 RUN RUN2 [MODEL]}
out=${2:?usage: $0 RUN RUN2 [MODEL]}
reranker=${RERANKER:?name the folder of an ONNX cross-encoder}
model=${3:-google/gemma-2-9b-it} # the paper's reader
port=${PORT:-8000}
config=${CONFIG:-training/configs/phase2_modernbert.toml}
vllm=${VLLM:+$VLLM/bin/}vllm

mkdir -p "$out"
"$vllm" serve "$model" --host 127.0.0.1 --port "$port" --max-model-len 8192 \
    --gpu-memory-utilization "${SHARE:-0.6}" >"$out/vllm.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT

until curl --silent --fail "http://127.0.0.1:$port/v1/models" >/dev/null; do
    kill -0 "$server" 2>/dev/null || { tail -n 20 "$out/vllm.log" >&2; exit 1; }
    sleep 5
done
python -m training.selector.phase2 --config "$config" --start-from "$run" --out "$out" \
    --reranker "$reranker" --reader "openai:http://127.0.0.1:$port/v1#$model"
