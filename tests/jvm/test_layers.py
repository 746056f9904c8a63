"""Which Java package may use which: import-linter's rule for the JVM classes."""

from __future__ import annotations

import re

import pytest

from tests.jvm.tools import PRODUCT

#: a package may use those of later rows; packages of one row do not use each other
LAYERS = (
    {"catalog"},
    {"cluster", "internals.task", "transaction"},
    {"kafka"},
    {"extension", "ownership", "python"},
    {"state"},
    {"formats"},
    {"log"},
    {"functions", "internals.kafka", "internals.settings", "internals.shuffle", "internals.state"}
    | {"memory", "registry"},
)
OURS = PRODUCT / "org" / "ksqlspark"
PACKAGES = sorted(".".join(file.parent.relative_to(OURS).parts) for file in OURS.rglob("package-info.java"))


def test_each_package_has_a_layer() -> None:
    assert sorted(name for layer in LAYERS for name in layer) == PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_uses_only_those_below(package: str) -> None:
    number = next(n for n, layer in enumerate(LAYERS) if package in layer)
    below = {name for layer in LAYERS[number + 1 :] for name in layer} | {package}
    for file in sorted(OURS.joinpath(*package.split(".")).glob("*.java")):
        used = set(re.findall(r"org\.ksqlspark\.((?:internals\.)?[a-z]+)", file.read_text(encoding="utf-8")))
        assert used <= below, f"{file.name} uses {', '.join(sorted(used - below))}"
