"""Records that are written together once all of them are known: COPY and INSERT … SELECT."""

from __future__ import annotations

import contextlib
import marshal
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.record_limits import Record, RecordLimits

#: how much of the records is in memory, bytes; a file has the others
_IN_MEMORY_BYTES = 4 * 2**20


class HeldRecords(Collection[Record]):
    """Records in the order of their numbers; used like a Writer, by one thread.

    Args:
        folder: for the file with those that do not stay in memory.
        most: their maximum number; 0: there is none.
        limits: of their topic.
        write_all: writes them.
        on_delivered: called with the number of each record that is held, and None.
    """

    def __init__(
        self,
        folder: Path,
        most: int,
        limits: RecordLimits,
        write_all: Callable[[Collection[Record]], None],
        on_delivered: Callable[[int, KsqlError | None], None],
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.attention = contextlib.nullcontext()
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see close()
            _IN_MEMORY_BYTES, prefix="copy-", dir=str(folder)
        )
        self._most = most
        self._limits = limits
        self._write_all = write_all
        self._on_delivered = on_delivered
        self._count = 0

    def write(self, number: int, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Keep a record.

        Raises:
            KsqlError: INVALID_STATEMENT if there are too many, or brokers would refuse it; INTERNAL if the
                disk is full.
        """
        if self._most and self._count == self._most:
            reason = f"One transaction has room for {self._most:,} rows (ksql.transaction.max.records)"
            raise KsqlError("INVALID_STATEMENT", reason=reason)
        try:
            self._limits.check((key, value, timestamp_ms), int(time.time() * 1000))
            self._file.write(marshal.dumps((key, value, timestamp_ms)))
        except ValueError as error:
            raise KsqlError("INVALID_STATEMENT", reason=str(error)) from None
        except OSError as error:
            raise KsqlError("INTERNAL", reason=f"The rows cannot be kept: {error.strerror}") from None
        self._count += 1
        self._on_delivered(number, None)

    def poll(self, timeout_s: float = 0) -> None:
        """Do nothing: what is held is held."""

    def write_all(self) -> None:
        """Write what is held, if anything is. Raises KsqlError."""
        if self._count:
            self._write_all(self)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, record: object) -> bool:
        return any(record == one for one in self)

    def __iter__(self) -> Iterator[Record]:
        self._file.seek(0)
        for _ in range(self._count):
            yield marshal.load(self._file)

    def close(self) -> None:
        """Forget them."""
        self._file.close()
