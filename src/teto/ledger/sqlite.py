"""Receipts in a SQLite file: one writer thread, so that the event loop never waits for a disk."""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from teto.errors import ConfigError, TetoError
from teto.receipt import Receipt

__all__ = ["SqliteLedger"]

_LOG: Final = logging.getLogger(__name__)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS receipts (
  id TEXT PRIMARY KEY,
  created_s REAL NOT NULL,
  route TEXT NOT NULL,
  status INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS receipts_created ON receipts (created_s);
"""
_VERSION: Final = 1
_MOST_IN_ONE_COMMIT: Final = 256

_Job = tuple[Receipt, asyncio.Future[None], asyncio.AbstractEventLoop]


def _open(path: Path) -> sqlite3.Connection:
    """A connection to the ledger, made if it is new; one thread at a time may use it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)  # before SQLite makes it: the log beside it takes its mode
        path.chmod(0o600)
        connection = sqlite3.connect(path, timeout=10.0, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise ConfigError(f"The ledger {path} cannot be opened: {error}.", fix="Check ledger.path.") from None
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # A killed process loses nothing that was committed; a power cut may lose the last moments.
    connection.execute("PRAGMA synchronous = NORMAL")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in {0, _VERSION}:
        raise ConfigError(
            f"{path} is a ledger of version {version}; this teto reads version {_VERSION}.",
            fix="Move it away or set ledger.path.",
        )
    connection.executescript(_SCHEMA)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


class SqliteLedger:
    """The `Ledger` port on one file; several processes may read and write it at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = _open(path)  # from here on the writer's own
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._writer = threading.Thread(target=self._write, name="teto-ledger", daemon=True)
        self._writer.start()

    async def append(self, receipt: Receipt) -> None:
        """Hand the receipt to the writer and wait for its commit; the loop serves others meanwhile."""
        if self._closed:
            raise TetoError("The ledger is closed.")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._jobs.put((receipt, done, loop))
        await done

    def _write(self) -> None:
        with contextlib.closing(self._connection):
            while (job := self._jobs.get()) is not None:
                jobs, stop = [job], False
                while len(jobs) < _MOST_IN_ONE_COMMIT:
                    try:
                        another = self._jobs.get_nowait()
                    except queue.Empty:
                        break
                    if another is None:
                        stop = True
                        break
                    jobs.append(another)
                self._commit(jobs)
                if stop:
                    return

    def _commit(self, jobs: Sequence[_Job]) -> None:
        rows = [(r.id, r.created_s, r.route, r.status, msgspec.json.encode(r)) for r, _, _ in jobs]
        error: Exception | None = None
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO receipts VALUES (?, ?, ?, ?, ?)", rows)
        except sqlite3.Error as fault:
            error = TetoError(f"A receipt could not be written: {fault}.", fix="Check the disk of ledger.path.")
        for _, done, loop in jobs:
            with contextlib.suppress(RuntimeError):  # the loop that asked is gone
                loop.call_soon_threadsafe(_settle, done, error)

    async def recent(self, *, limit: int, since_s: float | None = None) -> Sequence[Receipt]:
        """The newest receipts first."""
        sql = "SELECT body FROM receipts WHERE created_s >= ? ORDER BY created_s DESC, id DESC LIMIT ?"
        return await asyncio.to_thread(self._select, sql, (since_s or 0.0, limit))

    async def find(self, receipt_id: str) -> Receipt | None:
        """The receipt of that id."""
        rows = await asyncio.to_thread(self._select, "SELECT body FROM receipts WHERE id = ?", (receipt_id,))
        return rows[0] if rows else None

    def _select(self, sql: str, values: tuple[float | str, ...]) -> list[Receipt]:
        with contextlib.closing(_open(self._path)) as connection:
            return list(_receipts(connection.execute(sql, values)))

    async def close(self) -> None:
        """Write what waits, and end the writer."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
            await asyncio.to_thread(self._writer.join)


def _settle(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.done():  # whoever waited has left; the receipt is written all the same
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


def _receipts(rows: Iterable[tuple[bytes]]) -> Iterator[Receipt]:
    """The receipts of rows; one that this version cannot read is told in the log and hides no other."""
    for (body,) in rows:
        try:
            yield msgspec.json.decode(body, type=Receipt)
        except msgspec.DecodeError as error:
            _LOG.warning("a receipt cannot be read (%s): %.80r", error, body)
