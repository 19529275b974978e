"""Calibrations: those that ship with teto, and those that `teto calibrate` wrote on this machine."""

import re
from importlib import resources
from pathlib import Path

import msgspec

from teto.errors import ConfigError
from teto.triage.calibration import VERSION, Calibration

__all__ = ["find_calibration", "read_calibration", "shipped_calibrations", "write_calibration",
           "write_shipped"]  # fmt: skip


def read_calibration(text: bytes, where: str) -> Calibration:
    """A calibration from its JSON.

    Raises:
        ConfigError: it is none, or of another version.
    """
    try:
        found = msgspec.json.decode(text, type=Calibration)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise ConfigError(
            f"{where} is not a calibration: {error}.", fix="Make it again with `teto calibrate`."
        ) from None
    if found.version != VERSION:
        raise ConfigError(
            f"{where} is a calibration of version {found.version}; this teto reads version {VERSION}.",
            fix="Make it again with `teto calibrate`.",
        )
    return found


def shipped_calibrations() -> tuple[Calibration, ...]:
    """Every calibration in the package."""
    folder = resources.files("teto.catalog").joinpath("data/calibrations")
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".json")), key=lambda entry: entry.name)
    return tuple(read_calibration(entry.read_bytes(), entry.name) for entry in files)


def _file(folder: Path, fingerprint: str) -> Path:
    return folder / f"{re.sub(r'[^A-Za-z0-9.-]', '_', fingerprint)}.json"


def find_calibration(fingerprint: str, folder: Path) -> Calibration | None:
    """The calibration of that engine: the one made here before the shipped one; None where there is neither.

    Raises:
        ConfigError: the file made here cannot be read.
    """
    path = _file(folder, fingerprint)
    if path.exists():
        found = read_calibration(path.read_bytes(), str(path))
        if found.fingerprint == fingerprint:
            return found
    return next((one for one in shipped_calibrations() if one.fingerprint == fingerprint), None)


def write_calibration(calibration: Calibration, folder: Path) -> Path:
    """Keep a calibration where `find_calibration` finds it; the file is replaced whole or not at all."""
    path = _file(folder, calibration.fingerprint)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_suffix(".json.part")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(calibration), indent=1))
    beside.replace(path)
    return path


def write_shipped(calibration: Calibration) -> Path:
    """Put a calibration among those that ship; for the checkout of a developer."""
    folder = resources.files("teto.catalog").joinpath("data/calibrations")
    assert isinstance(folder, Path)  # noqa: S101 - a checkout is a folder
    path = folder / f"{calibration.model}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n")
    return path
