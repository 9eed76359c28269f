"""Hooks of MkDocs: pages that stand elsewhere in the repository, the API reference, and links to both."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "get-started.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    "models/span-reader/README.md": "models/span-reader.md",
    "models/tersely-mini/README.md": "models/tersely-mini.md",
}
"""By path in the repository, the name on the site. Pages of docs/ keep theirs."""
API = {
    "tersely": "tersely",
    **{name: f"tersely.{name}" for name in ("chat", "memory", "agent", "experience", "summarize", "rerank")},
    **{name: f"tersely.{name}" for name in ("speed", "compat", "adapters")},
    **{name: f"tersely_{name}" for name in ("langchain", "llamaindex", "haystack", "server", "proxy", "ray")},
}
"""By page under api/, the module whose public names it lists."""
PLOTS = "benchmarks/baselines/"

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, their plots, and a page for each module."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    for plot in sorted((ROOT / PLOTS).glob("*.png")):
        files.append(File.generated(config, f"plots/{plot.name}", abs_src_path=str(plot)))
    for name, module in API.items():
        files.append(File.generated(config, f"api/{name}.md", content=f"# {module}\n\n::: {module}\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with links to where their targets are on the site."""
    names = {name: source for source, name in PAGES.items()}
    source = names.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = _FENCE.split(markdown)  # every second part is a fence
    parts[::2] = [_move_links(part, source, page.file.src_uri) for part in parts[::2]]
    return "".join(parts)


def _move_links(text: str, source: str, name: str) -> str:
    here = posixpath.dirname(name) or "."

    def move(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        path, mark, anchor = target.partition("#")
        if not path or "://" in path:
            return link[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = _find_name(file)
        if there is None:
            return label  # a file that is not on the site
        return f"{image}[{label}]({posixpath.relpath(there, here)}{mark}{anchor})"

    return _LINK.sub(move, text)


def _find_name(file: str) -> str | None:
    """The name on the site of a file of the repository; None where it is not there."""
    if not (ROOT / file).is_file():
        return file  # MkDocs says that it is missing
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if file.startswith(PLOTS) and file.endswith(".png"):
        return f"plots/{posixpath.basename(file)}"
    return PAGES.get(file)
