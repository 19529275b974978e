"""Where weights can be had: the model hub, or a file the user has; `weights_carriers` is the third.

No source is trusted. Each only fills a part file; the store keeps it if its sha256 is the catalog's.
"""

import queue
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast
from urllib.parse import urljoin, urlsplit

from teto.catalog.weights import HubFile, WeightsEntry
from teto.engines.weights_part import PartFile, PartState, PullProgress, is_disk_full
from teto.errors import WeightsError
from teto.units import MIB

__all__ = ["FileSource", "HubSource", "WeightsSource"]

_Result = TypeVar("_Result")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAX_REDIRECTS = 5
_HTTP_ERROR = 400
# Byte ranges must count the file's bytes, not compressed ones.
_PLAIN_HEADERS: Final = {"user-agent": "teto", "accept-encoding": "identity"}


class WeightsSource(Protocol):
    """Somewhere that the bytes of an entry may come from."""

    @property
    def name(self) -> str:
        """How it is called in progress and in errors."""

    def spare_bytes(self, entry: WeightsEntry) -> int:
        """The room that fetching needs for a moment beside the file itself."""

    def fetch(self, entry: WeightsEntry, part: PartFile, progress: PullProgress) -> None:
        """Fill `part`, going on from what this source left there before.

        Raises:
            WeightsError: with the reason why this source cannot; the store tries the next one.
            OSError: a write failed; what was written stays, for the next try.
        """


