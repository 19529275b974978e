"""The sha256 of files that the user keeps elsewhere, computed once and remembered by path, size and time."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from teto.engines.weights_part import replace_file

__all__ = ["PathHashes", "sha256_of"]


class _Remembered(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size_bytes: int
    mtime_ns: int
    sha256: str


def sha256_of(path: Path) -> str:
    """The sha256 of a whole file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PathHashes:
    """A JSON file of hashes; a file whose size or modification time changed is hashed again."""

    path: Path

    def sha256(self, file: Path) -> str:
        """The hash of `file`, remembered or computed now.

        Known error: a file changed in place, to the same size and with its time set back, is not noticed.
        """
        status = file.stat()
        known = self._read()
        seen = known.get(str(file))
        if seen is not None and (seen.size_bytes, seen.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return seen.sha256
        found = sha256_of(file)
        known[str(file)] = _Remembered(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns, sha256=found)
        with suppress(OSError):  # a hash that cannot be remembered costs only the time to compute it again
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.path, msgspec.json.encode(known))
        return found

    def _read(self) -> dict[str, _Remembered]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, _Remembered])
        except (OSError, msgspec.DecodeError):
            return {}
