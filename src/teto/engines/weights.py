"""The weights store: one folder, one file an entry, named by its sha256, which is all that is trusted.

    <folder>/sha256/<sha256>.gguf      whole and checked; nothing else is ever given to an engine
    <folder>/parts/<sha256>.part       being pulled; `.json` beside it, `.lock` held by the process that pulls
    <folder>/path_hashes.json          hashes of files that the user keeps elsewhere

What is present is read from the folder's listing and the sizes; only `verify` reads the bytes again.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from teto.catalog.weights import WeightsEntry, find_weights, known_weights
from teto.engines.weights_hashes import PathHashes, sha256_of
from teto.engines.weights_part import PartFile, PullProgress, is_disk_full
from teto.engines.weights_sources import WeightsSource
from teto.errors import CorruptWeightsError, DiskFullError, MissingWeightsError, WeightsError
from teto.units import show_bytes

__all__ = ["ListedWeights", "LocatedWeights", "WeightsStore", "free_disk_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedWeights:
    """A GGUF file that can be loaded; `entry` is None for a file that the catalog does not know."""

    path: Path
    sha256: str
    entry: WeightsEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWeights:
    """An entry of the catalog and what the store has of it: `path` is None unless the file is whole."""

    entry: WeightsEntry
    path: Path | None
    partial_bytes: int


def free_disk_bytes(folder: Path) -> int:
    """The room that the user has on the disk which holds `folder`."""
    return shutil.disk_usage(folder).free


class WeightsStore:
    """Weights by content address, filled from `sources` in their order.

    Args:
        folder: where the files are; made when the first one is pulled, for its owner alone.
        sources: tried one after the other until one gives the bytes that the catalog's sha256 asks for.
        free_bytes: the room on the disk of a folder.
    """

    def __init__(self, *, folder: Path, sources: Sequence[WeightsSource], free_bytes: Callable[[Path], int]) -> None:
        self._folder = folder
        self._sources = tuple(sources)
        self._free_bytes = free_bytes
        self._path_hashes = PathHashes(path=folder / "path_hashes.json")

    def locate(self, weights: WeightsEntry | str) -> LocatedWeights:
        """The file of an entry, of a catalog id, or at a path that ends in `.gguf`; nothing is fetched.

        Raises:
            UnknownNameError: neither an id of the catalog nor a path that ends in `.gguf`.
            MissingWeightsError: known, but not here.
            CorruptWeightsError: here with a size that is not the catalog's.
        """
        if isinstance(weights, str) and weights.endswith(".gguf"):
            return self._locate_path(Path(weights).expanduser())
        entry = find_weights(weights) if isinstance(weights, str) else weights
        path = self._path(entry)
        if not path.is_file():
            raise MissingWeightsError(
                f"The weights {entry.id} are not on this machine ({path} does not exist).",
                fix=f"Run `teto models pull {entry.id}` ({show_bytes(entry.size_bytes)}).",
            )
        found_bytes = path.stat().st_size
        if found_bytes != entry.size_bytes:
            raise CorruptWeightsError(
                f"{path} has {found_bytes} bytes, and {entry.id} has {entry.size_bytes}.",
                fix=f"Run `teto models pull {entry.id}`, which replaces it.",
            )
        return self._located(entry)

    def pull(
        self,
        entry: WeightsEntry,
        progress: PullProgress,
        *,
        sources: Sequence[WeightsSource] | None = None,
    ) -> LocatedWeights:
        """The file of an entry, fetched if it is not here; `sources` stands in for the store's own.

        An interrupted pull goes on where it stopped. Of two pulls at once the second waits for the first.

        Raises:
            DiskFullError: before anything is fetched, or when a write found no room; what came is kept.
            CorruptWeightsError: every source gave bytes with another sha256; they were deleted.
            WeightsError: no source could give it; the message has the reason of each.
        """
        if self._is_present(entry):
            return self._located(entry)

        def waits() -> None:
            progress.note(f"{entry.id}: another process is pulling it; waiting for that one.")

        with self._locked(entry, when_taken=waits):
            if not self._is_present(entry) and not self._finish_left_over(entry):
                self._pull_from(self._sources if sources is None else sources, entry, progress)
        return self._located(entry)

    def verify(self, entry: WeightsEntry) -> LocatedWeights:
        """Read the whole file of an entry again and compare its sha256.

        Raises:
            MissingWeightsError: it is not here.
            CorruptWeightsError: its bytes changed after they were pulled; the file is left as it is.
        """
        located = self.locate(entry)
        found = sha256_of(located.path)
        if found != entry.sha256:
            raise CorruptWeightsError(
                f"{located.path} is corrupt: its sha256 is {found}, and that of {entry.id} is {entry.sha256}.",
                fix=f"Run `teto models rm {entry.id}`, then `teto models pull {entry.id}`.",
            )
        return located

    def remove(self, entry: WeightsEntry) -> int:
        """Delete the file of an entry and what an interrupted pull left of it; returns the bytes freed."""

        def refuses() -> None:
            raise WeightsError(
                f"{entry.id} is being pulled by another process.", fix="Stop that one, then run this again."
            )

        path = self._path(entry)
        if not path.exists() and not self._part(entry).present_bytes():
            raise MissingWeightsError(f"Nothing of {entry.id} is in {self._folder}.", fix="See `teto models list`.")
        with self._locked(entry, when_taken=refuses):
            freed_bytes = path.stat().st_size if path.exists() else 0
            path.unlink(missing_ok=True)
            return freed_bytes + self._part(entry).remove()

    def listing(self) -> tuple[ListedWeights, ...]:
        """Every entry of the catalog, the default one first, with what is here of it."""
        return tuple(
            ListedWeights(
                entry=entry,
                path=self._path(entry) if self._is_present(entry) else None,
                partial_bytes=self._part(entry).present_bytes(),
            )
            for entry in known_weights().values()
        )

    def _locate_path(self, path: Path) -> LocatedWeights:
        if not path.is_file():
            raise MissingWeightsError(
                f"There is no file {path}.",
                fix="Give the path of a .gguf file, or an id that `teto models list` shows.",
            )
        path = path.resolve()
        found = self._path_hashes.sha256(path)
        known = (entry for entry in known_weights().values() if entry.sha256 == found)
        return LocatedWeights(path=path, sha256=found, entry=next(known, None))

    def _pull_from(self, sources: Sequence[WeightsSource], entry: WeightsEntry, progress: PullProgress) -> None:
        part = self._part(entry)
        failures: list[WeightsError] = []
        reasons: list[str] = []
        for source in sources:
            self._check_room(entry, part, source.spare_bytes(entry))
            because = f" because {'; '.join(reasons)}" if reasons else ""
            progress.note(
                f"{entry.id}: trying {source.name}{because}. "
                f"What is trusted is the sha256 {entry.sha256}, whoever uploaded the bytes."
            )
            try:
                source.fetch(entry, part, progress)
                progress.note(f"{entry.id}: checking its sha256.")
                self._finish(entry, part)
            except WeightsError as error:
                failures.append(error)
                reasons.append(_reason(source, error))
            except OSError as error:
                if is_disk_full(error):
                    raise self._disk_full(entry, part, source.spare_bytes(entry)) from error
                failures.append(WeightsError(str(error)))
                reasons.append(_reason(source, error))
            else:
                return
        raise _all_failed(entry, failures, reasons)

    def _finish(self, entry: WeightsEntry, part: PartFile) -> None:
        """Put the part file into the store if it is what the catalog says; delete it if not."""
        found = sha256_of(part.path)
        if found != entry.sha256:
            size_bytes = part.remove()
            raise CorruptWeightsError(
                f"its {size_bytes} bytes have the sha256 {found} where {entry.sha256} was expected; "
                f"{part.path} was deleted."
            )
        part.move_to(self._path(entry))

    def _finish_left_over(self, entry: WeightsEntry) -> bool:
        """Whether a pull that ended between the last byte and the check had left the whole file."""
        part = self._part(entry)
        if part.present_bytes() != entry.size_bytes:
            return False
        try:
            self._finish(entry, part)
        except CorruptWeightsError:
            return False
        return True

    def _check_room(self, entry: WeightsEntry, part: PartFile, spare_bytes: int) -> None:
        needed_bytes = entry.size_bytes - part.present_bytes() + spare_bytes
        if self._free_bytes(self._folder) < needed_bytes:
            raise self._disk_full(entry, part, spare_bytes)

    def _disk_full(self, entry: WeightsEntry, part: PartFile, spare_bytes: int) -> DiskFullError:
        needed_bytes = entry.size_bytes - part.present_bytes() + spare_bytes
        free_bytes = self._free_bytes(self._folder)
        return DiskFullError(
            f"Pulling {entry.id} needs {show_bytes(needed_bytes)} ({needed_bytes} bytes) more, and "
            f"{self._folder} has {show_bytes(free_bytes)} ({free_bytes} bytes) free.",
            fix=f"Make room and run `teto models pull {entry.id}` again: what came is kept. "
            f"`teto models rm {entry.id}` gives that room back.",
        )

    @contextmanager
    def _locked(self, entry: WeightsEntry, *, when_taken: Callable[[], None]) -> Iterator[None]:
        """Hold the entry's lock; the system frees it when a process dies, so a stale one cannot block."""
        try:
            import filelock  # noqa: PLC0415 - part of an extra: listing and locating work without it
        except ImportError as error:
            raise WeightsError(
                "Changing the weights store needs the package filelock.", fix="Install `teto[engine]`."
            ) from error
        for folder in (self._folder, self._path(entry).parent, self._part(entry).path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = filelock.FileLock(self._part(entry).path.with_suffix(".lock"), mode=0o600)
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            when_taken()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _is_present(self, entry: WeightsEntry) -> bool:
        try:
            return self._path(entry).stat().st_size == entry.size_bytes
        except FileNotFoundError:
            return False

    def _located(self, entry: WeightsEntry) -> LocatedWeights:
        return LocatedWeights(path=self._path(entry), sha256=entry.sha256, entry=entry)

    def _path(self, entry: WeightsEntry) -> Path:
        return self._folder / "sha256" / f"{entry.sha256}.gguf"

    def _part(self, entry: WeightsEntry) -> PartFile:
        return PartFile(path=self._folder / "parts" / f"{entry.sha256}.part", size_bytes=entry.size_bytes)


def _reason(source: WeightsSource, error: Exception) -> str:
    return f"{source.name} failed: {str(error).rstrip('.')}"


def _all_failed(entry: WeightsEntry, failures: Sequence[WeightsError], reasons: Sequence[str]) -> WeightsError:
    all_corrupt = bool(failures) and all(isinstance(error, CorruptWeightsError) for error in failures)
    kind = CorruptWeightsError if all_corrupt else WeightsError
    return kind(
        f"No source gave {entry.id}: {'; '.join(reasons) or 'there is none'}.",
        fix=f"Connect to the network and run `teto models pull {entry.id}` again, or bring the file from "
        f"another machine and run `teto models pull {entry.id} --from FILE`.",
    )