class FileSource:
    """A file that the user has already, copied: the store must not change when the user's file does."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """How it is called in progress and in errors."""
        return f"the file {self._path}"

    def spare_bytes(self, entry: WeightsEntry) -> int:  # noqa: ARG002 - the protocol's signature
        """Nothing: the copy is the file."""
        return 0

    def fetch(self, entry: WeightsEntry, part: PartFile, progress: PullProgress) -> None:
        """Copy the file; its size is looked at first, so that the wrong file costs no copy."""
        try:
            found_bytes = self._path.stat().st_size
        except OSError as error:
            raise WeightsError(f"it cannot be read: {error.strerror}.") from error
        if found_bytes != entry.size_bytes:
            raise WeightsError(f"it has {found_bytes} bytes and {entry.id} has {entry.size_bytes}.")
        state = PartState(writer=self.name)
        with self._path.open("rb") as origin, part.opened(state, progress) as stream:
            shutil.copyfileobj(origin, stream, 4 * MIB)


class HubSource:
    """The model hub, by repository and file, through its own client library.

    The library's `hf_hub_download` starts an interrupted file again from nothing, and without a network it
    waits through five retries; so the parts under it are used: one metadata request without retries, then
    its `http_get`, which resumes and retries a connection that broke. No token is sent: the files are public.
    """

    def __init__(
        self,
        *,
        allowed: bool = True,
        endpoint: str | None = None,
        connect_timeout_s: float = 3.0,
        lookup_timeout_s: float = 8.0,
    ) -> None:
        self._allowed = allowed
        self._endpoint = endpoint  # None: the library's own, which its environment variable may change
        self._connect_timeout_s = connect_timeout_s
        self._lookup_timeout_s = lookup_timeout_s

    @property
    def name(self) -> str:
        """How it is called in progress and in errors."""
        return "the model hub"

    def spare_bytes(self, entry: WeightsEntry) -> int:  # noqa: ARG002 - the protocol's signature
        """Nothing: the download is written straight into the part file."""
        return 0

    def fetch(self, entry: WeightsEntry, part: PartFile, progress: PullProgress) -> None:
        """Download the first of the entry's hub files that the hub can give."""
        if not self._allowed:
            raise WeightsError("the setting weights.hub forbids it.")
        if not entry.hub:
            raise WeightsError(f"the catalog names no file of {entry.id} there.")
        reasons: list[str] = []
        for place in entry.hub:
            try:
                self._fetch_file(entry, place, part, progress)
            except WeightsError as error:
                reasons.append(f"{place.repo}/{place.file}: {error.message}")
            else:
                return
        raise WeightsError(" ".join(reasons))

    def _fetch_file(self, entry: WeightsEntry, place: HubFile, part: PartFile, progress: PullProgress) -> None:
        writer = f"{self.name}: {place.repo}/{place.file}"
        try:
            from huggingface_hub import hf_hub_url  # noqa: PLC0415 - part of an extra, and slow to import
            from huggingface_hub.file_download import http_get  # noqa: PLC0415
            from huggingface_hub.utils.tqdm import silent_tqdm  # noqa: PLC0415

            url = hf_hub_url(place.repo, place.file, endpoint=self._endpoint)
            _refuse_another_file(entry, _within(self._lookup_timeout_s, lambda: self._metadata(url)))
            kept_bytes = part.present_bytes() if part.left_by(writer) else 0
            progress.note(f"{entry.id}: {place.repo}, {place.file}, from byte {kept_bytes} on.")
            with part.opened(PartState(writer=writer, joined_bytes=kept_bytes), progress) as stream:
                http_get(
                    url,
                    stream,
                    resume_size=kept_bytes,
                    headers=dict(_PLAIN_HEADERS),
                    expected_size=entry.size_bytes,
                    tqdm_class=silent_tqdm,  # the library's own stand-in for a bar
                )
        except WeightsError:
            raise
        except ImportError as error:
            raise WeightsError("its client, the package huggingface-hub, is not installed.") from error
        except Exception as error:
            # The client and the HTTP library under it (whose name has changed between releases) raise from
            # several trees; whatever it was, this source failed and the next one is to be tried.
            if is_disk_full(error):
                raise
            raise WeightsError(f"{type(error).__name__}: {_first_line(error)}") from error

    def _metadata(self, url: str) -> Mapping[str, str]:
        """The headers with which the hub describes the file, redirects inside the hub followed."""
        from huggingface_hub import get_session  # noqa: PLC0415 - as above

        for _ in range(_MAX_REDIRECTS):
            # `get_hf_file_metadata` would first ask the hub which coding agents to report; this does not.
            answer = get_session().head(
                url, headers=dict(_PLAIN_HEADERS), timeout=self._connect_timeout_s, follow_redirects=False
            )
            if answer.status_code >= _HTTP_ERROR:
                raise WeightsError(f"it answered with HTTP status {answer.status_code}.")
            target = urljoin(url, answer.headers.get("location", ""))
            if not answer.has_redirect_location or urlsplit(target).netloc != urlsplit(url).netloc:
                return answer.headers  # on a redirect to storage too: only the hub describes the file
            url = target
        raise WeightsError(f"it redirects more than {_MAX_REDIRECTS} times.")


def _refuse_another_file(entry: WeightsEntry, headers: Mapping[str, str]) -> None:
    """Spare a download of gigabytes when the hub itself says that its file is another one."""
    says_sha256 = headers.get("x-linked-etag", "").strip('"')
    if _SHA256.fullmatch(says_sha256) and says_sha256 != entry.sha256:
        raise WeightsError(f"its file has the sha256 {says_sha256}, and the catalog's is {entry.sha256}.")
    says_bytes = headers.get("x-linked-size", "")
    if says_bytes.isdecimal() and int(says_bytes) != entry.size_bytes:
        raise WeightsError(f"its file has {says_bytes} bytes, and the catalog's has {entry.size_bytes}.")


def _within(timeout_s: float, call: Callable[[], _Result]) -> _Result:
    """The call's result, or a WeightsError after that time: nothing else bounds a name look-up."""
    outcome: queue.SimpleQueue[tuple[_Result | None, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((call(), None))
        except Exception as error:  # noqa: BLE001 - handed to the thread that waits, which raises it
            outcome.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = outcome.get(timeout=timeout_s)
    except queue.Empty:
        raise WeightsError(f"it did not answer within {timeout_s:g} s.") from None
    if error is not None:
        raise error
    return cast("_Result", result)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else "no text"
