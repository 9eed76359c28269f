"""Declarations of options, the readers of their values, and the options that commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from tersely.compressor import Compressor
from tersely.options import OPTION_FIELDS

Command = Callable[..., int]
Decorator = Callable[[Command], Command]


def option(declaration: str, text: str, **attributes: Any) -> Decorator:
    """Return the decorator for an option. `declaration` has its names and its placeholder, `text` its help.

    `--port PORT` needs a value, and `--local [MODEL]` may leave it out. `--order [up|down]` takes one of the
    two, and "up" is the default. `--json` is a flag. `_TYPES` converts values that are not text.
    """
    *names, last = declaration.split()
    if last.startswith("-"):
        names.append(last)
        attributes["is_flag"] = True
    elif "|" in last:
        choices = last.strip("[]").split("|")
        attributes |= {"type": click.Choice(choices), "default": choices[0]}
    elif last.startswith("["):
        attributes |= {"metavar": last, "is_flag": False, "flag_value": ""}
    else:
        attributes = {"metavar": last, "type": _TYPES.get(last), **attributes}
    return click.option(*names, help=text, **attributes)


def combine(*options: Decorator) -> Decorator:
    """Return one decorator for several options."""
    return lambda command: reduce(lambda decorated, one: one(decorated), reversed(options), command)


def address_options(port: int) -> Decorator:
    """Return the options of a server that listens on `port` by default."""
    host = "address to listen on; needs a key if other machines can reach it (default: 127.0.0.1)"
    key = "file with the key that clients must send (default: $TERSELY_API_KEY, if set)"
    return combine(
        option("--host ADDRESS", host, default="127.0.0.1"),
        option("--port PORT", f"default: {port}; 0: a free one", default=port),
        option("--key-file FILE", key),
    )


def check_exclusive(**values: Any) -> None:
    """Raise an error if more than one of the options has a value."""
    flags = [f"--{name.replace('_', '-')}" for name, value in values.items() if value not in (None, False)]
    if len(flags) > 1:
        raise click.UsageError(f"{' and '.join(flags)} exclude each other. Pass one of them.")


def load_compressor(options: dict[str, Any]) -> Compressor:
    """Return the compressor for the values of the options in `COMPRESSOR`."""
    return Compressor(options["model"], token_counter=options["tokenizer"], threads=options["threads"])


def parse_tokens(text: str) -> int | None:
    """Return a number of tokens, or None for `keep`."""
    try:
        return None if text == "keep" else int(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is neither a number of tokens nor keep.") from error


def _parse_tool_limit(text: str) -> tuple[str, int | None]:
    name, _, limit = text.rpartition("=")
    if not name:
        raise ValueError(f"{text!r} is not NAME=N or NAME=keep.")
    return name, parse_tokens(limit)


def _parse_share(text: str) -> float:
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is neither a share, such as 0.25, nor a percentage, such as 25%."
        ) from error


def _decode(argument: str) -> str:
    """Decode an argument as UTF-8 if Python could not decode it, as in the locale C without UTF-8 mode.

    Such an argument has a lone surrogate for each byte. Other arguments stay as they are.
    """
    if not any("\udc80" <= character <= "\udcff" for character in argument):
        return argument
    try:
        return os.fsencode(argument).decode("utf-8")
    except UnicodeError:
        return argument


def _use_color(_context: object, _option: object, choice: str) -> bool:
    if choice == "auto":
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return sys.stdout.isatty() and not is_plain
    return choice == "always"


_TYPES = {
    "L": int,
    "N": int,
    "NAME=N": _parse_tool_limit,
    "PORT": int,
    "QUERY": _decode,
    "R": _parse_share,
    "S": float,
}
FILES = click.argument("files", nargs=-1, metavar="[FILE]...")
FORMAT = option(
    "--format [auto|text|jsonl]",
    'jsonl is one {"text", "title", "id"} a line (default: by content, suffix or first line)',
)
BASE = option(
    "--base FILE",
    "GGUF file of the model that --local adapts, or owner/name/FILE.gguf on the hub (default: the one that "
    "the trained model names)",
)
JSON = option("--json", "print one JSON line")
COLOR = option(
    "--color [auto|always|never]",
    "default: auto, on a terminal unless NO_COLOR is set",
    callback=_use_color,
)
MODEL = combine(
    option("--model MODEL", "folder or hub name (default: the bundled model)"),
    option("--threads N", "threads of the model (default: one for each usable core)"),
)
COMPRESSOR = combine(
    option(
        "--tokenizer SPEC",
        "what counts tokens: a tokenizer.json or tiktoken:NAME (default: a built-in estimate)",
    ),
    MODEL,
)
COMPRESSION = combine(
    *(
        option(
            f"--{field.name.replace('_', '-')} {field.metadata['placeholder']}",
            field.metadata["help"],
            default=field.default,
        )
        for field in OPTION_FIELDS
    ),
    COMPRESSOR,
    option("--json", "print the result and its receipt as one JSON line"),
    option("--show", "print the documents, kept bright and dropped dim"),
    option("--html FILE", "write a page with the documents beside the result to FILE", type=Path),
    COLOR,
)
