"""When a schedule fires: at(…), rate(…), and the usual part of cron(…)."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from durable.errors import ConfigurationError
from durable.testing.clock import milliseconds
from durable.testing.template.definitions import rate

After = Callable[[int], int | None]
"""When a schedule fires for the first time after a moment; both in milliseconds since the epoch. None: never again."""

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_YEARS = 30  # ahead, in which a date of a cron expression is looked for


def recurrence(expression: str, zone: str, created: int) -> After:
    """What the expression means in the time zone, for a schedule that was made at that moment."""
    if expression.startswith("at("):
        local = datetime.fromisoformat(expression.removeprefix("at(").removesuffix(")"))
        moment = milliseconds(local.replace(tzinfo=ZoneInfo(zone)))
        return lambda after: moment if moment > after else None
    if expression.startswith("cron("):
        cron = _Cron(expression, ZoneInfo(zone))
        return cron.after
    every = rate(expression) // timedelta(milliseconds=1)  # without a start date it fires at once
    return lambda after: created if after < created else created + ((after - created) // every + 1) * every


class _Cron:
    """cron(minutes hours day-of-month month day-of-week year)."""

    def __init__(self, expression: str, zone: ZoneInfo) -> None:
        self._expression = expression
        self._zone = zone
        fields = expression.removeprefix("cron(").removesuffix(")").upper().split()
        if len(fields) != 6:
            raise self._refusal("it has six fields: minutes hours day-of-month month day-of-week year")
        self._minutes = self._values(fields[0], 0, 59)
        self._hours = self._values(fields[1], 0, 23)
        self._dates = self._values(fields[2], 1, 31)
        self._months = self._values(fields[3], 1, 12, _MONTHS)
        self._weekdays = self._values(fields[4], 1, 7, _DAYS)
        self._years = self._values(fields[5], 1970, 2199)

    def after(self, moment: int) -> int | None:
        """The first time after the moment."""
        now = datetime.fromtimestamp(moment / 1000, UTC).astimezone(self._zone)
        times = (milliseconds(time) for time in self._times(now))
        return next((time for time in times if time > moment), None)

    def _times(self, since: datetime) -> Iterator[datetime]:
        for year in sorted(year for year in self._years if since.year <= year <= since.year + _YEARS):
            for month in sorted(self._months):
                if (year, month) < (since.year, since.month):
                    continue
                for date in range(1, monthrange(year, month)[1] + 1):
                    day = datetime(year, month, date, tzinfo=self._zone)
                    if date in self._dates and day.isoweekday() % 7 + 1 in self._weekdays:
                        yield from (day.replace(hour=h, minute=m) for h in self._hours for m in self._minutes)

    def _values(self, field: str, least: int, most: int, names: tuple[str, ...] = ()) -> list[int]:
        """The values that a field lets through, in order."""
        found: set[int] = set()
        for part in field.split(","):
            span, _, step = part.partition("/")
            first, _, last = span.partition("-")
            if span in ("*", "?"):
                begin, end = least, most
            else:
                begin = self._value(first, least, names)
                end = self._value(last, least, names) if last else most if step else begin
            if not least <= begin <= end <= most or (step and not step.isdigit()):
                raise self._refusal(f"{part!r} is not within {least} to {most}")
            found.update(range(begin, end + 1, int(step or 1)))
        return sorted(found)

    def _value(self, text: str, least: int, names: tuple[str, ...]) -> int:
        if text in names:
            return names.index(text) + least
        if not text.isdigit():  # L, W and # too
            raise self._refusal(f"{text!r} is not a number that durable.testing knows")
        return int(text)

    def _refusal(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"the schedule {self._expression!r} can't be fired here: {why}.")
