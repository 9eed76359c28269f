"""The documents in a file's bytes. The file may be text, gzip, PDF, DOCX or EPUB.

The format is recognised by the content, not by the name, so that standard input works too. Web pages are read
as text; `split` opens them.
"""

from __future__ import annotations

import gzip
import io
import logging
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import NoReturn
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from tersely.errors import InvalidInputError, MissingDependencyError
from tersely.inputs import decode_utf8
from tersely.types import Document

MAX_BYTES = 1 << 30
"""Largest number of bytes of a file after it was decompressed."""

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_CONTAINER = "META-INF/container.xml"
_BODY = "word/document.xml"


def decompress(data: bytes, name: str) -> bytes:
    """Return the content of a gzip file; other data comes back as it is. Messages name the file.

    Raises InvalidInputError for a damaged file, or one that is too large.
    """
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        _refuse_damaged(name, "gzip", error)
    if len(content) > MAX_BYTES:
        _refuse_large(name)
    return content


def find_reader(data: bytes) -> Callable[[bytes, str], list[Document]] | None:
    """Return the function that reads the documents in a PDF, DOCX or EPUB; None for other data.

    Its arguments are the data and the name of the file. It raises InvalidInputError for a file that cannot be
    read, and MissingDependencyError if a package is missing.
    """
    if data.startswith(b"%PDF-"):
        return read_pdf
    return _read_zip if data.startswith(b"PK\x03\x04") else None


def read_pdf(data: bytes, name: str) -> list[Document]:
    """Return a document for each page with text. Its id ends in the page's number, as in `a.pdf#page=3`."""
    try:
        import pypdf
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError as error:
        raise MissingDependencyError(f"{name} is a PDF, which needs pypdf: pip install pypdf") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports each repair on standard error
    try:
        texts = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]
    except DependencyError as error:
        raise InvalidInputError(f"{name} is encrypted. Save it without a password first.") from error
    except (PyPdfError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        _refuse_damaged(name, "PDF", error)  # pypdf raises any of these for malformed objects
    pages = [
        Document(text, id=f"{name}#page={number}") for number, text in enumerate(texts, 1) if text.strip()
    ]
    if not pages:
        raise InvalidInputError(
            f"{name} has no text; it may be scanned. Run text recognition (OCR) on it first."
        )
    return pages


def _read_zip(data: bytes, name: str) -> list[Document]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
                _refuse_large(name)
            names = set(archive.namelist())
            if _BODY in names:
                return [Document(_read_docx(archive), id=name)]
            if _CONTAINER in names:
                return list(_read_epub(archive, name))
    except (
        zipfile.BadZipFile,
        zlib.error,
        ElementTree.ParseError,
        LookupError,
        NotImplementedError,
    ) as error:
        _refuse_damaged(name, "ZIP", error)
    except RuntimeError as error:  # zipfile's error for a password
        raise InvalidInputError(f"{name} is encrypted. Save it without a password first.") from error
    raise InvalidInputError(
        f"{name} is a ZIP file, but neither DOCX nor EPUB. Unpack it, and name the folder."
    )


def _read_docx(archive: zipfile.ZipFile) -> str:
    """Return the paragraphs and tables of a DOCX as text, with headings and lists as in Markdown."""
    body = ElementTree.fromstring(archive.read(_BODY)).find(f"{_WORD}body")
    for parent in [] if body is None else list(body.iter()):
        for child in [child for child in parent if child.tag.endswith("}Fallback")]:
            parent.remove(child)  # it repeats a text box for old programs
    return "" if body is None else "\n\n".join(filter(None, map(_read_element, body)))


def _read_element(element: Element) -> str:
    """Return a paragraph or a table of a DOCX as Markdown."""
    if element.tag == f"{_WORD}tbl":
        rows = [
            [" ".join(_read_runs(cell).split()) for cell in row.iter(f"{_WORD}tc")]
            for row in element.iter(f"{_WORD}tr")
        ]
        lines = [f"| {' | '.join(row)} |" for row in rows]
        rule = f"|{'---|' * len(rows[0])}" if rows else ""
        return "\n".join([*lines[:1], rule, *lines[1:]]).strip()
    text = _read_runs(element).strip()
    style = element.find(f"{_WORD}pPr/{_WORD}pStyle")
    heading = re.match(r"(?:Heading|Title)(\d?)", "" if style is None else style.get(f"{_WORD}val", ""))
    if text and heading:
        return f"{'#' * min(int(heading[1] or 1), 6)} {text}"
    is_item = element.find(f"{_WORD}pPr/{_WORD}numPr") is not None
    return f"- {text}" if text and is_item else text


def _read_runs(element: Element) -> str:
    """Return all text inside an element, with its tabs and line breaks."""
    breaks = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}p": "\n"}
    return "".join(
        (node.text or "") if node.tag == f"{_WORD}t" else breaks.get(node.tag, "") for node in element.iter()
    )


def _read_epub(archive: zipfile.ZipFile, name: str) -> Iterator[Document]:
    """Yield the chapters of an EPUB in order, as web pages. Each id ends in the chapter's path."""
    container = ElementTree.fromstring(archive.read(_CONTAINER))
    files = [node.get("full-path", "") for node in container.iter() if node.tag.endswith("}rootfile")]
    package = files[0]
    book = ElementTree.fromstring(archive.read(package))
    paths = {node.get("id"): node.get("href", "") for node in book.iter() if node.tag.endswith("}item")}
    for node in book.iter():
        if node.tag.endswith("}itemref"):
            path = unquote(paths[node.get("idref")])
            page = archive.read(posixpath.normpath(posixpath.join(posixpath.dirname(package), path)))
            text = decode_utf8(page, f"{name}, {path}")
            # Remove the XML declaration, so that `split` reads a web page and not XML data.
            yield Document(re.sub(r"\A\s*<\?xml[^>]*\?>\s*", "", text), id=f"{name}#{path}")


def _refuse_damaged(name: str, kind: str, error: Exception) -> NoReturn:
    raise InvalidInputError(f"{name} cannot be read as {kind}, it may be damaged ({error}).") from error


def _refuse_large(name: str) -> NoReturn:
    raise InvalidInputError(f"{name} holds more than {MAX_BYTES >> 30} GiB. Split it into smaller files.")
