"""What servers draw and how long their queues are: `data/fits/loaded/*.toml`, by `python -m teto.catalog.fit`."""

from functools import cache
from importlib import resources

import msgspec

from teto.catalog.fits import toml_value
from teto.errors import ConfigError
from teto.physics.power import PowerFit

__all__ = ["PowerEntry", "QueueEntry", "encode_load", "find_power_fit", "queue_entry"]


class PowerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The curve of power for a kind of model; `band` is of measured over predicted joules per token."""

    id: str
    is_moe: bool
    source: str
    n_rows: int
    idle_fraction: float
    memory_fraction: float
    compute_fraction: float
    band: tuple[float, float]

    @property
    def fit(self) -> PowerFit:
        """The constants in physics' terms."""
        return PowerFit(
            name=self.id,
            source=self.source,
            n_rows=self.n_rows,
            idle_fraction=self.idle_fraction,
            memory_fraction=self.memory_fraction,
            compute_fraction=self.compute_fraction,
            band=self.band,
        )


class QueueEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds of an engine's front, and the share of calls in a load generator's opening burst.

    `band` is of measured over predicted time to the first token.
    """

    id: str
    source: str
    n_rows: int
    front_s: dict[str, float]
    burst_fraction: float
    band: tuple[float, float]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    power: tuple[PowerEntry, ...]
    queue: QueueEntry


@cache
def _read() -> _File:
    file = resources.files("teto.catalog") / "data" / "fits" / "loaded" / "loaded.toml"
    try:
        return msgspec.toml.decode(file.read_bytes(), type=_File)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"fits/loaded is faulty: {error}.", fix="Run `python -m teto.catalog.fit`.") from error


def find_power_fit(*, is_moe: bool) -> PowerFit | None:
    """The curve of power of a server; None where there is none for that kind of model.

    Raises:
        ConfigError: the data file is faulty.
    """
    return next((entry.fit for entry in _read().power if entry.is_moe == is_moe), None)


def queue_entry() -> QueueEntry:
    """The constants of the time to the first token.

    Raises:
        ConfigError: the data file is faulty.
    """
    return _read().queue


def encode_load(power: tuple[PowerEntry, ...], queue: QueueEntry) -> str:
    """The TOML of the entries, as that of the fits."""
    kinds: list[tuple[str, msgspec.Struct]] = [("[[power]]", entry) for entry in power]
    kinds.append(("[queue]", queue))
    blocks = [
        "\n".join([mark, *(f"{key} = {toml_value(value)}" for key, value in msgspec.to_builtins(entry).items())])
        for mark, entry in kinds
    ]
    return "\n\n".join(blocks) + "\n"
