"""Archives of the classes that a JVM loads, so that the next JVM with the same jars starts faster.

Up to Java 24 this is an archive of parsed classes (JEP 350). From Java 25 on, if the long write is
worthwhile, it is an AOT cache: linked classes, and profiles that let methods be compiled earlier (JEP 514,
515).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ksql_spark.services import cache, java
from ksql_spark.services.cache import Report, cache_dir, digest

#: the first Java with profiles in its AOT cache
PROFILES_SINCE = 25
#: how many archives of one name to keep: other worktrees and other Javas have their own
KEPT = 3
#: how long a JVM that was told to exit may take to write an archive, seconds: it takes 3 to 30 s on two cores
WRITE_S = 300.0
#: how often to report that it is still writing, seconds
_REPORT_S = 5.0


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
        self._scratch = contextlib.ExitStack()
        self._fresh: Path | None = None

    @property
    def exists(self) -> bool:
        """Whether it was written."""
        return _is_whole(self.file)

    def options(self) -> list[str]:
        """Java options that use the archive; empty if it does not exist."""
        if not self.exists:
            return []
        if self._is_aot:
            return [f"-XX:AOTCache={self.file}", "-Xlog:aot=off", "-Xlog:cds=off"]
        return [f"-XX:SharedArchiveFile={self.file}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    def recording(self) -> list[str]:
        """Java options for a JVM that writes the archive on exit; empty if the cache cannot be written.

        Once the JVM was told to exit, call await_written(); once it has ended, keep().
        """
        self._scratch.close()
        try:
            self._fresh = self._scratch.enter_context(cache.scratch()) / self.file.name
        except OSError:  # without an archive, starts are slower, nothing else
            self._fresh = None
            return []
        if self._is_aot:
            return [f"-XX:AOTCacheOutput={self._fresh}", "-Xlog:aot=off", "-Xlog:cds=off"]
        return [f"-XX:ArchiveClassesAtExit={self._fresh}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    @property
    def is_recording(self) -> bool:
        """Whether a JVM has been told to write the archive on exit, and keep() was not called since."""
        return self._fresh is not None

    def await_written(self, title: str, ends_within: Callable[[float], bool], report: Report) -> None:
        """Wait until the JVM, which was told to exit, has written the archive; for WRITE_S at most.

        Args:
            title: what runs in the JVM.
            ends_within: waits for the JVM's end, for so many seconds at most; returns whether it has ended.
            report: called with progress lines.
        """
        began = time.monotonic()
        while not ends_within(_REPORT_S) and (waited := time.monotonic() - began) < WRITE_S:
            report(f"{title} archives its classes, so that it starts faster the next time: {waited:.0f} s")

    def keep(self) -> bool:
        """Move the written archive to its place, and remove old ones; returns whether there is one now."""
        fresh, self._fresh = self._fresh, None
        # a full disk, which the JVM has not noticed
        with self._scratch, contextlib.suppress(OSError):
            # once an AOT cache is complete, the JVM removes what it has created it from
            if fresh is not None and _is_whole(fresh) and not _source(fresh).exists():
                cache.move(fresh, self.file)
        others = [
            path for path in self.file.parent.glob(f"{self._name}-*{self.file.suffix}") if path != self.file
        ]
        for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        return self.exists


def _source(fresh: Path) -> Path:
    """What a JVM has recorded, from which another one creates an AOT cache."""
    return fresh.with_name(f"{fresh.name}.config")


def _is_whole(file: Path) -> bool:
    """Whether a JVM has written all of an archive: it writes the first bytes last."""
    try:
        with file.open("rb") as archive:
            return any(archive.read(4))
    except OSError:
        return False
