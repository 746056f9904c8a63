"""Windows that follow each other by the calendar and the clock of a zone (reference §2.6, beyond ksqlDB)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from ksql_spark.schema import LATEST_TIME_MS

DAY_MS = 86_400_000
_UNITS = {
    "MILLISECONDS": 1, "SECONDS": 1_000, "MINUTES": 60_000, "HOURS": 3_600_000, "DAYS": DAY_MS,
    "WEEKS": 7 * DAY_MS,
}  # fmt: skip
_MONTHS = {"MONTHS": 1, "YEARS": 12}
#: the Monday before 1970, as ms on a clock
_MONDAY_MS = -3 * DAY_MS
_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = _EPOCH.toordinal()
_MS = timedelta(milliseconds=1)
#: after so many years the calendar is the same, weekdays included
_CYCLE_YEARS = 400
_CYCLE_MS = 146_097 * DAY_MS


@dataclass(frozen=True)
class Calendar:
    """Windows that do not simply begin at multiples of their size since 1970.

    ``CalendarWindows.java`` computes the same, and says what holds where a clock is put forward or back.

    Args:
        amount: with ``unit`` the size of a window, as SIZE has it.
        unit: MILLISECONDS, SECONDS … YEARS; all up to HOURS only in zones without summer time.
        zone: the name of a time zone.
        offset_months: how many months later than its year, month … a window begins.
        offset_ms: how many ms later on the clock.
    """

    amount: int
    unit: str
    zone: str = "UTC"
    offset_months: int = 0
    offset_ms: int = 0

    def __str__(self) -> str:
        """The form that ``CalendarWindows.java`` reads."""
        return f"{self.amount} {self.unit} {self.offset_months} {self.offset_ms} {self.zone}"

    def end_ms(self, time_ms: int) -> int:
        """The end of the window that a time is in; both in ms since 1970. No record has other times."""
        return self.bounds_ms(time_ms)[1]

    def bounds_ms(self, time_ms: int) -> tuple[int, int]:
        """The start and the end of the window that a time is in, as ``end_ms``."""
        if not 0 <= time_ms <= LATEST_TIME_MS:
            return time_ms, time_ms
        zone = ZoneInfo(self.zone)
        number = self._number(_clock(time_ms, zone))
        while (start := self._begin(number, zone)) > time_ms:
            number -= 1
        while (end := self._begin(number + 1, zone)) <= time_ms:
            number, start = number + 1, end
        return max(start, 0), end

    def _number(self, clock_ms: int) -> int:
        """The number of the window at ``clock_ms``; the next one's or the one's before it near its bounds."""
        clock_ms -= self._offset_ms
        if self.unit in _UNITS:
            return clock_ms // (self.amount * _UNITS[self.unit])
        cycles, rest_ms = divmod(clock_ms, _CYCLE_MS)
        day = date.fromordinal(_EPOCH_DAY + rest_ms // DAY_MS)
        month = (day.year - 1970 + cycles * _CYCLE_YEARS) * 12 + day.month - 1
        return (month - self.offset_months) // (self.amount * _MONTHS[self.unit])

    def _begin(self, number: int, zone: ZoneInfo) -> int:
        if self.unit in _UNITS:
            return _instant(number * self.amount * _UNITS[self.unit] + self._offset_ms, zone)
        year, month = divmod(number * self.amount * _MONTHS[self.unit] + self.offset_months, 12)
        cycles, year = divmod(year, _CYCLE_YEARS)
        day = date(1970 + year, month + 1, 1).toordinal() - _EPOCH_DAY
        return _instant(cycles * _CYCLE_MS + day * DAY_MS + self._offset_ms, zone)

    @property
    def _offset_ms(self) -> int:
        return self.offset_ms + (_MONDAY_MS if self.unit == "WEEKS" else 0)


def _clock(time_ms: int, zone: ZoneInfo) -> int:
    """Return what a clock in ``zone`` shows at ``time_ms``, as if it were UTC."""
    cycles, rest_ms = divmod(time_ms, _CYCLE_MS)
    local = (_EPOCH.replace(tzinfo=UTC) + rest_ms * _MS).astimezone(zone)
    return (local.replace(tzinfo=None) - _EPOCH) // _MS + cycles * _CYCLE_MS


def _instant(clock_ms: int, zone: ZoneInfo) -> int:
    """Return when a clock in ``zone`` shows ``clock_ms`` first, or if it skips it, as much later."""
    cycles, rest_ms = divmod(clock_ms, _CYCLE_MS)
    instant = (_EPOCH + rest_ms * _MS).replace(tzinfo=zone).astimezone(UTC)
    return (instant.replace(tzinfo=None) - _EPOCH) // _MS + cycles * _CYCLE_MS
