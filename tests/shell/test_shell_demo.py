from __future__ import annotations

import io
import re

import grammar
from shell import dashboard, demo
from shell.client import Client
from shell.dashboard import Feed, Panel
from shell.output.console import Console
from shell.output.text import width


def plain(text: str) -> str:
    return text


def panels() -> list[Panel]:
    vendors = Feed("q", ("VENDORID",))
    vendors.add({"VENDORID": 1, "TRIPS": 4, "REVENUE": 80.5})
    vendors.add({"VENDORID": 2, "TRIPS": 2, "REVENUE": 1234.567})
    vendors.add({"VENDORID": 1, "TRIPS": 8, "REVENUE": 160.5})
    windows = Feed("q", ("VENDORID", "WINDOWSTART"))
    windows.add({"VENDORID": 2, "WINDOWSTART": 60_000, "TRIPS": 1, "REVENUE": 1})
    windows.add({"VENDORID": 1, "WINDOWSTART": 120_000, "TRIPS": 3, "REVENUE": 3})
    expensive = Feed("q")
    zones = Feed("q")
    zones.count("Astoria")
    zones.problem = "no such stream"
    return [
        Panel("Vendors", vendors, dashboard.vendors_panel, plain),
        Panel("Windows", windows, dashboard.windows_panel, plain),
        Panel("Expensive", expensive, dashboard.expensive_panel, plain),
        Panel("Zones", zones, dashboard.zones_panel, plain),
    ]


def test_screen() -> None:
    lines = dashboard.screen(panels(), ("title", "right"), "foot", 80, 24, plain, plain)
    assert len(lines) == 24
    assert all(width(line) <= 80 for line in lines)
    assert lines[0] == "title" + " " * 70 + "right"
    assert (
        lines[4] == "Creative       8        160.50  █████    00:02  Creative      3         3.00     "[:80]
    )
    assert lines[5].startswith("Curb           2      1,234.57  █▎")
    assert lines[14].split("   ")[0] == "waiting for the first rows …"
    assert lines[14].rstrip().endswith("no such stream")
    assert lines[-1] == "foot"


def test_screen_of_any_size() -> None:
    for columns, rows in ((20, 8), (40, 10), (200, 60)):
        lines = dashboard.screen(panels(), ("title", "right"), "foot", columns, rows, plain, plain)
        assert len(lines) == rows


def test_tombstone_takes_a_row_away() -> None:
    feed = Feed("q", ("K",))
    feed.add({"K": 1, "N": 1})
    feed.add({"K": 1, "N": None}, tombstone=True)
    assert feed.rows == {}


def test_bar() -> None:
    assert [dashboard.bar(share, 2) for share in (0, 0.25, 0.5, 0.9, 1, 7)] == [
        "",
        "▌",
        "█",
        "█▊",
        "██",
        "██",
    ]


def test_panels_read_what_the_story_makes() -> None:
    text = demo.SCRIPT.read_text(encoding="utf-8")
    assert len(grammar.parse(text)) == 8
    made = {name.lower() for _, name in re.findall(r"CREATE (STREAM|TABLE) (\w+)", text)}
    for panel in demo.panels(Console(io.StringIO(), tty=False)):
        assert panel.feed.sql.split()[3] in made


def test_bootstrap_servers(server) -> None:
    assert demo.bootstrap_servers(Client(server.url)) == "127.0.0.1:9092"
