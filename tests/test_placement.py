"""Which slots queries have."""

from __future__ import annotations

from ksql_spark.runtime.placement import SLOTS, Slots


def test_queries_spread_over_slots() -> None:
    slots = Slots()
    for n in range(SLOTS):
        slots.add(f"q{n}")
    assert {slots.of(f"q{n}") for n in range(SLOTS)} == set(range(SLOTS))
    # servers have neighbouring slots: two queries are not both in the same half
    assert sorted((slots.of(f"q{n}") or 0) * 2 // SLOTS for n in range(2)) == [0, 1]
    slots.add("more")
    slots.remove("q3")
    free = slots.of("q3")
    assert free is None
    slots.add("again")
    assert slots.of("again") not in {slots.of(f"q{n}") for n in range(SLOTS)}


def test_all_servers_come_to_the_same_slots() -> None:
    first, second = Slots(), Slots()
    for slots in (first, second):
        for name in ("a", "b", "c"):
            slots.add(name)
        slots.remove("b")
        slots.add("a")  # it keeps its own
        slots.add("d")
    assert [first.of(n) for n in "abcd"] == [second.of(n) for n in "abcd"]
    assert first.of("missing") is None
