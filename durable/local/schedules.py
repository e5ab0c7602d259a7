"""One-shot schedules: what waits longer than a queue can is put into its queue when its time has come."""

from __future__ import annotations

from msgspec import Struct

from durable.local.database import Database
from durable.local.messages import Messages


class Schedule(Struct, frozen=True):
    """A message that will be put into a queue; `moment` is in milliseconds since the epoch."""

    name: str
    moment: int
    queue: str
    body: str


class Schedules:
    """The schedules of one database, by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, schedule: Schedule) -> None:
        """Make a schedule, unless there is one of that name."""
        with self._database as connection:
            connection.execute(
                "INSERT OR IGNORE INTO schedule VALUES (?, ?, ?, ?)",
                (schedule.name, schedule.moment, schedule.queue, schedule.body),
            )

    def delete(self, name: str) -> None:
        """Delete a schedule; nothing happens if there is none of that name."""
        with self._database as connection:
            connection.execute("DELETE FROM schedule WHERE name = ?", (name,))

    def fire(self, messages: Messages, now: int) -> None:
        """Put what is due into its queues; a process that dies in between puts it there again."""
        found = self._database.rows(
            "SELECT name, moment, queue, body FROM schedule WHERE moment <= ? ORDER BY moment, name", (now,)
        )
        for schedule in (Schedule(*row) for row in found):
            messages.send(schedule.queue, schedule.body, 0)
            self.delete(schedule.name)

    def next(self) -> int | None:
        """Return when the next schedule fires."""
        ((moment,),) = self._database.rows("SELECT min(moment) FROM schedule")
        found: int | None = moment
        return found

    def has(self, name: str) -> bool:
        """Return whether there is a schedule of that name."""
        return bool(self._database.rows("SELECT 1 FROM schedule WHERE name = ?", (name,)))

    def pending(self) -> list[Schedule]:
        """Return the schedules, soonest first."""
        found = self._database.rows("SELECT name, moment, queue, body FROM schedule ORDER BY moment, name")
        return [Schedule(*row) for row in found]
