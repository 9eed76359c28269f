"""The commands of the servers, and the report of their savings."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from tersely.cli import OK, show
from tersely.cli.options import (
    COMPRESSOR,
    JSON,
    address_options,
    combine,
    load_compressor,
    option,
    parse_tokens,
)
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError

Options = dict[str, Any]

LEDGER = combine(
    # These are two options, because `tersely wrap --ledger claude` would take claude for an optional FILE.
    option("--ledger", "record requests in ~/.local/state/tersely/ledger.db"),
    option("--ledger-file FILE", "record requests in FILE"),
    option("--shadow", "shorten nothing, and record in the ledger what would have been shortened"),
)
LIMITS = combine(
    option(
        "--over N",
        "shorten every result to at most N tokens; with the word keep, shorten only the results of tools "
        "that --tool names (default: 1000)",
        type=parse_tokens,
        default=1000,
    ),
    option(
        "--tool NAME=N",
        "shorten the results of this tool to at most N tokens; NAME=keep leaves them as they are; context=N "
        "is for documents inside messages; repeat it for more tools",
        multiple=True,
    ),
    option("--queue N", "requests that may wait; further ones are forwarded unchanged (default: 64)"),
    option("--timeout S", "largest number of seconds that a request waits for the compression (default: 10)"),
    option("--open-originals", "give the model a tool that opens the originals; the proxy answers its calls"),
    LEDGER,
    option("--holdout R", "with --ledger: share of conversations that are never shortened (default: 10%)"),
)


@click.command()
@address_options(8080)
@option("--queue N", "requests that may wait; further ones are refused with 429 (default: 32)")
@option("--timeout S", "largest number of seconds from a request to its result (default: 60)")
@option("--max-bytes N", "largest number of bytes of a request (default: 8388608)")
@option("--max-documents N", "largest number of documents of a request (default: 1000)")
@option("--log-text", "write queries to the log")
@LEDGER
@COMPRESSOR
def serve(host: str, port: int, **options: Any) -> int:
    """Serve compression, reranking and summaries over HTTP."""
    server = importlib.import_module("tersely_server")
    limits = {name: options[name] for name in ("queue", "max_bytes", "max_documents", "log_text")}
    settings = _make_settings(server.ServerSettings, options, **limits, ledger=_read_ledger(options))
    server.serve(load_compressor(options), host=host, port=port, settings=settings)
    return OK


@click.command()
@option("--upstream URL", "the chat server that the proxy calls, e.g. https://api.openai.com", required=True)
@address_options(8787)
@LIMITS
@COMPRESSOR
def proxy(host: str, port: int, **options: Any) -> int:
    """Shorten tool results and context on their way to a chat server."""
    server = importlib.import_module("tersely_proxy")
    settings = _make_settings(server.ProxySettings, options, **_read_limits(options))
    server.serve(load_compressor(options), host=host, port=port, settings=settings)
    return OK


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
@option("--upstream URL", "the chat server (default: the one that the agent would use)")
@LIMITS
@COMPRESSOR
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="AGENT [ARGUMENT]...")
def wrap(command: tuple[str, ...], **options: Any) -> int:
    """Run a coding agent with a proxy of its own: claude, codex, gemini, opencode, or any program.

    The program gets the proxy's address as ANTHROPIC_BASE_URL, OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL.
    tersely ends with the program's exit code. Options before AGENT are options of the proxy.
    """
    server = importlib.import_module("tersely_proxy")
    limits = _read_limits(options)

    def make_settings(upstream: str) -> Any:
        return _fill_settings(server.ProxySettings, {**limits, "upstream": upstream}, options)

    return server.wrap(load_compressor(options), command, options["upstream"], make_settings)


@click.command()
@option("--ledger-file FILE", "the file to read (default: ~/.local/state/tersely/ledger.db)")
@option("--price-input P", "price of a million tokens of the prompt", type=float)
@option("--price-output P", "price of a million tokens of the answer", type=float)
@option("--price-cache-read X", "price of a token from a cache, as a multiple of --price-input", type=float)
@option(
    "--price-cache-write X", "price of a token put into a cache, as a multiple of --price-input", type=float
)
@option("--model NAME", "only requests of this model, because prices differ")
@option("--html FILE", "write the report as a page", type=Path)
@JSON
def report(ledger_file: str | None, model: str | None, html: Path | None, **options: Any) -> int:
    """Show the number of shortened texts, their costs, and the saving.

    The net result compares conversations with those that --holdout left alone.
    """
    module = importlib.import_module("tersely_ledger.report")
    prices = {name: options[f"price_{name}"] for name in ("input", "output", "cache_read", "cache_write")}
    path = ledger_file or importlib.import_module("tersely_ledger").default_path()
    numbers = module.make_report(path, module.Prices.read(**prices), model)
    if html is not None:
        html.write_text(importlib.import_module("tersely_ledger.page").make_page(numbers), encoding="utf-8")
    if options["json"]:
        print(show.to_json(numbers))
    elif html is None:
        print(importlib.import_module("tersely_ledger.show").show_text(numbers))
    return OK


def _read_limits(options: Options) -> Options:
    """Return the settings that all proxies share."""
    from tersely.adapters import EDIT_TOOLS, ToolLimits

    limits = ToolLimits(options["over"], {**dict.fromkeys(EDIT_TOOLS), **dict(options["tool"])})
    return {
        "limits": limits,
        "upstream": options["upstream"],
        "queue": options["queue"],
        "open_originals": options["open_originals"],
        "ledger": _read_ledger(options),
    }


def _read_ledger(options: Options) -> Any:
    """Return the settings of the ledger; None unless --ledger, --ledger-file or --shadow is given."""
    values = {name: options.get(name) for name in ("holdout", "shadow")}
    settings = {name: value for name, value in values.items() if value is not None and value is not False}
    if not (options["ledger"] or options["ledger_file"] or options["shadow"]):
        if settings:
            raise InvalidInputError("--holdout needs --ledger.")
        return None
    module = importlib.import_module("tersely_ledger")
    return module.LedgerSettings(path=options["ledger_file"] or module.default_path(), **settings)


def add_ledger(compressor: Compressor, options: Options, source: str) -> Compressor:
    """Return a compressor that also records what it does, if an option of `LEDGER` asks for it."""
    if (settings := _read_ledger(options)) is None:
        return compressor
    module = importlib.import_module("tersely_ledger")
    return module.RecordingCompressor(compressor, settings.path, shadow=settings.shadow, source=source)


def _make_settings(kind: Any, options: Options, **settings: Any) -> Any:
    """Return the settings of a server. Other machines may reach it only if it has a key."""
    key = importlib.import_module("tersely_http").read_key(options["key_file"])
    return _fill_settings(kind, {**settings, "key": key, "local_only": key is None}, options)


def _fill_settings(kind: Any, settings: Options, options: Options) -> Any:
    """Return settings of the class `kind`, with its defaults for options that are not given."""
    settings = {**settings, "slots": options["threads"], "timeout_s": options["timeout"]}
    return kind(**{name: value for name, value in settings.items() if value is not None})
