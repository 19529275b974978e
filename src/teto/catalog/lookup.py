"""What the kinds of catalog entries share: reading their files, names that mean one entry, and the nearest names."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Protocol, TypeVar

from teto.errors import ConfigError, UnknownNameError

__all__ = ["data_files", "find_by_name", "index_by_name"]


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_Named)


def data_files(folder: str) -> Iterator[tuple[str, bytes]]:
    """The name, for errors, and the content of each TOML file in a folder of `catalog/data`."""
    for file in (resources.files("teto.catalog") / "data" / folder).iterdir():
        if file.name.endswith(".toml"):
            yield f"{folder}/{file.name}", file.read_bytes()


def index_by_name(named: Iterable[tuple[str, _Entry]], *, kind: str) -> Mapping[str, _Entry]:
    """Entries by their names in plain form.

    Raises:
        ConfigError: a name means two entries.
    """
    index: dict[str, _Entry] = {}
    for name, entry in named:
        if name in index:
            raise ConfigError(
                f"A {kind} name must mean one {kind}, found {name!r} for {index[name].id!r} and {entry.id!r}.",
                fix=f"Remove it from one of the two in catalog/data/{kind}s.",
            )
        index[name] = entry
    return index


def find_by_name(name: str, known: Mapping[str, _Entry], *, plain: Callable[[str], str], kind: str, fix: str) -> _Entry:
    """The entry of that name.

    Raises:
        UnknownNameError: with the nearest ids.
    """
    wanted = plain(name)
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=6, cutoff=0.5)
    ids = list(dict.fromkeys(known[found].id for found in near))[:3]
    n_entries = len({entry.id for entry in known.values()})
    raise UnknownNameError(
        f"No {kind} is called {name!r}; the nearest are {', '.join(ids)}."
        if ids
        else f"No {kind} is called {name!r}, and none of the {n_entries} has a name like it.",
        fix=fix,
    )
