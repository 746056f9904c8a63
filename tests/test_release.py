"""One version everywhere, a section of CHANGELOG.md for it, locked packages, workflows that call targets."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections import defaultdict
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ksql_spark import __version__

ROOT = Path(__file__).parent.parent
RELEASE = runpy.run_path(str(ROOT / "packaging" / "release.py"))
#: `## 1.2.3 (2026-01-31)`, or without a date while it is not released
HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d{2}-\d{2}|unreleased)\)$")


def test_all_files_state_one_version() -> None:
    assert set(RELEASE["versions"]().values()) == {__version__}


def test_sections_are_versions_newest_first() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    headings = [HEADING.match(line) for line in lines if line.startswith("## ")]
    assert all(headings)
    versions = [tuple(map(int, heading[1].split("."))) for heading in headings if heading]
    assert versions == sorted(set(versions), reverse=True)
    assert ".".join(map(str, versions[0])) == __version__
    assert all(heading[2] != "unreleased" for heading in headings[1:] if heading)


def test_a_section_has_at_most_ten_highlights() -> None:
    for section in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        _, _, rest = section.partition("### Highlights\n")
        assert rest.partition("\n### ")[0].count("\n* ") <= 10


def test_a_version_without_a_date_is_not_released() -> None:
    (problem,) = (p for p in RELEASE["blockers"]("99.0.0", dry_run=False) if "CHANGELOG" in p)
    assert problem == "CHANGELOG.md has no date for 99.0.0. Write '## 99.0.0 (YYYY-MM-DD)'."


def test_workflows_call_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        called = set(re.findall(r"run: make ([a-z-]+)", text))
        for job in yaml.safe_load(text)["jobs"].values():
            called |= set(job.get("strategy", {}).get("matrix", {}).get("target", ()))
        assert called, path.name
        assert called <= targets, path.name


def test_all_packages_are_locked() -> None:
    """make lock writes the file anew; it names no index, since the packages may come from a mirror."""
    text = (ROOT / "packaging" / "lock.txt").read_text(encoding="utf-8")
    assert "://" not in text
    lines = re.sub(r" \\\n +", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()
    locked = defaultdict(set)
    for line in lines:
        found = re.fullmatch(r"(\S+)==(\S+)(?: ; .+?)?(?: --hash=sha256:\w{64})+", line)
        assert found, line
        locked[found[1]].add(found[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"].values()
    for texts in (project["project"]["dependencies"], *extras, *project["dependency-groups"].values()):
        for required in map(Requirement, texts):
            if required.name != project["project"]["name"]:
                versions = locked[canonicalize_name(required.name)]
                assert any(map(required.specifier.contains, versions)), f"{required}: make lock"
