"""Our image, and an engine's folder for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker import containers


@pytest.fixture(scope="session")
def image() -> Iterator[None]:
    """The image, built in the folder that TEST_CONTAINERS names, which is kept for the next run."""
    folder = Path(os.environ["TEST_CONTAINERS"])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in containers.environment(folder).items():
            patch.setenv(name, value)
        containers.build()
        yield
