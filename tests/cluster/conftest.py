"""A cluster on this machine with nodes that a test can kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

# Set before Ray is imported. One machine needs no token. A busy one answers health checks late, and its
# workers get no time at Ray's own niceness of 15.
os.environ |= {
    "RAY_AUTH_MODE": "disabled",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_worker_register_timeout_seconds": "600",
}

STORE = 150 * 2**20
"""Number of bytes of the object store of a node."""
ATTEMPTS = 5
"""A busy machine may start a node more slowly than Ray waits for it."""


class LocalCluster:
    """Nodes on this machine, each with its own processes."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster()
        self.add_node()
        self.address = self._cluster.address

    def add_node(self) -> Any:
        """Start a node with two cores; the first is the head."""
        for attempt in range(ATTEMPTS):
            try:
                return self._cluster.add_node(num_cpus=2, object_store_memory=STORE, include_dashboard=False)
            except Exception:
                if attempt == ATTEMPTS - 1:
                    raise
        return None

    def kill_node(self, node: Any) -> None:
        """End all processes of a node at once."""
        self._cluster.remove_node(node, allow_graceful=False)

    def stop(self) -> None:
        """End all nodes."""
        import ray

        ray.shutdown()
        self._cluster.shutdown()


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Yield a cluster, at first with only a head."""
    made = LocalCluster()
    os.environ["RAY_ADDRESS"] = made.address
    yield made
    made.stop()
    del os.environ["RAY_ADDRESS"]
