"""Reads the measured speeds: CSV files with common columns, blank where the source states nothing."""

import csv
from dataclasses import dataclass, field
from pathlib import Path

from teto.errors import ConfigError

__all__ = ["Row", "read_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement; None where the source states nothing. `notes` are its `key=value` parts."""

    source: str
    device: str
    device_kind: str
    n_devices: int | None
    engine: str
    model: str
    quant: str
    weight_bytes: float | None
    context_start_tokens: float | None
    prompt_tokens: float | None
    output_tokens: float | None
    batch: float | None
    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None
    ttft_s: float | None
    itl_s: float | None
    power_w: float | None
    j_per_token: float | None
    notes: dict[str, str] = field(default_factory=dict)


def _number(text: str) -> float | None:
    return float(text) if text.strip() else None


def _milliseconds(text: str) -> float | None:
    value = _number(text)
    return None if value is None else value / 1e3


def _notes(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(";")]
    return {key.strip(): value.strip() for key, _, value in parts if key.strip()}


def read_rows(folder: Path, name: str) -> list[Row]:
    """The rows of one file of `folder`.

    Raises:
        ConfigError: the file is not there.
    """
    path = folder / "physics" / name
    if not path.is_file():
        raise ConfigError(f"{path} is not there.", fix="Give the folder that holds physics/*.csv.")
    with path.open(encoding="utf-8", newline="") as file:
        return [_row(record) for record in csv.DictReader(file)]


def _row(record: dict[str, str]) -> Row:
    n_devices = _number(record["n_devices"])
    return Row(
        source=record["source"],
        device=record["device"].strip(),
        device_kind=record["device_kind"],
        n_devices=None if n_devices is None else int(n_devices),
        engine=record["engine"],
        model=record["model"].strip(),
        quant=record["quant"].strip(),
        weight_bytes=_number(record["weight_bytes"]),
        context_start_tokens=_number(record["context_start"]),
        prompt_tokens=_number(record["prompt_len"]),
        output_tokens=_number(record["gen_len"]),
        batch=_number(record["batch"]),
        prefill_tokens_per_s=_number(record["prefill_tps"]),
        decode_tokens_per_s=_number(record["decode_tps"]),
        ttft_s=_milliseconds(record["ttft_ms"]),
        itl_s=_milliseconds(record["itl_ms"]),
        power_w=_number(record["power_w"]),
        j_per_token=_number(record["j_per_token"]),
        notes=_notes(record["notes"]),
    )
