"""An answer's lines end with line feeds, whatever else is in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import httpx
import pytest

from ksql_spark.client.lines import aiter_lines, iter_lines

#: str.splitlines() splits at each of these, too
OTHER_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029\r"


def in_chunks(content: bytes, size: int) -> list[bytes]:
    return [content[at : at + size] for at in range(0, len(content), size)]


def lines_of(chunks: Sequence[bytes]) -> list[str]:
    """The lines of an answer that comes in ``chunks``; asyncio has the same."""

    async def content() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collected() -> list[str]:
        return [line async for line in aiter_lines(httpx.Response(200, content=content()))]

    found = list(iter_lines(httpx.Response(200, content=iter(chunks))))
    assert asyncio.run(collected()) == found
    return found


@pytest.mark.parametrize("end", OTHER_ENDS)
def test_only_a_line_feed_ends_a_line(end: str) -> None:
    assert lines_of([f"a{end}b\n{end}c\n".encode()]) == [f"a{end}b", f"{end}c"]


@pytest.mark.parametrize("size", range(1, 20))
def test_chunks_may_end_anywhere(size: int) -> None:
    content = f"one{OTHER_ENDS}\n\n😀é\r\n\nthree".encode()
    assert lines_of(in_chunks(content, size)) == [
        f"one{OTHER_ENDS.removesuffix(chr(13))}",
        "",
        "😀é",
        "",
        "three",
    ]


def test_the_last_line_feed_begins_no_line() -> None:
    assert lines_of([]) == [] and lines_of([b""]) == []
    assert lines_of([b"\n"]) == [""]
    assert lines_of([b"a\n"]) == lines_of([b"a"]) == ["a"]


def test_many_lines_in_a_chunk_and_many_chunks_in_a_line() -> None:
    expected = [str(number) for number in range(10_000)] + ["x" * 1_000_000, "end"]
    content = "\n".join(expected).encode()
    assert lines_of([content]) == lines_of(in_chunks(content, 100)) == expected


def test_bytes_that_are_no_text_damage_only_themselves() -> None:
    assert lines_of([b"a\xff\nb\xe2\x80", b"\nc\n"]) == ["a\ufffd", "b\ufffd", "c"]
