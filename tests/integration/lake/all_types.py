"""Columns of all types, and a row of them."""

from __future__ import annotations

TYPES = """k STRING KEY, i INT, b BIGINT, d DOUBLE, ok BOOLEAN, p DECIMAL(8, 2), ts TIMESTAMP,
  day DATE, t TIME, raw BYTES, l ARRAY<INT>, m MAP<STRING, TIME>, s STRUCT<x INT, y ARRAY<TIMESTAMP>>"""
FULL = """('a', 1, 2, 1.5, true, 12.30, '2026-03-01T10:00:00.123', '2026-03-01', '12:34:56.789',
  TO_BYTES('00ff', 'hex'), ARRAY[1, NULL], MAP('n' := PARSE_TIME('00:00:01', 'HH:mm:ss')),
  STRUCT(x := 1, y := ARRAY[PARSE_TIMESTAMP('2026', 'yyyy')]))"""
