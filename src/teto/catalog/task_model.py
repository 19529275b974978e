"""Loads the task model that ships with teto: `data/task_model.npz`, written by `python -m task_model.train`."""

import zipfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np

from teto.errors import ConfigError
from teto.traffic.language import Language
from teto.traffic.task import Task
from teto.triage.task_model import TaskModel

__all__ = ["TASK_MODEL_VERSION", "fingerprint_of_task_model", "load_task_model", "shipped_task_model"]

TASK_MODEL_VERSION: Final = 1  # of the features and the file; other numbers are not understood
_SHIPPED: Final = "task_model.npz"
_FIX: Final = "Reinstall teto, or train the model again: docs/task_model.md says how."
_UNREADABLE: Final = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zipfile.LargeZipFile)


def _shipped_path() -> Path:
    with resources.as_file(resources.files("teto.catalog").joinpath("data", _SHIPPED)) as path:
        return path


def _read(path: Path) -> dict[str, Any]:
    """The file's arrays; nothing in it is ever executed."""
    if not path.is_file():
        raise ConfigError(f"The task model {path.name} is not in {path.parent}.", fix=_FIX)
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise ConfigError(f"The task model {path} cannot be read: {error}.", fix=_FIX) from None


def load_task_model(path: Path) -> TaskModel:
    """The task model in that file.

    Raises:
        ConfigError: there is no such file, it is damaged, or it is of another version of the features.
    """
    arrays = _read(path)
    version = arrays.get("version")
    if version is None or version.shape != () or int(version) != TASK_MODEL_VERSION:
        found = "no version" if version is None else f"version {version}"
        raise ConfigError(f"The task model {path} has {found}; {TASK_MODEL_VERSION} was expected.", fix=_FIX)
    try:
        return TaskModel(
            classes=tuple((Task(str(name).removesuffix("+")), str(name).endswith("+")) for name in arrays["classes"]),
            languages=tuple(Language(str(name)) for name in arrays["languages"]),
            table=arrays["table"].astype(np.int8, casting="safe"),
            scale=arrays["scale"].astype(np.float32, casting="safe"),
            structure=arrays["structure"].astype(np.int16, casting="safe"),
            bias=arrays["bias"].astype(np.float32, casting="safe"),
            closed_threshold=float(arrays["closed_threshold"]),
            task_threshold=float(arrays["task_threshold"]),
            language_threshold=float(arrays["language_threshold"]),
        )
    except (*_UNREADABLE, TypeError) as error:
        raise ConfigError(f"The task model {path} is damaged: {error}.", fix=_FIX) from None


@cache
def shipped_task_model() -> TaskModel:
    """The task model that comes with this version, loaded once.

    Raises:
        ConfigError: the file is missing or damaged.
    """
    return load_task_model(_shipped_path())


def fingerprint_of_task_model(path: Path | None = None) -> str:
    """What the model was trained on: the sha256 of every prompt of the repository with its labels."""
    return str(_read(path or _shipped_path())["fingerprint"])
