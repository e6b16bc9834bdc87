"""Prints the offsets of all time zones from 1970 to 2040, and clock times around every change, as Python's zoneinfo has
them from the package tzdata:

    release 2026f
    period ZONE START OFFSET    in seconds; until the next period of the zone
    clock ZONE CLOCK INSTANT    the first instant at which clocks show a time, or `-` if they skip it
"""

import os

os.environ["PYTHONTZPATH"] = ""  # Not the database of the machine.

from datetime import datetime, timedelta, timezone
from importlib import resources
from zoneinfo import ZoneInfo

import tzdata

EPOCH = datetime(1970, 1, 1)
END = int((datetime(2040, 1, 1) - EPOCH).total_seconds())
WEEK = 7 * 86_400


def offset(zone, instant):
    moment = datetime.fromtimestamp(instant, timezone.utc).astimezone(zone)
    return int(moment.utcoffset().total_seconds())


def first_instant(zone, clock):
    shown = EPOCH + timedelta(seconds=clock)
    moment = shown.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    if moment.astimezone(zone).replace(tzinfo=None) != shown:
        return "-"
    return int((moment.replace(tzinfo=None) - EPOCH).total_seconds())


def periods(zone):
    """Yields each start with its offset. A week never has two changes that cancel each other out."""
    start, current = 0, offset(zone, 0)
    yield start, current
    for week in range(0, END, WEEK):
        low, high = week, week + WEEK
        while (after := offset(zone, high)) != current:
            first, last = low, high
            while last - first > 1:
                middle = (first + last) // 2
                first, last = (middle, last) if offset(zone, middle) == current else (first, middle)
            low, current = last, offset(zone, last)
            yield low, current


print("release", tzdata.IANA_VERSION)
for name in resources.files("tzdata").joinpath("zones").read_text().split():
    zone = ZoneInfo(name)
    before = None
    for start, after in periods(zone):
        print("period", name, start, after)
        if before is not None:
            for clock in {start + apart + side for side in (before, after) for apart in (-3600, -1, 0, 1, 1800, 3600)}:
                print("clock", name, clock, first_instant(zone, clock))
        before = after
