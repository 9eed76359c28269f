"""The `tersely` command, from its arguments to its exit code. `app` has the commands."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from tersely.errors import InvalidInputError, TerselyError

OK, INTERNAL, USAGE, MODEL_MISSING = 0, 1, 2, 3
MODEL_FAILED, NO_ANSWER, INTERRUPTED, BROKEN_PIPE = 4, 5, 130, 141
"""The exit codes. `tersely --help` explains them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. Print one line per error, never a traceback."""
    if not sys.stdin or not sys.stdout:  # they are None if the caller has closed them
        return print_message("standard input or standard output is closed", INTERNAL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Print the text of documents unchanged: as UTF-8, with its line ends, lone surrogates as escapes.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")
    # The command reports failures itself; the library's log would repeat them.
    logging.getLogger("tersely").addHandler(logging.NullHandler())
    try:
        from tersely.cli.app import run

        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except InvalidInputError as error:
        return print_message(error, USAGE)
    except TerselyError as error:
        return print_message(error, MODEL_MISSING)
    except ModuleNotFoundError as error:  # click comes with huggingface_hub, but not with old versions of it
        return print_message(f"{error.name} is not installed: pip install {error.name}", MODEL_MISSING)
    except KeyboardInterrupt:
        return print_message("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes standard output again at exit. That must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        return print_message(error, INTERNAL)
    except Exception as error:  # noqa: BLE001 - scripts get a line and a code, whatever happens
        message = f"{type(error).__name__}: {error} (a bug in tersely; please report it)"
        return print_message(message, INTERNAL)
    return code


def print_message(message: object, code: int) -> int:
    """Print a message on one line of standard error and return `code`."""
    line = " ".join(str(message).split())
    with contextlib.suppress(OSError):  # the reader may be gone; the exit code still tells
        print(f"tersely: {line}", file=sys.stderr)
    return code
