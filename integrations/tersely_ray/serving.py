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
    """Return an application for `ray.serve.run`. Every replica is a server with its own compressor.

    Args:
        settings: as for `tersely serve`, for each replica; /metrics too counts the requests of one replica.
            Without `slots`, as many requests run at once as there are threads. A cluster that
            others can reach needs a `key`.
        compressor: arguments of `Compressor`; its `threads`, by default 1, are reserved as cores.
        deployment: options of a Ray Serve deployment, such as `num_replicas=4` or `autoscaling_config`.

    Raises:
        InvalidInputError: a setting cannot be used.
    """
    if compressor is not None:
        check_members(compressor, ("keys",), "compressor", "Pass arguments of Compressor, by name.")
    arguments = {"threads": 1, **(compressor or {})}
    threads = check_count(arguments["threads"], "threads", "threads")
    given = check_kind(ServerSettings() if settings is None else settings, ServerSettings, "settings")
    slots = given.slots or threads

    def build() -> FastAPI:
        return build_app(Compressor(**arguments), replace(given, slots=slots))

    # More than the server admits, so that the server itself refuses requests and says when to come again.
    options = {
        "name": "tersely",
        "max_ongoing_requests": 2 * (slots + given.queue),
        "ray_actor_options": {"num_cpus": threads},
        **deployment,
    }
    return serve.deployment(serve.ingress(build)(), **options).bind()
