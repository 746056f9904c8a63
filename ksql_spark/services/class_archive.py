"""Archives of the classes that a JVM loads, so that the next JVM with the same jars starts faster.

Up to Java 24 this is an archive of parsed classes (JEP 350). From Java 25 on, if the long write is
worthwhile, it is an AOT cache: linked classes, and profiles that let methods be compiled earlier (JEP 514,
515).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ksql_spark.services import java
from ksql_spark.services.cache import cache_dir, digest
from ksql_spark.services.child import is_alive

#: the first Java with profiles in its AOT cache
PROFILES_SINCE = 25
#: how many archives of one name to keep: other worktrees and other Javas have their own
KEPT = 3


class ClassArchive:
    """The archive for one class path and one Java, in the user's cache.

    Args:
        name: its purpose.
        class_path: all jars, in the order of the class path.
        has_profiles: whether to include profiles; the writing JVM then takes half a minute to exit.
        options: other Java options that it depends on, such as module options.
    """

    def __init__(
        self,
        name: str,
        class_path: Iterable[Path],
        *,
        has_profiles: bool = False,
        options: Iterable[str] = (),
    ) -> None:
        home = java.java_home()
        binary = (home / "bin" / "java").resolve()
        jars = (f"{path}:{path.stat().st_mtime_ns}" for path in class_path)
        key = digest(*jars, *options, str(binary), str(binary.stat().st_mtime_ns))
        self._is_aot = has_profiles and java.version(home) >= PROFILES_SINCE
        self._name = name
        self.file = cache_dir() / "classes" / f"{name}-{key}.{'aot' if self._is_aot else 'jsa'}"
        self._fresh: Path | None = None

    def options(self) -> list[str]:
        """Java options that use the archive; empty if it does not exist."""
        if not self.file.is_file():
            return []
        if self._is_aot:
            return [f"-XX:AOTCache={self.file}", "-Xlog:aot=off", "-Xlog:cds=off"]
        return [f"-XX:SharedArchiveFile={self.file}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    def recording(self) -> list[str]:
        """Java options for a JVM that writes the archive on exit; then call keep()."""
        folder = self.file.parent
        folder.mkdir(parents=True, exist_ok=True)
        for left_behind in folder.glob(f"*{self.file.suffix}.*"):
            with suppress(ValueError):
                if not is_alive(int(left_behind.name.split(".")[2])):
                    left_behind.unlink(missing_ok=True)
        self._fresh = self.file.with_name(f"{self.file.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}")
        if self._is_aot:
            return [f"-XX:AOTCacheOutput={self._fresh}", "-Xlog:aot=off", "-Xlog:cds=off"]
        return [f"-XX:ArchiveClassesAtExit={self._fresh}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    @property
    def is_recording(self) -> bool:
        """Whether a JVM has been told to write the archive on exit, and keep() was not called since."""
        return self._fresh is not None

    def keep(self) -> bool:
        """Move the written archive to its place, and remove old archives; returns whether it was written."""
        fresh, self._fresh = self._fresh, None
        if fresh is None or not fresh.is_file():
            return False
        fresh.replace(self.file)
        others = [
            path for path in self.file.parent.glob(f"{self._name}-*{self.file.suffix}") if path != self.file
        ]
        for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        return True
