"""What holds after all of these tests: no child is left."""

from collections.abc import Iterator

import psutil
import pytest


@pytest.fixture(scope="session", autouse=True)
def no_child_is_left() -> Iterator[None]:
    """No engine process that a test started outlives the tests."""
    yield
    left = [child for child in psutil.Process().children() if "teto.engines.llama_child" in child.cmdline()]
    assert not left
