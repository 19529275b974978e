"""The file of the task model: read, or refused in words."""

import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from teto.catalog.task_model import TASK_MODEL_VERSION, load_task_model, shipped_task_model
from teto.errors import ConfigError

SHIPPED = Path(str(resources.files("teto.catalog").joinpath("data", "task_model.npz")))


def test_the_shipped_one_is_small() -> None:
    """It is read without pickle and stays below 5 MB."""
    assert SHIPPED.stat().st_size < 5_000_000
    with np.load(SHIPPED, allow_pickle=False) as file:
        assert int(file["version"]) == TASK_MODEL_VERSION
    assert shipped_task_model() is shipped_task_model()


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """A file that is not there is named, with what to do."""
    with pytest.raises(ConfigError, match=r"none\.npz is not in"):
        load_task_model(tmp_path / "none.npz")


@pytest.mark.parametrize("kept", [0, 100, 200_000])
def test_a_damaged_file_is_told(tmp_path: Path, kept: int) -> None:
    """A file that was cut short is refused in words."""
    path = tmp_path / "cut.npz"
    path.write_bytes(SHIPPED.read_bytes()[:kept])
    with pytest.raises(ConfigError, match="task model"):
        load_task_model(path)


def test_another_version_is_told(tmp_path: Path) -> None:
    """A file of other features is refused by its version."""
    path = tmp_path / "other.npz"
    shutil.copy(SHIPPED, path)
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(path, **{**arrays, "version": np.array(TASK_MODEL_VERSION + 1)})
    with pytest.raises(ConfigError, match=f"version {TASK_MODEL_VERSION + 1}"):
        load_task_model(path)
