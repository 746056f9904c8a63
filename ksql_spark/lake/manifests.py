"""Manifests: which files a folder of Parquet files has, and up to where it has the records of its topics.

A commit is a manifest: it gets its number only if nobody has it yet, so that of two writers only one commits.
The files are written before it below other names, and get theirs after it. Whoever opens the folder next
completes that. Names that no commit can use any more are removed then, too. So a manifest's number tells what
may be removed: no clock does.

Readers follow one protocol, here and in Manifest.java; tests/lake/manifests.json has the cases of both:

* The newest ``_ksql/N.json`` counts, N with 20 digits, whether or not its commit is published.
* The folder has the files of ``lists`` and ``recent``; ``positions`` say up to where they are complete.
* A file is below its name, or, if it is one of ``files`` and not there, below ``_ksql/`` and its staged name.
* If it is in neither place, or a manifest or list is gone, the reader begins again with the newest manifest.
* Who needs the names themselves, as a batch of Spark does, waits until they are there, or fails.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.lake.stores import Store

#: readers of folders ignore names that begin so
OWN = "_ksql"
#: how many manifests are kept
_KEPT = 10
#: so many files are named by manifests themselves, more of them by lists, which do not change
_LISTED = 1000
_NAME = re.compile(r"(\d{20})(?:-.*)?\.(json|list|tmp)")
#: names of the files that commits write
PART = re.compile(r"part-(\d{20})(?:-\d+)?\.parquet")

#: a file's size in bytes; of an archive its first and last offsets, too
File = Sequence[int]


@dataclass(frozen=True)
class Manifest:
    """A commit, and all that was before it.

    Args:
        number: of the commit.
        positions: topic -> partition -> offset of the first record that is missing.
        schema: of Arrow, serialized, in hexadecimal digits.
        files: the commit's: name below OWN -> name.
        removed: files that those of the commit replace.
        recent: files that no list has.
        lists: names below OWN, with files that were there before.
    """

    number: int = 0
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    schema: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()
    recent: Mapping[str, File] = field(default_factory=dict)
    lists: Sequence[str] = ()


def newest(store: Store, names: Iterable[str] | None = None) -> Manifest:
    """The newest manifest of a folder; number 0: it has none.

    Args:
        store: the folder.
        names: what is below OWN, where it is known already.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    while True:
        matches = (_NAME.fullmatch(name) for name in (store.names(OWN) if names is None else names))
        numbers = [int(match[1]) for match in matches if match is not None and match[2] == "json"]
        if not numbers:
            return Manifest()
        number, names = max(numbers), None
        try:
            return Manifest(number, **_parsed(store, _name(number)))
        except FileNotFoundError:
            continue  # it is so old that it was removed meanwhile


def require_empty(store: Store, folder: str) -> None:
    """Check that a folder without manifests has no files of commits: new ones would take their names.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    part = next((name for name in store.all_names() if PART.fullmatch(name.rpartition("/")[2])), None)
    if part is not None:
        reason = f"{OWN} with its manifests is gone, but files are there, such as {part}"
        raise KsqlError("LAKE_FAILED", path=folder, reason=reason)


def listed(store: Store, manifest: Manifest) -> dict[str, File]:
    """All files of a folder.

    Raises:
        KsqlError: LAKE_FAILED.
        FileNotFoundError: newer commits have replaced the manifest.
    """
    files: dict[str, File] = {}
    for name in manifest.lists:
        files |= _parsed(store, name)
    return files | dict(manifest.recent)


def _parsed(store: Store, name: str) -> dict[str, Any]:
    """A manifest, or a list.

    Raises:
        KsqlError: LAKE_FAILED.
        FileNotFoundError: it is not there.
    """
    try:
        body: dict[str, Any] = json.loads(store.read(f"{OWN}/{name}"))
    except ValueError as error:
        raise KsqlError("LAKE_FAILED", path=f"{OWN}/{name}", reason=f"it is damaged: {error}") from None
    return body


def content(store: Store, manifest: Manifest, name: str) -> bytes:
    """Return the content of a file.

    Raises:
        KsqlError: LAKE_FAILED.
        FileNotFoundError: newer commits have replaced it.
    """
    try:
        return store.read(name)
    except FileNotFoundError:
        staged = next((staged for staged, final in manifest.files.items() if final == name), None)
        if staged is None:
            raise
        return store.read(f"{OWN}/{staged}")


def staged_name(number: int) -> str:
    """A name below OWN for a file of a commit, which nothing else has."""
    return f"{number:020}-{uuid.uuid4().hex}.tmp"


def commit(store: Store, manifest: Manifest) -> bool:
    """Make a commit, whose files are written; returns whether it has won its number.

    Raises:
        KsqlError: LAKE_FAILED: whether it has is not known.
    """
    if len(manifest.recent) > _LISTED:
        recent, lists = sorted(manifest.recent.items()), list(manifest.lists)
        for first in range(0, len(recent), _LISTED):
            lists.append(f"{manifest.number:020}-{uuid.uuid4().hex}.list")
            content = json.dumps(dict(recent[first : first + _LISTED])).encode()
            store.write(f"{OWN}/{lists[-1]}", content)
        manifest = replace(manifest, recent={}, lists=lists)
    text = {name: value for name, value in vars(manifest).items() if name != "number"}
    content = json.dumps(text).encode()
    name = f"{OWN}/{_name(manifest.number)}"
    # where the store's answer was lost, it is ours that is there
    return store.create(name, content) or store.read(name) == content


def publish(store: Store, manifest: Manifest) -> None:
    """Give the files of a commit their names, and remove what it replaces, one folder after another.

    No order is right for those who only list the folder: between a file's name and the removal of those that
    it replaces they see rows twice, and the other way round they would miss them.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    removed: dict[str, list[str]] = {}
    for name in manifest.removed:
        removed.setdefault(name.rpartition("/")[0], []).append(name)
    for folder, renames in groupby(sorted(manifest.files.items(), key=_folder), _folder):
        for staged, name in renames:
            store.rename(f"{OWN}/{staged}", name)
        store.remove(*removed.pop(folder, ()))
    store.remove(*(name for names in removed.values() for name in names))


def _folder(rename: tuple[str, str]) -> str:
    return rename[1].rpartition("/")[0]


def complete(store: Store) -> Manifest:
    """Complete what whoever wrote the folder last was killed in; returns the newest manifest.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    names = store.names(OWN)
    last = newest(store, names)
    if is_pending(last, names):
        publish(store, last)
    tidy(store, last, names)
    return last


def is_pending(manifest: Manifest, names: Iterable[str]) -> bool:
    """Whether a commit may not be published yet; ``names``: what is below OWN."""
    return any(name.startswith(f"{manifest.number:020}-") and name.endswith(".tmp") for name in names)


def tidy(store: Store, manifest: Manifest, names: Iterable[str]) -> None:
    """Remove what commits up to this one have left below OWN; its files must have their names.

    Args:
        store: the folder.
        manifest: the newest one.
        names: what is below OWN.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    for name in names:
        match = _NAME.fullmatch(name)
        if match is None or int(match[1]) > manifest.number or name in manifest.lists:
            continue
        if match[2] != "json" or int(match[1]) <= manifest.number - _KEPT:
            store.remove(f"{OWN}/{name}")


def _name(number: int) -> str:
    return f"{number:020}.json"
