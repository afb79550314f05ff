"""Kinds in which a column can be read."""

from __future__ import annotations

from typing import Literal

Kind = Literal["number", "level", "date", "percent", "euro", "dollar", "pound"]
Sign = Literal["number", "percent", "euro", "dollar", "pound"]
SIGNS = {"percent": "%", "euro": "€", "dollar": "$", "pound": "£"}  # kinds of numbers that have a sign beside them
KINDS = ("number", "level", "date", *SIGNS)
