"""What the tests of a module leave to those of the next: the number of threads, and accelerate's state.

Tiny models are fastest on one thread, and give the same values everywhere."""

from collections.abc import Iterator

import pytest
import torch
from accelerate.state import AcceleratorState


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True, scope="module")
def own_precision() -> Iterator[None]:
    """A trainer keeps its precision for the whole process; other tests choose another."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
