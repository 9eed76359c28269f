"""Inputs of the hook as Claude Code 2.1.197 sends them, recorded, with made-up texts in place of the outputs.

WebFetch was not recorded; its shape is the documented one. Cursor's is that of its documentation.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from tersely_hook.answers import Json

LOG = "\n".join(
    "12:05:21 ERROR worker-1 login request timed out after 30 s"
    if at == 321
    else f"12:{at // 60:02d}:{at % 60:02d} INFO worker-{at % 5} handled request {at} in {at % 97} ms"
    for at in range(400)
)
"""A text of about 20 KB. One line answers `REQUEST`."""
MATCHES = "\n".join(LOG.split("\n")[:350])
"""Short enough that Claude Code shows it."""
REQUEST = "Why did a login request time out?"
NAMES = [f"src/package_{at % 7}/module_with_a_long_name_{at:03d}.py" for at in range(300)]
PROSE = "\n".join(
    f"Finding {at}: a worker of kind {at % 9} may wait for the lock of table {at}." for at in range(300)
)

OUTPUTS: dict[str, tuple[str, Json, Any]] = {
    "Bash": (
        "Bash",
        {"command": "bash show.sh", "description": "Print the log"},
        {"stdout": LOG, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False},
    ),
    "PowerShell": (
        "PowerShell",
        {"command": "Show-Log", "description": "Print the log"},
        {"stdout": LOG, "stderr": LOG[::-1], "interrupted": False, "isImage": False},
    ),
    "Grep, lines": (
        "Grep",
        {
            "pattern": "request",
            "path": "/home/dev/app",
            "output_mode": "content",
            "-n": True,
            "head_limit": 0,
        },
        {"mode": "content", "numFiles": 0, "filenames": [], "content": MATCHES, "numLines": 350},
    ),
    "Grep, files": (
        "Grep",
        {"pattern": "login", "path": "/home/dev/app"},
        {"mode": "files_with_matches", "filenames": NAMES, "numFiles": 300},
    ),
    "Grep, counts": (
        "Grep",
        {"pattern": "login", "output_mode": "count"},
        {
            "mode": "count",
            "numFiles": 300,
            "filenames": [],
            "content": "\n".join(f"{name}:3" for name in NAMES),
            "numMatches": 900,
        },
    ),
    "Glob": (
        "Glob",
        {"pattern": "**/*.py"},
        {
            "filenames": NAMES,
            "durationMs": 21,
            "numFiles": 300,
            "truncated": False,
            "totalMatches": 300,
            "countIsComplete": True,
        },
    ),
    "Read": (
        "Read",
        {"file_path": "/home/dev/app/worker.log"},
        {
            "type": "text",
            "file": {
                "filePath": "/home/dev/app/worker.log",
                "content": LOG,
                "numLines": 400,
                "startLine": 1,
                "totalLines": 400,
            },
        },
    ),
    "WebFetch": (
        "WebFetch",
        {"url": "https://example.com/locks", "prompt": "What may wait for table 17?"},
        {
            "bytes": 40_000,
            "code": 200,
            "codeText": "OK",
            "result": PROSE,
            "durationMs": 900,
            "url": "https://example.com/locks",
        },
    ),
    "WebSearch": (
        "WebSearch",
        {"query": "worker waits for table 17"},
        {
            "query": "worker waits for table 17",
            "results": [
                {
                    "tool_use_id": "srvtoolu_1",
                    "content": [{"title": "Locks", "url": "https://example.com/0"}],
                },
                PROSE,
            ],
            "durationSeconds": 0.05,
            "searchCount": 1,
        },
    ),
    "MCP, parts": (
        "mcp__docs__search",
        {"query": "worker"},
        [{"type": "text", "text": PROSE}, {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    ),
    "MCP, text": ("mcp__docs__search", {"query": "worker"}, PROSE),
    "MCP, object": ("mcp__docs__search", {"query": "worker"}, {"content": [{"type": "text", "text": PROSE}]}),
}
"""The tool, its input and its output, by a name."""


def make_input(name: str, **changes: Any) -> Json:
    """Return a copy of a recorded input, with other fields."""
    tool, tool_input, response = copy.deepcopy(OUTPUTS[name])
    return {
        "session_id": "1d6ceac9-e25f-4d18-a46c-dd811e653320",
        "transcript_path": "",
        "cwd": "/home/dev/app",
        "prompt_id": "bb68a532-f5a4-47a7-a52f-01e06cd4ba3d",
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": "PostToolUse",
        "tool_name": tool,
        "tool_input": tool_input,
        "tool_response": response,
        "tool_use_id": "toolu_01",
        "duration_ms": 43,
    } | changes


PERSISTED: Json = OUTPUTS["Bash"][2] | {
    "persistedOutputPath": "/home/dev/.claude/projects/app/1d6c/tool-results/b1.txt",
    "persistedOutputSize": 46_622,
}
"""Output of Bash that Claude Code keeps in a file."""
UNCHANGED_FILE: Json = {"type": "file_unchanged", "file": {"filePath": "/home/dev/app/worker.log"}}
"""Output of a second Read of the same file."""


def make_failure() -> Json:
    """Return an input for a command that failed."""
    values = make_input("Bash", hook_event_name="PostToolUseFailure", error=f"Exit code 3\n{LOG}")
    return {key: value for key, value in values.items() if key != "tool_response"} | {"is_interrupt": False}


def make_cursor_input(tool: str, output: Any) -> Json:
    """Return an input as Cursor sends it after a tool."""
    return {
        "conversation_id": "5b0d6c1e",
        "hook_event_name": "postToolUse",
        "cursor_version": "2026.09.18",
        "tool_name": tool,
        "tool_input": {"query": "worker"},
        "tool_output": json.dumps(output),
        "transcript_path": None,
    }


def make_transcript(*rows: Json) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def say(text: str, **fields: Any) -> Json:
    """Return the row of a user's message."""
    return {"type": "user", "message": {"role": "user", "content": text}, **fields}


def cut_texts(value: Any) -> Any:
    """Return the value with short texts and lists."""
    if isinstance(value, dict):
        return {key: cut_texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [cut_texts(inner) for inner in value[:20]]
    return value[:300] if isinstance(value, str) else value
