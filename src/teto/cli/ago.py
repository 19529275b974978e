"""How the command line reads a length of time."""

import re
from typing import Final

import click

__all__ = ["AGO"]

_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class _Ago(click.ParamType[float]):
    """A length of time such as 30m, 12h or 7d."""

    name = "30m|12h|7d"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", str(value))
        if found is None:
            self.fail(f"{value!r} is no length of time; write 30m, 12h or 7d.", param, ctx)
        return float(found[1]) * _UNITS_S[found[2]]


AGO: Final = _Ago()
