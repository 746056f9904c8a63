"""Files and modules of user functions, and descriptions of the functions in them.

User code is never imported into the server: a separate process describes its functions as plain data, from
which ksql_spark.functions.user makes specs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksql_spark.services import function_archive

#: the folder that contains our packages
_ROOT = Path(__file__).parent.parent.parent
#: how long loading user code may take
_TIMEOUT_S = 120.0

Source = dict[str, str]


@dataclass(frozen=True)
class PythonFunctions:
    """The folders and modules of one server's user functions.

    Args:
        extensions: the folder of files; it need not exist.
        modules: names of installed modules.
        created: the folder for the code of CREATE FUNCTION, created when needed.
        archives: the folder for archives for executors, created when needed; None: they run in our JVM.
    """

    extensions: Path
    modules: tuple[str, ...]
    created: Path
    archives: Path | None = None

    def sources(self) -> list[Source]:
        """Each file of the folder, except modules for the others (``_…``), and each installed module."""
        files = sorted(self.extensions.glob("*.py")) if self.extensions.is_dir() else []
        common = {"folder": str(self.extensions)}
        if files or self.modules:
            common |= self._archive()
        files_and_modules = [common | {"file": str(f)} for f in files if not f.name.startswith("_")]
        return files_and_modules + [common | {"module": name} for name in self.modules]

    def write(self, name: str, code: str) -> Source:
        """Write the code of CREATE FUNCTION to a file, named after the function and its code."""
        self.created.mkdir(parents=True, exist_ok=True)
        path = self.created / f"{name.lower()}_{hashlib.sha256(code.encode()).hexdigest()[:12]}.py"
        if not path.exists():
            part = path.with_suffix(".part")
            part.write_text(code, encoding="utf-8")
            part.replace(path)
        return {"folder": str(self.extensions), "file": str(path), **self._archive(path)}

    def remove_archives(self) -> None:
        """Remove the archives of an earlier start."""
        if self.archives is not None:
            shutil.rmtree(self.archives, ignore_errors=True)

    def _archive(self, *created: Path) -> Source:
        """The archive of the folder and of created files, if executors need one."""
        if self.archives is None:
            return {}
        beside = self.extensions.rglob("*.py") if self.extensions.is_dir() else ()
        return {"archive": str(function_archive.write(self.archives, (*beside, *created)))}

    def describe(self, sources: Sequence[Source]) -> list[dict[str, Any]]:
        """Return for each source ``{"functions": [{"name", "kind", …}]}`` or ``{"error": one line}``.

        ksql_spark.udf_worker makes these descriptions in a separate process. If a source ends or stops that
        process, each gets one of its own, so that the others are described.
        """
        if not sources:
            return []
        if importlib.util.find_spec("pyarrow") is None:
            why = "user functions need pyarrow: pip install 'pyarrow>=20'"
            return [{"error": why} for _ in sources]
        command = [sys.executable, "-m", "ksql_spark.udf_worker", "--describe", json.dumps(list(sources))]
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            if len(sources) > 1:
                return [descriptions for source in sources for descriptions in self.describe([source])]
            return [{"error": f"it was not loaded within {_TIMEOUT_S:g} seconds"} for _ in sources]
        if done.returncode != 0:
            if len(sources) > 1:
                return [descriptions for source in sources for descriptions in self.describe([source])]
            words = done.stderr.decode(errors="replace").strip().splitlines()
            why = words[-1] if words else f"its process ended with code {done.returncode}"
            return [{"error": why} for _ in sources]
        descriptions: list[dict[str, Any]] = json.loads(done.stdout)
        return descriptions
