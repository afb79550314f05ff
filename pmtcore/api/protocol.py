"""scikit-learn's conventions by hand: parameters that can be read, set and cloned, without scikit-learn installed.

With scikit-learn at hand its ``clone``, ``Pipeline`` and searches find what they look for. A clone has the parameters
and nothing else: no ledger, no key, no release.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Self

from pmtcore.base.messages import FaceMessage, InputError


class Parametrized:
    """An object whose constructor only stores its arguments, under their names."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: object) -> Self:
        """Change arguments; what was fitted stays until the next fit.

        Raises:
            InputError: there is no such argument.
        """
        known = self._parameter_names()
        unknown = sorted(set(params) - set(known))
        if unknown:
            raise InputError(FaceMessage.NO_SUCH_PARAMETER, name=type(self).__name__, names=unknown, allowed=known)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


class NotFitted(InputError, AttributeError):
    """Asked for what only a fit gives."""


def not_fitted(name: str) -> Exception:
    """Return the error for it: scikit-learn's own where scikit-learn is in use, since its tools look for that one."""
    error = NotFitted(FaceMessage.NOT_FITTED, name=name)
    if "sklearn" not in sys.modules:
        return error
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415  # never a dependency

    return NotFittedError(str(error))
