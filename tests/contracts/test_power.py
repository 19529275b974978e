"""What every power meter must do, and what the powercap meter makes of a machine's counters."""

from collections.abc import Callable
from pathlib import Path, PosixPath

import pytest

from tests.fakes import FakeMeter
from teto.ports import PowerMeter
from teto.power.powercap import PowercapMeter

Make = Callable[[Path], PowerMeter]
_RANGE_UJ = 262_143_328_850


def _zone(folder: Path, zone: str, name: str, energy_uj: int) -> Path:
    """One powercap zone as the kernel shows it; the file of its counter."""
    place = folder / zone
    place.mkdir()
    (place / "name").write_text(f"{name}\n")
    (place / "max_energy_range_uj").write_text(f"{_RANGE_UJ}\n")
    counter = place / "energy_uj"
    counter.write_text(f"{energy_uj}\n")
    return counter


def _counting(folder: Path) -> PowerMeter:
    _zone(folder, "intel-rapl:0", "package-0", 5_000_000)
    return PowercapMeter(folder)


METERS = [
    pytest.param(lambda _: FakeMeter(step_j=1.0), True, id="fake"),
    pytest.param(lambda _: FakeMeter(), False, id="fake-absent"),
    pytest.param(_counting, True, id="powercap"),
    pytest.param(lambda folder: PowercapMeter(folder / "none"), False, id="powercap-absent"),
]


@pytest.mark.parametrize(("make", "measures"), METERS)
def test_reading_is_joules_with_a_boundary_or_nothing_with_a_reason(
    tmp_path: Path, make: Make, *, measures: bool
) -> None:
    """A reading has joules and their boundary, or neither; and always a note."""
    reading = make(tmp_path).read()
    assert (reading.joules is not None) is measures
    assert (reading.boundary is not None) is measures
    assert reading.note


@pytest.mark.parametrize(("make", "measures"), METERS)
def test_joules_never_fall(tmp_path: Path, make: Make, *, measures: bool) -> None:
    """The difference of two readings is never negative."""
    meter = make(tmp_path)
    first, second = meter.read(), meter.read()
    if measures:
        assert first.joules is not None
        assert second.joules is not None
        assert second.joules >= first.joules


def test_powercap_gives_the_energy_between_two_readings(tmp_path: Path) -> None:
    """Joules are the difference of the microjoule counter, summed over the packages."""
    first = _zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    second = _zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    meter = PowercapMeter(tmp_path)
    start = meter.read().joules
    first.write_text("3500000\n")
    second.write_text("8000000\n")
    end = meter.read()
    assert start is not None
    assert end.joules is not None
    assert end.joules - start == pytest.approx(2.5 + 1.0)
    assert end.boundary == "CPU package"
    assert "2 package" in end.note


def test_powercap_counter_that_wraps_is_unwrapped(tmp_path: Path) -> None:
    """A counter that starts again at zero after its range adds what it counted, and never a negative amount."""
    counter = _zone(tmp_path, "intel-rapl:0", "package-0", _RANGE_UJ - 2_000_000)
    meter = PowercapMeter(tmp_path)
    start = meter.read().joules
    counter.write_text("3000000\n")
    end = meter.read().joules
    assert start is not None
    assert end is not None
    assert end - start == pytest.approx(5.0)


def test_powercap_counts_packages_only(tmp_path: Path) -> None:
    """Zones inside a package, and the platform zone that contains it, are not added to it."""
    _zone(tmp_path, "intel-rapl:0", "package-0", 0)
    others = [
        _zone(tmp_path, "intel-rapl:0:0", "core", 0),
        _zone(tmp_path, "intel-rapl:0:1", "dram", 0),
        _zone(tmp_path, "intel-rapl:1", "psys", 0),
        _zone(tmp_path, "intel-rapl-mmio:0", "package-0", 0),
    ]
    meter = PowercapMeter(tmp_path)
    meter.read()
    for counter in others:
        counter.write_text("9000000\n")
    reading = meter.read()
    assert reading.joules == 0
    assert "1 package" in reading.note


def test_powercap_reads_more_than_ten_packages(tmp_path: Path) -> None:
    """A machine with many sockets has all of them counted."""
    counters = [_zone(tmp_path, f"intel-rapl:{i}", f"package-{i}", 0) for i in range(12)]
    meter = PowercapMeter(tmp_path)
    meter.read()
    for counter in counters:
        counter.write_text("1000000\n")
    assert meter.read().joules == pytest.approx(12.0)


class _Locked(PosixPath):
    """A folder whose counters are readable by root only, whoever runs the test."""

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Refuse a counter."""
        del newline
        if self.name == "energy_uj":
            raise PermissionError(13, "Permission denied", str(self))
        return super().read_text(encoding, errors)


def test_powercap_without_permission_says_so(tmp_path: Path) -> None:
    """A counter that only root may read gives no joules, and the note says who may."""
    _zone(tmp_path, "intel-rapl:0", "package-0", 0)
    reading = PowercapMeter(_Locked(tmp_path)).read()
    assert reading.joules is None
    assert "root" in reading.note


def test_powercap_counter_that_holds_no_number_says_so(tmp_path: Path) -> None:
    """A counter that cannot be understood gives no joules, and the note says why."""
    _zone(tmp_path, "intel-rapl:0", "package-0", 0).write_text("unknown\n")
    reading = PowercapMeter(tmp_path).read()
    assert reading.joules is None
    assert "cannot be read" in reading.note


def test_powercap_folder_without_zones_is_absent(tmp_path: Path) -> None:
    """A folder that holds no package gives no joules, and the note names it."""
    assert str(tmp_path) in PowercapMeter(tmp_path).read().note
