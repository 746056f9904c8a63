"""A migrations project: a directory with a properties file and files of statements."""

from __future__ import annotations

import argparse
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from ksql_spark.shell.client import Client
from ksql_spark.shell.options import OptionProblem, make_client, properties_of

#: the properties file
CONFIG = "ksql-migrations.properties"
FOLDER = "migrations"
MAX_VERSION = 999_999
_FILE = re.compile(r"V(\d{6})__(.+)\.sql")
_URL = "ksql.server.url"


@dataclass(frozen=True)
class Migration:
    """A file of statements.

    Attributes:
        version: 1 to 999999; files are applied in the order of their versions.
        path: the file.
    """

    version: int
    path: Path

    @property
    def name(self) -> str:
        """The description in the file's name."""
        return self.path.name[len("V000000__") : -len(".sql")].replace("_", " ")

    def text(self) -> str:
        """The statements. Raises OptionProblem."""
        try:
            return self.path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise OptionProblem(f"Cannot read {self.path}: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise OptionProblem(f"Cannot read {self.path}: it is not UTF-8 text.") from None

    def checksum(self) -> str:
        """The MD5 of the file, as hexadecimal digits."""
        try:
            return hashlib.md5(self.path.read_bytes(), usedforsecurity=False).hexdigest()
        except OSError as error:
            raise OptionProblem(f"Cannot read {self.path}: {error.strerror}.") from None


@dataclass(frozen=True)
class Project:
    """The contents of the properties file.

    Attributes:
        config: the file.
        properties: its lines.
    """

    config: Path
    properties: dict[str, str]

    @classmethod
    def open(cls, config: Path) -> Project:
        """The project of a properties file.

        Raises:
            OptionProblem: the file cannot be read, or names no server.
        """
        if not config.is_file():
            raise OptionProblem(
                f"{config} does not exist. Create a project with new-project, change to its directory, or "
                f"pass its file with --config-file."
            )
        properties = properties_of(str(config))
        if not properties.get(_URL):
            raise OptionProblem(f"{config}: {_URL} is missing. For example: {_URL}=http://localhost:8088")
        return cls(config, properties)

    @classmethod
    def create(cls, folder: Path, url: str) -> Project:
        """Create the project directory; existing files stay.

        Raises:
            OptionProblem: the project already exists, or the directory cannot be created.
        """
        config = folder / CONFIG
        try:
            (folder / FOLDER).mkdir(parents=True, exist_ok=True)
            with config.open("x", encoding="utf-8") as file:
                file.write(f"{_URL}={url}\n")
        except FileExistsError as error:
            raise OptionProblem(f"{error.filename} already exists.") from None
        except OSError as error:
            raise OptionProblem(f"Cannot create {error.filename}: {error.strerror}.") from None
        return cls(config, {_URL: url})

    @property
    def folder(self) -> Path:
        """The directory of the migration files."""
        folder = self.properties.get("ksql.migrations.dir.override")
        return Path(folder).expanduser() if folder else self.config.parent / FOLDER

    @property
    def stream(self) -> str:
        """The stream of events."""
        return self.properties.get("ksql.migrations.stream.name", "MIGRATION_EVENTS").upper()

    @property
    def table(self) -> str:
        """The table with the latest event of each version."""
        return self.properties.get("ksql.migrations.table.name", "MIGRATION_SCHEMA_VERSIONS").upper()

    @property
    def replicas(self) -> str:
        """The replicas of their topics."""
        return self.properties.get("ksql.migrations.topic.replicas", "1")

    def topic(self, of: str, service_id: str) -> str:
        """The topic of the stream ("stream") or of the table ("table")."""
        name = self.stream if of == "stream" else self.table
        return self.properties.get(f"ksql.migrations.{of}.topic.name", f"{service_id}ksql_{name}")

    def client(self) -> Client:
        """A client of the server. Raises OptionProblem."""
        options = argparse.Namespace(
            user=self.properties.get("ksql.auth.basic.username"),
            password=self.properties.get("ksql.auth.basic.password"),
            token=self.properties.get("bearer.auth.token"),
            confluent_api_key=None,
            confluent_api_secret=None,
        )
        return make_client(self.properties[_URL], options, self.properties)

    def migrations(self) -> list[Migration]:
        """The files by version; files with other names are not migrations.

        Raises:
            OptionProblem: the directory does not exist, two files have the same version, or a file has
            version 0.
        """
        try:
            paths = sorted(path for path in self.folder.iterdir() if path.is_file())
        except OSError as error:
            raise OptionProblem(f"Cannot read the directory {self.folder}: {error.strerror}.") from None
        by_version: dict[int, Migration] = {}
        for path in paths:
            match = _FILE.fullmatch(path.name)
            if match is None:
                continue
            version = int(match[1])
            if version == 0:
                raise OptionProblem(f"{path}: versions start at 1.")
            if version in by_version:
                raise OptionProblem(f"{by_version[version].path.name} and {path.name} have the same version.")
            by_version[version] = Migration(version, path)
        return list(by_version.values())

    def add(self, description: str, version: int | None) -> Migration:
        """Create an empty file.

        Args:
            description: words for its name.
            version: by default the one after the highest existing version.

        Raises:
            OptionProblem: the version already exists, or the description is not a valid file name.
        """
        name = re.sub(r"\s+", "_", description.strip())
        if not re.fullmatch(r"[\w.-]+", name):
            raise OptionProblem(
                "A description must not be empty and may only contain letters, digits, spaces and . _ -"
            )
        there = {migration.version: migration for migration in self.migrations()}
        chosen = max(there, default=0) + 1 if version is None else version
        if not 1 <= chosen <= MAX_VERSION:
            raise OptionProblem(f"A version must be a number from 1 to {MAX_VERSION}.")
        if chosen in there:
            raise OptionProblem(
                f"A migration with version {chosen} already exists: {there[chosen].path.name}"
            )
        path = self.folder / f"V{chosen:06}__{name}.sql"
        try:
            path.touch(exist_ok=False)
        except OSError as error:
            raise OptionProblem(f"Cannot create {path}: {error.strerror}.") from None
        return Migration(chosen, path)
