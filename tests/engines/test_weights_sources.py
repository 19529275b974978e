"""The hub as a source: its real client library against a stub on the loopback interface."""

import hashlib
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.engines.tiny_weights import CONTENT, HUB_FILE, Notes, make_entry, make_store
from teto.engines.weights_sources import HubSource
from teto.errors import WeightsError
from teto.units import MIB

BIG_CONTENT = b"GGUF" + bytes(range(256)) * (24 * MIB // 256)  # the hub's client writes 10 MiB at a time


@dataclass(slots=True, kw_only=True)
class StubHub:
    """A hub with one file, and what was asked of it."""

    content: bytes = CONTENT
    says_sha256: str | None = None  # None: the content's own
    status: int = 200
    cut_after_bytes: int | None = None  # the first download breaks here
    stalls: bool = False  # the first download stops at the cut instead of breaking
    moved_to: str | None = None  # a redirect of the first path to this location
    endpoint: str = ""
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def ranges(self) -> list[str | None]:
        """The Range header of each download."""
        return [byte_range for method, _, byte_range in self.asked if method == "GET"]


class _Handler(BaseHTTPRequestHandler):
    hub: StubHub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Keep the test's output clean."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        hub = self.hub
        hub.asked.append((self.command, self.path, self.headers["range"]))
        hub.authorizations.append(self.headers["authorization"])
        moved = hub.moved_to is not None and self.path.startswith("/someone/")
        begin = int(re.findall(r"\d+", self.headers["range"])[0]) if self.headers["range"] else 0
        self.send_response(307 if moved else 206 if begin else hub.status)
        if moved:
            self.send_header("location", str(hub.moved_to))
        sha256 = hub.says_sha256 or hashlib.sha256(hub.content).hexdigest()
        self.send_header("x-linked-etag", f'"{sha256}"')
        self.send_header("x-linked-size", str(len(hub.content)))
        self.send_header("content-length", "0" if moved else str(len(hub.content) - begin))
        if begin:
            self.send_header("content-range", f"bytes {begin}-{len(hub.content) - 1}/{len(hub.content)}")
        self.end_headers()
        if with_body and not moved:
            self._send(begin)

    def _send(self, begin: int) -> None:
        hub, end = self.hub, self.hub.cut_after_bytes
        hub.cut_after_bytes = None
        self.wfile.write(hub.content[begin:end])
        if end is not None and hub.stalls:
            hub.closing.wait(30)


@contextmanager
def serving(hub: StubHub) -> Iterator[StubHub]:
    """The stub on a free port of the loopback interface."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_hub_gives_the_file(tmp_path: Path) -> None:
    """The hub is asked once for the metadata and once for the bytes, without a token, and named."""
    with serving(StubHub()) as hub:
        store = make_store(tmp_path, HubSource(endpoint=hub.endpoint))
        located = store.pull(make_entry(hub=(HUB_FILE,)), notes := Notes())
    assert located.path.read_bytes() == CONTENT
    path = "/someone/tiny-GGUF/resolve/main/tiny.gguf"
    assert hub.asked == [("HEAD", path, None), ("GET", path, None)]
    assert hub.authorizations == [None, None]
    assert notes.done_bytes == len(CONTENT)
    assert "trying the model hub." in notes.lines[0]
    assert "someone/tiny-GGUF" in notes.lines[1]


def test_hub_redirects_are_followed(tmp_path: Path) -> None:
    """A renamed repository, or bytes kept on another host, still give the file."""
    with serving(StubHub()) as storage:
        for number, target in enumerate(["/renamed/tiny.gguf", f"{storage.endpoint}/blob"]):
            with serving(StubHub(moved_to=target)) as hub:
                store = make_store(tmp_path / str(number), HubSource(endpoint=hub.endpoint))
                assert store.pull(make_entry(hub=(HUB_FILE,)), Notes()).path.read_bytes() == CONTENT
    assert [method for method, _, _ in storage.asked] == ["GET"]  # what describes the file is on the redirect


def test_hub_resumes_a_connection_that_broke(tmp_path: Path) -> None:
    """A download whose connection breaks goes on from the bytes that were written, in the same pull."""
    with serving(StubHub(content=BIG_CONTENT, cut_after_bytes=12 * MIB)) as hub:
        store = make_store(tmp_path, HubSource(endpoint=hub.endpoint))
        located = store.pull(make_entry(BIG_CONTENT, hub=(HUB_FILE,)), Notes())
    assert hub.ranges() == [None, f"bytes={10 * MIB}-"]
    assert located.sha256 == hashlib.sha256(located.path.read_bytes()).hexdigest()


PULL_FROM_HUB = """
import sys
from pathlib import Path
from teto.catalog.weights import HubFile, WeightsEntry
from teto.engines.weights import WeightsStore
from teto.engines.weights_sources import HubSource

class Out:
    def note(self, text): pass
    def at(self, done_bytes): print(done_bytes, flush=True)

entry = WeightsEntry(id="tiny", title="", sha256=sys.argv[3], size_bytes=int(sys.argv[4]), license="",
                     purpose="", source="", checked_on="", hub=(HubFile(sys.argv[5], sys.argv[6]),))
store = WeightsStore(folder=Path(sys.argv[1]), sources=[HubSource(endpoint=sys.argv[2])],
                     free_bytes=lambda _: 10**9)
store.pull(entry, Out())
"""


def test_a_killed_pull_resumes(tmp_path: Path) -> None:
    """After SIGKILL in the middle of a download the next pull asks the hub only for the rest."""
    entry = make_entry(BIG_CONTENT, hub=(HUB_FILE,))
    with serving(StubHub(content=BIG_CONTENT, cut_after_bytes=12 * MIB, stalls=True)) as hub:
        arguments = [str(tmp_path / "store"), hub.endpoint, entry.sha256, str(entry.size_bytes)]
        command = [sys.executable, "-c", PULL_FROM_HUB, *arguments, HUB_FILE.repo, HUB_FILE.file]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pull:
            assert pull.stdout is not None
            assert any(int(line) >= 10 * MIB for line in pull.stdout)
            pull.kill()
        store = make_store(tmp_path, HubSource(endpoint=hub.endpoint))
        located = store.pull(entry, Notes())
    assert hub.ranges() == [None, f"bytes={10 * MIB}-"]
    assert located.path.read_bytes() == BIG_CONTENT
    left = {path.suffix for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert left <= {".gguf", ".lock"}  # no second copy, no rest


@pytest.mark.parametrize(
    ("hub", "reason"),
    [
        (StubHub(says_sha256="0" * 64), f"sha256 {'0' * 64}"),
        (StubHub(content=CONTENT[:-1], says_sha256=make_entry(hub=(HUB_FILE,)).sha256), f"{len(CONTENT) - 1} bytes"),
        (StubHub(status=404), "HTTP status 404"),
        (StubHub(status=503), "HTTP status 503"),
        (StubHub(moved_to="/someone/else"), "redirects more than 5 times"),
    ],
    ids=["other-file", "other-size", "gone", "down", "loop"],
)
def test_hub_that_cannot_is_left_at_once(tmp_path: Path, hub: StubHub, reason: str) -> None:
    """Another file's hash or size, an HTTP error or a redirect loop is the reason; no byte is fetched."""
    with serving(hub), pytest.raises(WeightsError, match=reason):
        make_store(tmp_path, HubSource(endpoint=hub.endpoint)).pull(make_entry(hub=(HUB_FILE,)), Notes())
    assert hub.ranges() == []


def test_without_a_network_the_hub_is_left_in_seconds(tmp_path: Path) -> None:
    """A refused connection, and a server or a name look-up without an answer, cost only seconds."""
    with silent_server() as silent:
        sources = [
            HubSource(endpoint="http://127.0.0.1:9"),
            HubSource(endpoint=silent, connect_timeout_s=0.5),
            HubSource(endpoint=silent, connect_timeout_s=60, lookup_timeout_s=0.5),
        ]
        began_s = time.monotonic()
        with pytest.raises(WeightsError) as raised:
            make_store(tmp_path, *sources).pull(make_entry(hub=(HUB_FILE,)), Notes())
    assert time.monotonic() - began_s < 10
    assert re.search(r"ConnectError.*ReadTimeout.*did not answer within 0.5 s", raised.value.message)
    assert "teto models pull tiny" in str(raised.value.fix)
