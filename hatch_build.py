"""Build hook: a package index shows README.md alone, so its links become absolute.

`address` in `[tool.hatch.metadata.hooks.custom]` is that of the published repository. Without one, links
become plain text, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


class DescriptionHook(MetadataHookInterface):
    """A hook that adds the long description, and the URLs of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        address = self.config.get("address", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": move_links(text, address)}
        if address:
            pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
            metadata["urls"] = {"Source": address} | {k: f"{address}/blob/HEAD/{v}" for k, v in pages.items()}


def move_links(text: str, address: str) -> str:
    """Return a Markdown text whose links to files of the repository are absolute, or plain text."""

    def move(link: re.Match[str]) -> str:
        image, label, target = link.groups()
        if not address:
            return "" if image else label
        return f"{image}[{label}]({address}/{'raw' if image else 'blob'}/HEAD/{target})"

    return _LINK.sub(move, text)
