"""`tersely agent`, `summarize` and `trace`, and the checks of sessions and banks in `tersely doctor`."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tersely.cli import MODEL_FAILED, NO_ANSWER, OK, print_message
from tersely.cli.show import Report, make_visible, to_json
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError
from tersely.runtime.artifacts import ALL_BUNDLED
from tersely.types import Document
from tersely.view import label
from tersely_agents.agent import Agent, FolderIndex, load_agent, search_tools, trace
from tersely_agents.chat import LocalChat, OpenAIChat
from tersely_agents.experience import ExperienceBank
from tersely_agents.experience.transfer import check_bank, save_experiences
from tersely_agents.memory.salvage import check_store, save_sessions
from tersely_agents.summaries import Summarizer, Summary

REPLY_TOKENS = 4096
"""Largest number of tokens of a turn, thoughts included: small models may otherwise never end."""

LOCAL_CONTEXT = 8192
"""Number of tokens of a prompt and its reply, with --local: as many as SmolLM2 was trained on."""


def answer(options: dict[str, Any]) -> int:
    """Answer a question, given the options of `tersely agent`, and return the exit code."""
    state = _load_agent(options).run(options["query"])
    if options["json"]:
        fields = ("question", "answer", "explanation", "confidence", "outcome", "reason")
        facts: dict[str, Any] = {name: getattr(state, name) for name in fields}
        print(to_json({**facts, "turns": [asdict(turn) for turn in state.trace]}))
    else:
        print(state.answer)
        for line in filter(None, (state.explanation, state.reason)):
            print(line, file=sys.stderr)
    return OK if state.outcome == "answered" else NO_ANSWER


def summarize(compressor: Compressor, documents: list[Document], options: dict[str, Any]) -> int:
    """Print a summary, given the options of `tersely summarize`, and return the exit code."""
    summarizer = _load_summarizer(compressor, options)
    summary = summarizer.summarize(options["query"], documents, budget=options["budget"])
    if options["json"]:
        print(to_json(summary.to_dict()))
    elif options["sources"]:
        print(_show_sources(summary, documents))
    else:
        print(summary.text)
    if summary.reason is not None:
        return print_message(summary.reason, MODEL_FAILED)
    if not summary.text:
        print_message("no sentence scores high enough for the question; pass --budget to get the best", OK)
    return OK


def _load_summarizer(compressor: Compressor, options: dict[str, Any]) -> Summarizer:
    local, url, name = options["local"], options["base_url"], options["chat_model"]
    if name is not None and url is None:
        raise InvalidInputError("--chat-model names a model on a server. Pass --base-url, too.")
    if local is not None:
        return Summarizer(local, compressor=compressor, base=options["base"])
    _refuse_base(options)
    chat = None if url is None else OpenAIChat(name, base_url=url, max_tokens=REPLY_TOKENS)
    return Summarizer(chat, compressor=compressor, unsupported="drop")


def _refuse_base(options: dict[str, Any]) -> None:
    if options["base"] is not None:
        raise InvalidInputError("--base is for a trained model. Name it with --local, or leave --base out.")


def _show_sources(summary: Summary, documents: list[Document]) -> str:
    lines: list[str] = []
    for sentence in summary.sentences:
        lines.append(" ".join(summary.text[sentence.start : sentence.end].split()))
        for source in sentence.support[:1]:
            document = documents[source.doc]
            where = label(document.title or document.id, source.doc)
            lines.append(f"    {where}, characters {source.start} to {source.end}")
    return make_visible("\n".join(lines))


def _load_agent(options: dict[str, Any]) -> Agent:
    local, server_model, strategy = options["local"], options["chat_model"], options["strategy"]
    if local is not None and server_model is not None:
        raise InvalidInputError("--chat-model names a model on a server. Leave it out with --local.")
    trained = local if local and (local in ALL_BUNDLED or Path(local).is_dir()) else None
    if trained is None:
        _refuse_base(options)
    index = FolderIndex(options["docs"])
    threads = options["threads"]
    shared: dict[str, Any] = {
        "experience": ExperienceBank(options["experience"]) if options["experience"] else None,
        "max_turns": options["max_turns"],
        "compressor": Compressor(options["model"], threads=threads),
        "trace_file": options["trace"],
    }
    if trained is not None:
        if strategy != "summary":
            raise InvalidInputError(f"{trained} writes the turns of one strategy. Leave --strategy out.")
        return load_agent(index, trained, base=options["base"], threads=threads, **shared)
    if local is None:
        chat = OpenAIChat(server_model, base_url=options["base_url"], max_tokens=REPLY_TOKENS)
    else:
        chat = LocalChat(local or None, context=LOCAL_CONTEXT, threads=threads, max_tokens=LOCAL_CONTEXT // 4)
    return Agent(chat, search_tools(index), strategy=strategy, **shared)


def show(file: str) -> int:
    """Print the turns in a trace file and return the exit code."""
    print(trace.format_table(trace.read_turns(Path(file))))
    return OK


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
    return Report(report, problem)
