"""A user of the command line: a home, a teto.toml, and the processes that are started from there."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from tests.end_to_end.cloud import CLOUD_KEY, CLOUD_MODEL
from tests.smoke_weights import WEIGHTS_ID, store_folder

__all__ = ["Gateway", "Home", "free_port", "until"]

_TETO: Final = Path(sys.executable).with_name("teto")
_READY_LIMIT_S: Final = 60.0  # the first start of a session tunes


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert isinstance(port, int)
    return port


def until(condition: Callable[[], bool], *, limit_s: float) -> None:
    """Wait for the condition."""
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    """Whether the process has ended; one that only waits to be reaped by somebody else has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A `teto serve` that is ready: its process, what it printed, and where it listens."""

    process: subprocess.Popen[bytes]
    printed: Path
    root_url: str

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"{self.root_url}/v1"

    def get(self, path: str) -> Any:
        """The JSON at a path of the gateway."""
        with urllib.request.urlopen(f"{self.root_url}{path}", timeout=30) as answer:  # noqa: S310 - an http URL
            return json.load(answer)

    def engine_pid(self) -> int:
        """The process id of the engine, which is the gateway's only child."""
        (child,) = psutil.Process(self.process.pid).children()
        return child.pid

    def engine_is_ready(self) -> bool:
        """Whether the gateway answers, and says that its engine is ready."""
        try:
            return bool(self.get("/health")["engine"]["ready"])
        except urllib.error.URLError:
            return False

    def engine_is_active(self) -> bool:
        """Whether the gateway says that its engine works on a request."""
        return bool(self.get("/health")["engine"]["active"])

    def end(self, number: signal.Signals) -> tuple[int, list[int]]:
        """Signal it as a terminal would, its whole group; its exit code, and the children that stay for 3 s."""
        children = [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]
        os.killpg(self.process.pid, number)
        exit_code = self.process.wait(timeout=20)
        end_s = time.monotonic() + 3.0
        while time.monotonic() < end_s and not all(is_gone(pid) for pid in children):
            time.sleep(0.02)
        return exit_code, [pid for pid in children if not is_gone(pid)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A folder with a teto.toml in it; tunings are shared by all homes of a session, receipts are not."""

    folder: Path
    state: Path
    port: int

    @classmethod
    def make(cls, folder: Path, *, state: Path, cloud_url: str, more_settings: str = "") -> "Home":
        """Write the settings."""
        home = cls(folder=folder, state=state, port=free_port())
        (folder / "teto.toml").write_text(
            f"""
            {more_settings}
            [gateway]
            port = {home.port}
            [engine]
            weights = "{WEIGHTS_ID}"
            context_tokens = 2048
            [weights]
            folder = "{store_folder()}"
            [ledger]
            path = "{folder}/receipts.sqlite"
            [upstreams.cloud]
            base_url = "{cloud_url}"
            model = "{CLOUD_MODEL}"
            api_key_env = "CLOUD_KEY"
            """
        )
        return home

    @property
    def environment(self) -> dict[str, str]:
        """What its processes know."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.state),
            "CLOUD_KEY": CLOUD_KEY,
            "NO_COLOR": "1",
        }

    def run(self, *arguments: str, timeout_s: float = 90.0) -> subprocess.CompletedProcess[str]:
        """Run `teto` to its end."""
        return subprocess.run(
            [str(_TETO), *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )

    @contextmanager
    def serve(self, *arguments: str) -> Iterator[Gateway]:
        """A gateway that is ready; killed at the end if it still runs."""
        printed = self.folder / "printed.txt"
        with (
            printed.open("wb") as output,
            subprocess.Popen(
                [str(_TETO), "serve", "--weights", WEIGHTS_ID, *arguments],
                cwd=self.folder,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                until(
                    lambda: "curl" in printed.read_text() or process.poll() is not None,
                    limit_s=_READY_LIMIT_S,
                )
                assert process.poll() is None, printed.read_text()
                gateway = Gateway(process=process, printed=printed, root_url=f"http://127.0.0.1:{self.port}")
                until(gateway.engine_is_ready, limit_s=10)
                yield gateway
            finally:
                if process.poll() is None:
                    process.kill()
