"""`tersely agent`, `tersely trace`, and the checks of sessions and banks in `tersely doctor`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tersely.cli.reports import Report
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.runtime.artifacts import ALL_BUNDLED
from tersely_agents.agent import Agent, EpisodeState, FolderIndex, load_agent, search_tools, trace
from tersely_agents.chat import ChatModel, LocalChat, OpenAIChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.experience.transfer import check_bank, save_experiences
from tersely_agents.memory.salvage import check_store, save_sessions

NO_ANSWER = 5
"""Exit code."""
REPLY_TOKENS = 4096
"""Most tokens of a turn, thoughts included: small models may otherwise never end."""

LOCAL_CONTEXT = 8192
"""Tokens of a prompt and its reply, with --local: as many as SmolLM2 was trained on."""

_NO_SERVER = "--chat-model names a model on a server. Leave it out with --local."


def answer(args: argparse.Namespace) -> int:
    """Answer the question; the exit code."""
    index = FolderIndex(args.docs)
    options: dict[str, Any] = {
        "experience": ExperienceBank(args.experience) if args.experience else None,
        "max_turns": args.max_turns,
        "compressor": Compressor(args.model, threads=args.threads),
        "trace_file": args.trace,
    }
    if _is_trained(args):
        agent = load_agent(index, args.local, threads=args.threads, **options)
    else:
        agent = Agent(_load_chat(args), search_tools(index), strategy=args.strategy, **options)
    state = agent.run(args.query)
    print(json.dumps(_to_json(state), ensure_ascii=False) if args.json else state.answer)
    if not args.json:
        for line in filter(None, (state.explanation, state.reason)):
            print(line, file=sys.stderr)
    return 0 if state.outcome == "answered" else NO_ANSWER


def _is_trained(args: argparse.Namespace) -> bool:
    """Whether --local names an agent that was trained here, and no GGUF file."""
    if not args.local or (args.local not in ALL_BUNDLED and not Path(args.local).is_dir()):
        return False
    if args.strategy != "summary":
        raise InvalidInputError(f"{args.local} writes the turns of one strategy. Leave --strategy out.")
    if args.chat_model is not None:
        raise InvalidInputError(_NO_SERVER)
    return True


def _load_chat(args: argparse.Namespace) -> ChatModel:
    if args.local is None:
        return OpenAIChat(args.chat_model, base_url=args.base_url, max_tokens=REPLY_TOKENS)
    if args.chat_model is not None:
        raise InvalidInputError(_NO_SERVER)
    return LocalChat(
        args.local or None, context=LOCAL_CONTEXT, threads=args.threads, max_tokens=LOCAL_CONTEXT // 4
    )


def show(args: argparse.Namespace) -> int:
    """Print the turns in a trace file; the exit code."""
    file = Path(args.file)
    if not file.is_file():
        raise InvalidInputError(f"there is no file {args.file!r}")
    print(trace.format_table(trace.read_turns(file)))
    return 0


def _to_json(state: EpisodeState) -> dict[str, object]:
    return {
        "question": state.question,
        "answer": state.answer,
        "explanation": state.explanation,
        "confidence": state.confidence,
        "outcome": state.outcome,
        "reason": state.reason,
        "turns": [asdict(turn) for turn in state.trace],
    }


def doctor_session(path: str, save: str | None) -> Report:
    """Report what can be read of each session in a store. With `save`, write it to that file, a new store.

    Raises:
        StoreError: nothing can be read, or the new file cannot be written.
        InvalidInputError: the new file exists already.
    """
    check = check_store(path)
    rows: dict[str, Any] = {}
    for name, session in check.sessions.items():
        missing = session.missing_events
        lost = ", ".join(map(str, missing[:10])) + ", ..." * (len(missing) > 10)
        rows[name] = {
            "events": f"{len(session.events)} of {session.event_count} intact"
            + (f"; lost: {lost}" if lost else ""),
            "originals": f"{len(session.originals)} intact, {session.missing_originals} lost",
            "can be saved": f"{len(session.rebuild())} events",
        }
    report: dict[str, Any] = {"file": path, "sessions": rows}
    if save is not None:
        saved = save_sessions(check.sessions, save)
        report["saved"] = {"file": save, **{name: f"{count} events" for name, count in saved.items()}}
    names = [name for name, s in check.sessions.items() if s.missing_events or s.missing_originals]
    lost = f"the sessions {', '.join(map(repr, names))} have lost rows" if names else ""
    if check.damaged_rows and not names:
        lost = f"{check.damaged_rows} rows are not what was written"
    return _report_damage(report, path, lost, check.damage, save)


def doctor_bank(path: str, save: str | None) -> Report:
    """Report what can be read of an experience bank. With `save`, write it to that file as JSON lines.

    Raises:
        ExperienceError: nothing can be read.
        InvalidInputError: the new file exists already.
    """
    check = check_bank(path)
    lost = len(check.damaged) + check.unreadable
    report: dict[str, Any] = {
        "file": path,
        "experiences": f"{len(check.experiences)} intact, {lost} damaged",
        "damaged": check.damaged,
        "can be saved": f"{len(check.experiences)} experiences",
    }
    if save is not None:
        report["saved"] = {"file": save, "experiences": save_experiences(check.experiences, save)}
    return _report_damage(report, path, f"{lost} experiences are lost" if lost else "", check.damage, save)


def _report_damage(
    report: dict[str, Any], path: str, lost: str, damage: str | None, save: str | None
) -> Report:
    problem = None
    if lost or damage:
        remedy = f"What is left is in {save}." if save else "Save what is left with --save NEW."
        problem = f"{path} is damaged: {'; '.join(filter(None, (lost, damage)))}. {remedy}"
    report["result"] = problem or "all is well"
    return Report("", report, problem)
