"""A home of its own for the command line of each test."""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

TETO = Path(sys.executable).with_name("teto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """An empty home with a working folder, and a free port for a gateway."""

    folder: Path
    port: int

    @property
    def work(self) -> Path:
        """Where commands run; a teto.toml here is found by them."""
        return self.folder / "work"

    @property
    def ledger(self) -> Path:
        """Where receipts are kept."""
        return self.folder / "state" / "teto" / "receipts.sqlite"

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run `teto` with nothing in its environment but this home and those variables."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "TZ": "UTC",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TETO_GATEWAY_PORT": str(self.port),
            **variables,
        }
        command: Sequence[str] = [str(TETO), *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=self.work,
            encoding="utf-8",
            env=environment,
            timeout=60,
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    found = Home(folder=tmp_path, port=port)
    found.work.mkdir()
    return found
