"""Hooks of MkDocs: add pages from elsewhere in the repository and an API reference, and fix links to them."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
MODELS = ("tersely-mini", "tersely-agent", "span-reader")
PAGES = {
    "README.md": "get-started.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    **{f"models/{name}/README.md": f"models/{name}.md" for name in MODELS},
}
"""Name on the site of each page outside docs/."""
API = {
    "tersely": ["tersely", "tersely.rerank"],
    "agents": [f"tersely_agents.{name}" for name in ("chat", "memory", "agent", "experience", "summaries")],
    "frameworks": [f"tersely_{name}" for name in ("langchain", "llamaindex", "haystack", "mcp", "ray")],
    "server": ["tersely_server", "tersely_proxy", "tersely_ledger"],
}
"""Modules on each page of the API reference."""
PLOTS = "benchmarks/baselines/"

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_COLOURS = re.compile(r'(<form\b[^>]*data-md-component="palette">)(.*?)(?=</form>)', re.DOTALL)
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, the plots, and the API reference."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    for plot in sorted((ROOT / PLOTS).glob("*.png")):
        files.append(File.generated(config, f"plots/{plot.name}", abs_src_path=str(plot)))
    for name, modules in API.items():
        content = "# API reference\n\n" + "\n".join(f"::: {module}\n" for module in modules)
        files.append(File.generated(config, f"api/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the names that their targets have on the site."""
    names = {name: source for source, name in PAGES.items()}
    source = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = _FENCE.split(markdown)  # every second part is a fence
    parts[::2] = [_move_links(part, source, page.file.src_uri) for part in parts[::2]]
    return "".join(parts)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name the group of buttons that choose the colours."""
    return _COLOURS.sub(r'\1<div role="radiogroup" aria-label="Colours">\2</div>', output)


def _move_links(text: str, source: str, name: str) -> str:
    here = posixpath.dirname(name) or "."

    def move(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        path, mark, anchor = target.partition("#")
        if not path or "://" in path:
            return link[0]
        target_name = _find_name(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if target_name is None:
            return label
        return f"{image}[{label}]({posixpath.relpath(target_name, here)}{mark}{anchor})"

    return _LINK.sub(move, text)


def _find_name(file: str) -> str | None:
    """Return the name on the site of a file of the repository, or None if it is not on the site."""
    if not (ROOT / file).is_file():
        return file  # MkDocs reports it as missing
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if file.startswith(PLOTS) and file.endswith(".png"):
        return f"plots/{posixpath.basename(file)}"
    return PAGES.get(file)


class ExpandOptions(griffe.Extension):
    """An extension that shows each option of a compression with its type and default, instead of
    `**options`."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        docstrings = [func.docstring, func.parent and func.parent.docstring]
        is_documented = any(docstring and " options:" in docstring.value for docstring in docstrings)
        annotations = {parameter.name: str(parameter.annotation) for parameter in func.parameters}
        if is_documented or "CompressionArguments" not in annotations.get("options", ""):
            return
        del func.parameters["options"]
        for name, kind, default in _read_options():
            func.parameters.add(
                griffe.Parameter(
                    name, annotation=kind, kind=griffe.ParameterKind.keyword_only, default=default
                )
            )


def _read_options() -> Iterator[tuple[str, str, str]]:
    """Yield name, type and default of each option, from the source: the site is built without tersely's
    dependencies."""
    source = ast.parse((ROOT / "sdk/tersely/options.py").read_text(encoding="utf-8"))
    (options,) = [
        node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "CompressionOptions"
    ]
    for field in options.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.value, ast.Call):
            default = {keyword.arg: keyword.value for keyword in field.value.keywords}["default"]
            yield ast.unparse(field.target), ast.unparse(field.annotation), ast.unparse(default)
