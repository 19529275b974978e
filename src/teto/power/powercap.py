"""Joules from the kernel's powercap counters (RAPL): the CPU packages, everything that ran on them included."""

from pathlib import Path

from teto.ports import PowerReading

__all__ = ["PowercapMeter"]


class PowercapMeter:
    """Sums the energy of all packages under a powercap folder; counters that wrap are unwrapped.

    The boundary is the CPU package: neither memory on most machines, nor disk, screen or power supply. A laptop
    also shows a zone of the whole platform (psys), which contains the package: it is not added to it.
    """

    def __init__(self, folder: Path = Path("/sys/class/powercap")) -> None:
        zones = sorted(folder.glob("intel-rapl:*")) if folder.is_dir() else []
        self._packages = [zone for zone in zones if _zone_name(zone).startswith("package")]
        self._folder = folder
        self._last_uj: dict[Path, int] = {}
        self._total_uj = 0

    def read(self) -> PowerReading:
        """The joules since the first reading."""
        if not self._packages:
            return PowerReading(joules=None, boundary=None, note=f"no package counter under {self._folder}")
        try:
            for package in self._packages:
                self._advance(package)
        except PermissionError:
            note = f"the counters under {self._folder} are readable by root only"
            return PowerReading(joules=None, boundary=None, note=note)
        except (OSError, ValueError) as error:
            return PowerReading(joules=None, boundary=None, note=f"a counter cannot be read: {error}")
        note = f"powercap, {len(self._packages)} package(s)"
        return PowerReading(joules=self._total_uj / 1e6, boundary="CPU package", note=note)

    def _advance(self, package: Path) -> None:
        now = int((package / "energy_uj").read_text())
        before = self._last_uj.get(package, now)
        wrapped = int((package / "max_energy_range_uj").read_text()) if now < before else 0
        self._total_uj += now - before + wrapped
        self._last_uj[package] = now


def _zone_name(zone: Path) -> str:
    try:
        return (zone / "name").read_text()
    except OSError:
        return ""
