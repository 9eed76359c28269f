"""The files in the allowed folders as resources, so that a client sees which there are."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import Resource

from tersely import InvalidInputError
from tersely_mcp.folders import File, Folders

SCHEME = "tersely://files/"


class FolderServer(MCPServer[Any]):
    """A server whose resources are the files in folders, as they are at each request."""

    def __init__(self, folders: Folders, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._folders = folders

    async def list_resources(self) -> list[Resource]:
        """The first 1000 files, without hidden ones. A resource's name is a path for `compress`."""
        files = await asyncio.to_thread(self._folders.list)
        return [
            Resource(uri=_uri(file), name=file.name, mime_type=_mime_type(file), title=file.title)
            for file in files
        ]

    async def read_resource(self, uri: Any, context: Any = None) -> Iterable[ReadResourceContents]:
        """The text of a file that is listed."""
        file = next((f for f in await asyncio.to_thread(self._folders.list) if _uri(f) == str(uri)), None)
        if file is None:
            raise ResourceNotFoundError(f"There is no resource {str(uri)!r}. List the resources.")
        try:
            document, _ = await asyncio.to_thread(file.read_document)
        except InvalidInputError as error:
            raise ResourceError(str(error)) from error
        return [ReadResourceContents(content=document.text, mime_type=_mime_type(file))]


def _uri(file: File) -> str:
    return SCHEME + quote(file.name)


def _mime_type(file: File) -> str:
    return mimetypes.guess_type(file.title)[0] or "text/plain"
