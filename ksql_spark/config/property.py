"""A property: its name, type, default, and how its values are read."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

from ksql_spark.errors import KsqlError

Type = Literal["string", "boolean", "int", "long", "double", "list", "password"]

#: whether a property acts on single statements or only on the whole server
Level = Literal["query", "server"]

#: longer numbers are rejected; Python itself rejects numbers of some thousand digits
_MAX_DIGITS = 50

#: how many characters of an invalid value an error shows
MAX_SHOWN = 100

BOUNDS = {"int": 2**31 - 1, "long": 2**63 - 1}


@dataclass(frozen=True)
class Property:
    """A property: its name, type, default value and description.

    Args:
        name: its canonical name.
        type: the type of its values; see parse().
        default: a value of that type, or None if leaving it unset has its own meaning.
        description: one sentence for users.
        level: ``query`` if it acts on single statements, ``server`` if only on the whole server.
        editable: whether a session or request may override it.
        choices: the allowed values; empty: any.
        minimum: the smallest number.
        in_force: whether any code reads it. Other properties are listed only so that ksqlDB's configurations
            are accepted: they have no effect, and a Config does not return their values.
    """

    name: str
    type: Type
    default: Any
    description: str
    level: Level = "query"
    editable: bool = True
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    in_force: bool = True

    def parse(self, value: Any) -> Any:
        """The typed value of a user's text or JSON value.

        Returns:
            a str, bool, int, float or list of str; None for None.

        Raises:
            KsqlError: PROPERTY_INVALID.
        """
        if value is None:
            return None
        text = str(value).strip()
        match self.type:
            case "boolean":
                if text.lower() not in ("true", "false"):
                    raise self._invalid(value, "it must be true or false")
                return text.lower() == "true"
            case "int" | "long":
                return self._number(value, text)
            case "double":
                return self._double(value, text)
            case "list":
                items = value if isinstance(value, list) else text.split(",")
                return [str(item).strip() for item in items if str(item).strip()]
        if self.choices:
            folded = {choice.lower(): choice for choice in self.choices}
            if text.lower() not in folded:
                raise self._invalid(value, f"it must be {' or '.join(self.choices)}")
            return folded[text.lower()]
        return text if isinstance(value, str) else json_text(value)

    def _number(self, value: Any, text: str) -> int:
        bound = BOUNDS[self.type]
        if isinstance(value, bool) or not re.fullmatch(r"[+-]?\d+", text):
            raise self._invalid(value, "it must be a whole number")
        number = int(text) if len(text) <= _MAX_DIGITS else None
        if number is None or not -bound - 1 <= number <= bound:
            raise self._invalid(value, f"it must be between {-bound - 1} and {bound}")
        self._check_minimum(value, number)
        return number

    def _double(self, value: Any, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self._invalid(value, "it must be a number")
        self._check_minimum(value, number)
        return number

    def _check_minimum(self, value: Any, number: float) -> None:
        if self.minimum is not None and number < self.minimum:
            raise self._invalid(value, f"it must be at least {self.minimum:g}")

    def _invalid(self, value: Any, reason: str) -> KsqlError:
        shown = json_text(value)
        if len(shown) > MAX_SHOWN:
            shown = f"{shown[:MAX_SHOWN]}…"
        return KsqlError("PROPERTY_INVALID", name=self.name, value=shown, reason=reason)


def json_text(value: Any) -> str:
    """A value as users write it: ``true``, not ``True``."""
    return str(value).lower() if isinstance(value, bool) else str(value)
