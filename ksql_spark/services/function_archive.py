"""The archive of Python code for executors, which may be on other machines (FunctionCode.java).

It contains the few modules of our package that a worker needs, and the user's code, under their absolute
paths.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
#: the modules that ``python -m ksql_spark.udf_worker`` imports
WORKER = tuple(_PACKAGE / name for name in ("__init__.py", "types.py", "udf.py", "udf_worker.py"))
#: the time of the entries: the same files give the same archive
_TIME = (1980, 1, 1, 0, 0, 0)


def write(folder: Path, files: Iterable[Path]) -> Path:
    """Write an archive of ``files`` and of the workers' modules.

    Args:
        folder: for archives; created if missing.
        files: the user's files.

    Returns:
        its path, whose name depends on the contents.
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted({path.absolute() for path in (*WORKER, *files)}):
            entry = zipfile.ZipInfo(file.as_posix().lstrip("/"), _TIME)
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    content = data.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.zip"
    if not path.exists():
        part = path.with_suffix(".part")
        part.write_bytes(content)
        part.replace(path)
    return path
