"""The memory of the server's process."""

from __future__ import annotations

import ctypes
import gc
import socket
import subprocess
import sys

import pytest

from ksql_spark.server.memory import ARENAS, give_back, limit_heap, settle
from ksql_spark.server.protocol.http import close_unread


def test_another_system_than_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("only Linux has it")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", fails)
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT", raising=False)
    limit_heap()
    give_back()
    with socket.socket() as listener:
        close_unread(listener, 1000)


#: allocates in many threads at once; prints how many arenas there are then
PROGRAM = """
import ctypes, threading
from ksql_spark.server.memory import limit_heap

limit_heap()
together = threading.Barrier(40)

def use():
    together.wait()
    kept = [bytes(100_000) for _ in range(20)]
    together.wait()

threads = [threading.Thread(target=use) for _ in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.open_memstream.restype = ctypes.c_void_p
text, size = ctypes.c_char_p(), ctypes.c_size_t()
stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
libc.malloc_info(0, stream)
libc.fclose(stream)
print(text.value.decode().count("<heap nr="))
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="has no arenas"
)
def test_threads_limit_heap() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= ARENAS


#: uses delta-rs, whose allocator tells its settings at the end
DELTA_PROGRAM = """
import os
from ksql_spark.server.memory import limit_heap

limit_heap()
os.environ["_RJEM_MALLOC_CONF"] += ",stats_print:true"
import deltalake
"""


@pytest.mark.skipif(sys.platform != "linux", reason="delta-rs uses the allocator of the system")
def test_delta_rs_obeys_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deltalake")
    monkeypatch.delenv("_RJEM_MALLOC_CONF", raising=False)
    done = subprocess.run([sys.executable, "-c", DELTA_PROGRAM], capture_output=True, text=True, check=True)
    assert f"opt.narenas: {ARENAS}" in done.stderr
    assert "opt.tcache: false" in done.stderr


def test_garbage_collections_leave_out_what_stays() -> None:
    try:
        settle()
        assert len(gc.get_objects()) < gc.get_freeze_count() / 10
    finally:
        gc.unfreeze()
