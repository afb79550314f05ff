"""Regression on private tables, made accurate by a little public data.

>>> import pmtcore as pc
>>> sorted(pc.__all__)[:3]
['InputError', 'Ledger', 'LocalAggregator']

What is named in ``__all__`` is the face: documented, typed, kept. Everything below it may change. Names are loaded when
they are first asked for, so that importing the package costs nothing. Headless: nothing here imports streamlit.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pmtcore.api.functions import audit as audit
    from pmtcore.api.functions import compare as compare
    from pmtcore.api.functions import describe as describe
    from pmtcore.api.functions import plan as plan
    from pmtcore.api.functions import release as release
    from pmtcore.api.loading import load as load
    from pmtcore.api.local import LocalAggregator as LocalAggregator
    from pmtcore.api.local import LocalClient as LocalClient
    from pmtcore.api.models import PrivateClassifier as PrivateClassifier
    from pmtcore.api.models import PrivateRegressor as PrivateRegressor
    from pmtcore.api.tables import etable as etable
    from pmtcore.base.messages import InputError as InputError
    from pmtcore.base.results import Results as Results
    from pmtcore.explore.moment import Moment as Moment
    from pmtcore.ledger.log import Ledger as Ledger

__version__ = "0.2.0"

_PUBLIC_NAMES = {
    "InputError": "pmtcore.base.messages",
    "Ledger": "pmtcore.ledger.log",
    "LocalAggregator": "pmtcore.api.local",
    "LocalClient": "pmtcore.api.local",
    "Moment": "pmtcore.explore.moment",
    "PrivateClassifier": "pmtcore.api.models",
    "PrivateRegressor": "pmtcore.api.models",
    "Results": "pmtcore.base.results",
    "audit": "pmtcore.api.functions",
    "compare": "pmtcore.api.functions",
    "describe": "pmtcore.api.functions",
    "etable": "pmtcore.api.tables",
    "load": "pmtcore.api.loading",
    "plan": "pmtcore.api.functions",
    "release": "pmtcore.api.functions",
}

__all__ = [*_PUBLIC_NAMES]  # the names of the table above


def __getattr__(name: str) -> object:
    """Return a name of the face, loaded from its room."""
    if name not in _PUBLIC_NAMES:
        raise AttributeError(f"module 'pmtcore' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC_NAMES])
