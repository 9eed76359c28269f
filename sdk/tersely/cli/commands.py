"""The `tersely` command: from arguments to an exit code.

Options are in `arguments`, reading in `documents`, printing in `output`, reports in `reports`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import sys
import time
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from tersely.cli import arguments, output
from tersely.cli.documents import STDIN, BadRow, demo_documents, read_documents, read_rows
from tersely.cli.results import open_results
from tersely.compressor import Compressor
from tersely.errors import InvalidInputError, TerselyError
from tersely.options import CompressionOptions
from tersely.types import Compression, Document

if TYPE_CHECKING:
    from tersely.cli.reports import Report

OK, INTERNAL, USAGE, MODEL, MODEL_FAILED, INTERRUPTED, BROKEN_PIPE = 0, 1, arguments.USAGE, 3, 4, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. At most one line per error, never a traceback."""
    if not sys.stdin or not sys.stdout:  # None where the caller has closed them
        return _report_error("standard input or standard output is closed", INTERNAL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Text leaves as it is in its source: UTF-8, line ends untouched, lone surrogates escaped.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")
    # The command reports failures itself; the library's log would repeat them.
    logging.getLogger("tersely").addHandler(logging.NullHandler())
    try:
        args = arguments.parser().parse_args(argv)
        code = _COMMANDS[args.command](args)
        sys.stdout.flush()
    except InvalidInputError as error:
        return _report_error(error, USAGE)
    except TerselyError as error:
        return _report_error(error, MODEL)
    except KeyboardInterrupt:
        return _report_error("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Python flushes standard output again at exit. That must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        return _report_error(error, INTERNAL)
    except Exception as error:  # noqa: BLE001 - scripts get a line and a code, whatever happens
        return _report_error(
            f"{type(error).__name__}: {error} (a bug in tersely; please report it)", INTERNAL
        )
    return code


def _compress(args: argparse.Namespace) -> int:
    if args.batch is not None:
        return _batch(args)
    if args.out is not None or args.resume:
        raise InvalidInputError("--out and --resume go with --batch. Leave them out.")
    options = arguments.compression_options(args)
    if sys.stdin.isatty() and STDIN in (args.files or [STDIN]):
        print("reading documents from the terminal; end with Ctrl-D", file=sys.stderr)
    documents = read_documents(args.files, args.format)
    result, seconds = _compress_and_time(args, options, documents)
    if not args.json and not args.show:
        print(result.text)
        if sys.stderr.isatty():
            print(output.summary(result, documents, seconds), file=sys.stderr)
        return _exit_code(result)
    return _print(args, result, documents, seconds)


def _demo(args: argparse.Namespace) -> int:
    options = arguments.compression_options(args)
    documents = demo_documents()
    result, seconds = _compress_and_time(args, options, documents)
    if not args.json:
        print(f"Question: {args.query}\n")
    return _print(args, result, documents, seconds)


def _batch(args: argparse.Namespace) -> int:
    if args.files or args.show:
        raise InvalidInputError("--batch goes with neither FILE arguments nor --show. Leave them out.")
    if args.resume and args.out is None:
        raise InvalidInputError("--resume needs --out, the file with the results so far.")
    options = arguments.compression_options(args)
    rows = read_rows(args.batch)
    total = None
    if args.batch != STDIN:
        rows = list(rows)  # so that the bar knows its end
        total = len(rows)
    compressor = _compressor(args)
    code, bad = OK, 0
    with open_results(args.out, resume=args.resume) as results, output.Progress(total) as progress:
        for row in rows:
            head: dict[str, Any] = {"line": row.line} if row.id is None else {"line": row.line, "id": row.id}
            if isinstance(row, BadRow):
                bad += 1
                results.write({**head, "error": row.error})
                _report_error(row.error, USAGE)
            elif not results.has(row):
                try:
                    result = compressor.compress(row.query, row.documents, **options.arguments())
                except InvalidInputError as error:
                    bad += 1
                    results.write({**head, "query": row.query, "error": str(error)})
                    _report_error(f"line {row.line}: {error}", USAGE)
                else:
                    results.write({**head, "query": row.query, **result.to_dict()})
                    code = _exit_code(result, f"line {row.line}: ") or code
            progress.step()
    return USAGE if bad else code


def _agent(args: argparse.Namespace) -> int:
    return importlib.import_module("tersely_agents.cli").answer(args)


def _mcp(args: argparse.Namespace) -> int:
    # By name: the SDK does not depend on its adapters.
    serve = importlib.import_module("tersely_mcp.server").serve
    serve(_compressor(args), folders=args.folder, experience=args.experience, port=args.http)
    return OK


def _serve(args: argparse.Namespace) -> int:
    server = importlib.import_module("tersely_server")
    given = {name: getattr(args, name) for name in ("queue", "timeout_s", "max_bytes", "max_documents")}
    key = importlib.import_module("tersely_http").read_key(args.key_file)
    settings = server.ServerSettings(
        key=key,
        local_only=key is None,
        slots=args.threads,
        log_text=args.log_text,
        **{name: value for name, value in given.items() if value is not None},
    )
    server.serve(_compressor(args), host=args.host, port=args.port, settings=settings)
    return OK


def _proxy(args: argparse.Namespace) -> int:
    from tersely.adapters import ToolLimits

    proxy = importlib.import_module("tersely_proxy")
    key = importlib.import_module("tersely_http").read_key(args.key_file)
    settings = proxy.ProxySettings(
        upstream=args.upstream,
        limits=ToolLimits(args.over, dict(args.tool)),
        key=key,
        local_only=key is None,
        slots=args.threads,
        **({} if args.timeout_s is None else {"timeout_s": args.timeout_s}),
    )
    compressor = _compressor(args)
    proxy.serve(compressor, host=args.host, port=args.port, settings=settings)
    return OK


def _trace(args: argparse.Namespace) -> int:
    return importlib.import_module("tersely_agents.cli").show(args)


def _calibrate(args: argparse.Namespace) -> int:
    from tersely.cli import calibrate

    return _print_report(args, calibrate.calibrate(args.model, args.threads, args.data, args.out))


def _inspect(args: argparse.Namespace) -> int:
    from tersely.cli import reports  # here, because the other commands need not wait for its imports

    return _print_report(args, reports.inspect(args.model))


def _doctor(args: argparse.Namespace) -> int:
    from tersely.cli import reports

    if args.session is not None:
        agents = importlib.import_module("tersely_agents.cli")
        return _print_report(args, agents.doctor_session(args.session, args.save))
    if args.experience is not None:
        agents = importlib.import_module("tersely_agents.cli")
        return _print_report(args, agents.doctor_bank(args.experience, args.save))
    if args.save is not None:
        raise InvalidInputError("--save needs --session or --experience, the file to save from.")
    return _print_report(args, reports.doctor(args.model, args.threads))


_COMMANDS = {
    "compress": _compress,
    "demo": _demo,
    "agent": _agent,
    "mcp": _mcp,
    "serve": _serve,
    "proxy": _proxy,
    "trace": _trace,
    "calibrate": _calibrate,
    "inspect": _inspect,
    "doctor": _doctor,
}


def _compressor(args: argparse.Namespace) -> Compressor:
    return Compressor(args.model, token_counter=args.tokenizer, threads=args.threads)


def _compress_and_time(
    args: argparse.Namespace, options: CompressionOptions, documents: list[Document]
) -> tuple[Compression, float]:
    """The result and the seconds it took, without the loading of the model."""
    compressor = _compressor(args)
    start = time.perf_counter()
    result = compressor.compress(args.query, documents, **options.arguments())
    return result, time.perf_counter() - start


def _print(args: argparse.Namespace, result: Compression, documents: list[Document], seconds: float) -> int:
    style = output.Style.choose(args.color, sys.stdout)
    if args.json:
        print(output.to_json(result.to_dict()))
    else:
        view = output.show if args.show else output.receipt
        print(view(result, documents, style), output.summary(result, documents, seconds), sep="\n\n")
    return _exit_code(result)


def _print_report(args: argparse.Namespace, report: Report) -> int:
    style = output.Style.choose(args.color, sys.stdout)
    if args.json:
        print(output.to_json(report.facts))
    else:
        print(*filter(None, [report.heading, output.table(report.rows(), style)]), sep="\n\n")
    return OK if report.problem is None else _report_error(report.problem, MODEL)


def _exit_code(result: Compression, where: str = "") -> int:
    for warning in result.warnings:
        _report_error(f"{where}{warning}", OK)
    if result.status == "failed_open":
        return _report_error(
            f"{where}not compressed, passed through unchanged: {result.reason}", MODEL_FAILED
        )
    if result.status == "degraded":
        return _report_error(f"{where}degraded: {result.reason}", MODEL_FAILED)
    if result.recall_met is False:
        _report_error(f"{where}the limit leaves out sentences that the recall needs", OK)
    if result.best_fits is False:
        _report_error(f"{where}the unit that scored highest exceeds the limit by itself; raise the limit", OK)
    return OK


def _report_error(message: object, code: int) -> int:
    line = " ".join(str(message).split())
    with contextlib.suppress(OSError):  # nobody may be left to read it; the exit code still says it
        print(f"tersely: {line}", file=sys.stderr)
    return code
