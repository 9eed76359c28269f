"""Language models as policies.

chat.py        messages to token ids and back
episodes.py    the SDK's agent as an episode of exact token ids
generate.py    replies of a model in this process, many at once
vllm.py        replies of a vLLM server
"""
