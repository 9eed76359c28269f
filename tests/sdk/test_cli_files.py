"""Files, folders and patterns as arguments, and the formats that the command opens."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
from pathlib import Path

import pytest

from tersely.cli import formats
from tersely.cli.read import find_files, read_files
from tests.sdk.cli_runner import ANSWER, NOTE, QUERY, check_failure, run_tersely, write_json_lines

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
DOCX = f"""<?xml version="1.0"?><w:document {WORD}><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>House</w:t></w:r></w:p>
<w:p><w:r><w:t xml:space="preserve">The spare key hangs </w:t></w:r><w:r><w:t>behind the pot.</w:t></w:r>
<w:del><w:r><w:delText>Gone.</w:delText></w:r></w:del></w:p>
<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/></w:numPr></w:pPr><w:r><w:t>Feed the cat</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Room</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Key</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>Attic</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>7</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
</w:body></w:document>"""
DOCX_TEXT = """\
## House

The spare key hangs behind the pot.

- Feed the cat

| Room | Key |
|---|---|
| Attic | 7 |"""
CHAPTER = (
    '<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{}</p><p>{}</p></body></html>'
)
EPUB = {
    "META-INF/container.xml": '<container xmlns="urn:c"><rootfiles><rootfile full-path="in/book.opf"/>'
    "</rootfiles></container>",
    "in/book.opf": '<package xmlns="urn:p"><manifest><item id="b" href="text/two.xhtml"/>'
    '<item id="a" href="text/a%20one.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/>'
    "</spine></package>",
    "in/text/a one.xhtml": CHAPTER.format("The spare key hangs behind the pot.", "It is small."),
    "in/text/two.xhtml": CHAPTER.format("The cat sleeps.", "Rain is expected on Sunday."),
}


def make_zip(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def make_pdf(pages: list[str]) -> bytes:
    """Return a PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    data, offsets = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return (
        data
        + f"{head}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF".encode()
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("notes/b.md", "notes/a.txt", "notes/deep/c.md", "notes/.hidden.md", "notes/.git/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(NOTE if name.endswith("c.md") else "The shed is red.", encoding="utf-8")
    (tmp_path / "notes/logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    return tmp_path


def test_folders_and_patterns_are_found_in_order(folder: Path) -> None:
    files = [str(Path("notes", name)) for name in ("a.txt", "b.md", "logo.png", "deep/c.md")]
    assert find_files(["notes"]) == files
    assert find_files(["notes/b.md", "notes", "-"]) == [files[1], files[0], *files[2:], "-"]
    assert find_files(["notes/**/*.md"]) == [files[1], files[3]]
    assert find_files(["n*s/deep"]) == [files[3]]


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(folder: Path) -> None:
    Path("[x].md").write_text(NOTE, encoding="utf-8")
    assert find_files(["[x].md"]) == ["[x].md"]


def test_a_folder_is_compressed_without_its_binary_files(folder: Path) -> None:
    done = run_tersely("compress", "-q", QUERY, "--budget", "20", "notes")
    assert done.exit_code == 0
    assert ANSWER in done.stdout
    assert done.stderr == f"tersely: skipped {Path('notes/logo.png')}: not text, or damaged\n"
    check_failure(run_tersely("compress", "-q", QUERY, "notes/logo.png"), 2, "not UTF-8 text")


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.txt", "There is no file or folder 'absent.txt'"), ("empty", "There are no files in 'empty'")],
)
def test_a_name_without_files_is_refused(folder: Path, name: str, message: str) -> None:
    (folder / "empty").mkdir()
    check_failure(run_tersely("compress", "-q", QUERY, name), 2, message)


def test_gzip_files_are_opened(tmp_path: Path) -> None:
    note, rows = tmp_path / "note.md.gz", tmp_path / "rows.jsonl.gz"
    note.write_bytes(gzip.compress(NOTE.encode()))
    rows.write_bytes(
        gzip.compress(write_json_lines(tmp_path / "rows.jsonl", [{"text": "One."}]).read_bytes())
    )
    assert [document.text for document in read_files([str(note), str(rows)], "auto")] == [NOTE, "One."]
    note.write_bytes(note.read_bytes()[:-9])
    check_failure(run_tersely("compress", "-q", QUERY, note), 2, "may be damaged")


def test_a_small_file_cannot_become_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_BYTES", 1000)
    for data in (gzip.compress(b"a" * 1001), make_zip({"word/document.xml": " " * 1001})):
        (tmp_path / "bomb").write_bytes(data)
        check_failure(run_tersely("compress", "-q", QUERY, tmp_path / "bomb"), 2, "Split it")


def test_a_web_page_loses_its_tags(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!DOCTYPE html><html><body><p>{NOTE}</p><p>The cat sleeps.</p></body></html>")
    done = run_tersely("compress", "-q", QUERY, "--budget", "30", page)
    assert ANSWER in done.stdout
    assert "<p>" not in done.stdout


def test_word_files_become_markdown(tmp_path: Path) -> None:
    file = tmp_path / "house.docx"
    file.write_bytes(make_zip({"word/document.xml": DOCX}))
    (document,) = read_files([str(file)], "auto")
    assert (document.text, document.id) == (DOCX_TEXT, str(file))


def test_books_become_chapters_in_order(tmp_path: Path) -> None:
    file = tmp_path / "book.epub"
    file.write_bytes(make_zip(EPUB))
    documents = read_files([str(file)], "auto")
    assert [document.id for document in documents] == [f"{file}#text/a one.xhtml", f"{file}#text/two.xhtml"]
    assert documents[0].text.startswith("<html")
    done = run_tersely("compress", "-q", QUERY, "--budget", "20", file)
    assert "The spare key hangs behind the pot." in done.stdout
    assert "<p>" not in done.stdout


def test_pdf_pages_are_documents(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    file = tmp_path / "house.pdf"
    file.write_bytes(make_pdf(["The shed is red.", "", "The spare key hangs behind the pot."]))
    documents = read_files([str(file)], "auto")
    assert [(document.text, document.id) for document in documents] == [
        ("The shed is red.", f"{file}#page=1"),
        ("The spare key hangs behind the pot.", f"{file}#page=3"),
    ]


def test_a_pdf_without_text_or_damaged_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    file = tmp_path / "scan.pdf"
    for data, message in ((make_pdf([""]), "it may be scanned"), (b"%PDF-1.4\nnothing", "may be damaged")):
        file.write_bytes(data)
        check_failure(run_tersely("compress", "-q", QUERY, file), 2, message)


def test_a_pdf_without_pypdf_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    file = tmp_path / "house.pdf"
    file.write_bytes(make_pdf(["The shed is red."]))
    check_failure(run_tersely("compress", "-q", QUERY, file), 3, "pip install pypdf")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.txt": "x"}, "neither DOCX nor EPUB"),
        ({"word/document.xml": "<broken"}, "may be damaged"),
        ({"META-INF/container.xml": "<container/>"}, "may be damaged"),
        ({**EPUB, "in/book.opf": '<p xmlns="urn:p"><itemref idref="z"/></p>'}, "may be damaged"),
    ],
    ids=["other", "broken", "no package", "no chapter"],
)
def test_other_archives_are_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    (tmp_path / "file.zip").write_bytes(make_zip(files))
    check_failure(run_tersely("compress", "-q", QUERY, tmp_path / "file.zip"), 2, message)
