"""Reset what a module's tests change: the number of threads, and accelerate's state.

Tiny models are fastest on one thread, and give the same values everywhere."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def reset_torch() -> Iterator[None]:
    import torch
    from accelerate.state import AcceleratorState

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    # A trainer keeps its precision for the whole process; other tests choose another.
    AcceleratorState._reset_state(reset_partial_state=True)
