"""The server of `tersely serve` on the machines of a Ray cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from ray import serve  # pyright: ignore[reportMissingImports]

from tersely import Compressor
from tersely.inputs import check_count, check_kind, check_members
from tersely_server import ServerSettings, build_app


def make_application(
    settings: ServerSettings | None = None, *, compressor: dict[str, Any] | None = None, **deployment: Any
) -> serve.Application:
    """An application for `ray.serve.run`: every replica is a server with a compressor of its own.

    Args:
        settings: as for `tersely serve`. Its limits are those of a replica, and so are its numbers under
            /metrics. One of its requests is worked on for each thread, unless `slots` says otherwise. A
            cluster that others reach needs its `key`.
        compressor: arguments of `Compressor`; its `threads` are reserved as cores, one if it has none.
        deployment: options of a Ray Serve deployment, such as `num_replicas=4` or `autoscaling_config`.

    Raises:
        InvalidInputError: a setting cannot be used.
    """
    if compressor is not None:
        check_members(compressor, ("keys",), "compressor", "Pass arguments of Compressor, by name.")
    arguments = {"threads": 1, **(compressor or {})}
    threads = check_count(arguments["threads"], "threads", "threads")
    given = check_kind(ServerSettings() if settings is None else settings, ServerSettings, "settings")
    own = replace(given, slots=given.slots or threads)

    def build() -> FastAPI:
        return build_app(Compressor(**arguments), own)

    # More than the server admits, so that it is the server that says when to come again.
    options = {
        "name": "tersely",
        "max_ongoing_requests": 2 * ((own.slots or 1) + own.queue),
        "ray_actor_options": {"num_cpus": threads},
        **deployment,
    }
    return serve.deployment(serve.ingress(build)(), **options).bind()
