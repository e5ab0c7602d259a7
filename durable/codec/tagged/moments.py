"""datetime and time with all that they carry: the offset, `fold`, and the name of their zone.

A zone that is neither ZoneInfo nor timezone (pytz, dateutil) is kept as its offset at that moment.
"""

from __future__ import annotations

import sys
from datetime import datetime, time, timezone, tzinfo
from typing import Any

from durable.codec.refusal import Refusal


def pack(tag: str, moment: datetime | time) -> dict[str, Any]:
    packed: dict[str, Any] = {"~": tag, "value": moment.isoformat()}
    if moment.fold:
        packed["fold"] = moment.fold
    if (key := zone_key(moment.tzinfo)) is not None:
        packed["zone"] = key
    elif type(moment.tzinfo) is timezone and (name := _given_name(moment.tzinfo)) is not None:
        packed["name"] = name
    return packed


def unpack_datetime(packed: dict[str, Any]) -> datetime:
    moment = datetime.fromisoformat(packed["value"])
    return moment.replace(tzinfo=_zone(packed, moment), fold=packed.get("fold", 0))


def unpack_time(packed: dict[str, Any]) -> time:
    moment = time.fromisoformat(packed["value"])
    return moment.replace(tzinfo=_zone(packed, moment), fold=packed.get("fold", 0))


def same(one: datetime | time, other: datetime | time) -> bool:
    """Equal to the wall clock, fold and zone; `==` alone is blind to the last two."""
    return (
        one.replace(tzinfo=None) == other.replace(tzinfo=None)
        and one.fold == other.fold
        and _same_zone(one, one.tzinfo, other, other.tzinfo)
    )


def zone_key(zone: tzinfo | None) -> str | None:
    """The key of a ZoneInfo, `Europe/Vienna`; None for any other zone."""
    module = sys.modules.get("zoneinfo")  # loaded already, if there is a ZoneInfo at all
    if module is None or type(zone) is not module.ZoneInfo:
        return None
    key: str | None = getattr(zone, "key", None)
    return key


def _same_zone(one: datetime | time, mine: tzinfo | None, other: datetime | time, theirs: tzinfo | None) -> bool:
    if mine is theirs:
        return True
    if zone_key(mine) is not None or zone_key(theirs) is not None:
        return False  # a ZoneInfo of one key is one object, save with no_cache
    if isinstance(mine, timezone) and isinstance(theirs, timezone):
        return mine == theirs and _given_name(mine) == _given_name(theirs)
    return one.utcoffset() == other.utcoffset()


def _given_name(zone: timezone) -> str | None:
    """The name that was given to a timezone: `timezone(timedelta(hours=-5), "EST")`."""
    name = zone.tzname(None)
    return None if name == timezone(zone.utcoffset(None)).tzname(None) else name


def _zone(packed: dict[str, Any], moment: datetime | time) -> tzinfo | None:
    if "zone" in packed:
        return _zone_info(packed["zone"])
    if "name" in packed and isinstance(moment.tzinfo, timezone):
        return timezone(moment.tzinfo.utcoffset(None), packed["name"])
    return moment.tzinfo


def _zone_info(key: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # only here: few values have a zone, and its import is slow

    try:
        return ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise Refusal(f"is in the time zone {key}, which is not known here. Install the package tzdata.") from error
