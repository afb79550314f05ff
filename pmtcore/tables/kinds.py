"""Kinds in which a column can be read."""

from typing import Literal

Kind = Literal[
    "number", "coded", "level", "caseless", "date", "day-first", "month-first", "percent", "euro", "dollar", "pound"
]
Order = Literal["date", "day-first", "month-first"]
Reading = Literal["number", "caseless", "percent", "euro", "dollar", "pound"]
SIGNS = {"percent": "%", "euro": "€", "dollar": "$", "pound": "£"}  # kinds of numbers that have a sign beside them
ORDERS = {"day-first": "day", "month-first": "month"}  # kinds of dates with slashes, and what comes first in them
DATES = ("date", *ORDERS)
CODED = "coded"  # numbers, but for declared ones that stand for a missing value
LEVELS = ("level", "caseless")  # the second whatever their capitals and blanks
KINDS = ("number", CODED, *LEVELS, *DATES, *SIGNS)
