"""What every ledger must do, and what only a file can: survive a kill, keep others out, refuse what it cannot read."""

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from tests.contracts.receipts import a_receipt
from tests.fakes import MemoryLedger
from teto.errors import ConfigError, TetoError
from teto.ledger.sqlite import SqliteLedger
from teto.ports import Ledger
from teto.receipt import Receipt

Make = Callable[[Path], Ledger]
both_ledgers = pytest.mark.parametrize(
    "make",
    [lambda _: MemoryLedger(), lambda folder: SqliteLedger(folder / "deep" / "receipts.sqlite")],
    ids=["memory", "sqlite"],
)


@both_ledgers
async def test_receipt_comes_back_as_it_was_given(tmp_path: Path, make: Make) -> None:
    """What is found by its id equals what was appended, money, figures and accents included."""
    ledger = make(tmp_path)
    await ledger.append(a_receipt())
    assert await ledger.find("r-1") == a_receipt()
    await ledger.close()


@both_ledgers
async def test_id_that_nobody_gave_is_not_found(tmp_path: Path, make: Make) -> None:
    """An unknown id gives None."""
    ledger = make(tmp_path)
    await ledger.append(a_receipt())
    assert await ledger.find("r-2") is None
    await ledger.close()


@both_ledgers
async def test_recent_gives_the_newest_first(tmp_path: Path, make: Make) -> None:
    """Receipts come newest first, whatever the order in which they were appended; equal times by id."""
    ledger = make(tmp_path)
    for receipt_id, created_s in (("r-b", 2.0), ("r-d", 3.0), ("r-a", 1.0), ("r-c", 2.0)):
        await ledger.append(a_receipt(receipt_id, created_s=created_s))
    assert [r.id for r in await ledger.recent(limit=10)] == ["r-d", "r-c", "r-b", "r-a"]
    await ledger.close()


@both_ledgers
async def test_recent_gives_at_most_the_limit(tmp_path: Path, make: Make) -> None:
    """The limit cuts the oldest away."""
    ledger = make(tmp_path)
    for index in range(5):
        await ledger.append(a_receipt(f"r-{index}", created_s=float(index)))
    assert [r.id for r in await ledger.recent(limit=2)] == ["r-4", "r-3"]
    await ledger.close()


@both_ledgers
async def test_since_leaves_out_what_is_older(tmp_path: Path, make: Make) -> None:
    """`since_s` keeps what was created then or later."""
    ledger = make(tmp_path)
    for index in range(5):
        await ledger.append(a_receipt(f"r-{index}", created_s=float(index)))
    assert [r.id for r in await ledger.recent(limit=10, since_s=3.0)] == ["r-4", "r-3"]
    await ledger.close()


@both_ledgers
async def test_same_id_replaces(tmp_path: Path, make: Make) -> None:
    """A receipt that is appended again, once its shadow is known, takes the place of the first."""
    ledger = make(tmp_path)
    await ledger.append(a_receipt(status=200))
    await ledger.append(a_receipt(status=499))
    assert [r.status for r in await ledger.recent(limit=10)] == [499]
    await ledger.close()


@both_ledgers
async def test_empty_ledger_gives_nothing(tmp_path: Path, make: Make) -> None:
    """A ledger without receipts has no recent ones."""
    ledger = make(tmp_path)
    assert list(await ledger.recent(limit=10)) == []
    await ledger.close()


@both_ledgers
async def test_many_appends_at_once_all_arrive(tmp_path: Path, make: Make) -> None:
    """Of 200 appends that run at the same time none is lost."""
    ledger = make(tmp_path)
    await asyncio.gather(*(ledger.append(a_receipt(f"r-{i:03}", created_s=float(i))) for i in range(200)))
    assert [r.id for r in await ledger.recent(limit=500)] == [f"r-{i:03}" for i in reversed(range(200))]
    await ledger.close()


@both_ledgers
async def test_close_twice_is_no_error(tmp_path: Path, make: Make) -> None:
    """A ledger that is closed may be closed again."""
    ledger = make(tmp_path)
    await ledger.close()
    await ledger.close()


async def test_close_writes_what_waits(tmp_path: Path) -> None:
    """An append under way when the ledger closes is in the file."""
    ledger = SqliteLedger(tmp_path / "receipts.sqlite")
    appends = [asyncio.create_task(ledger.append(a_receipt(f"r-{i}"))) for i in range(20)]
    await asyncio.sleep(0)
    await ledger.close()
    await asyncio.gather(*appends)
    again = SqliteLedger(tmp_path / "receipts.sqlite")
    assert len(await again.recent(limit=100)) == 20
    await again.close()


async def test_append_whose_caller_left_is_still_written(tmp_path: Path) -> None:
    """Cancelling whoever waits for an append loses no receipt and stops no writer."""
    ledger = SqliteLedger(tmp_path / "receipts.sqlite")
    append = asyncio.create_task(ledger.append(a_receipt("r-left")))
    await asyncio.sleep(0)
    append.cancel()
    await asyncio.gather(append, return_exceptions=True)
    await ledger.append(a_receipt("r-after"))
    assert await ledger.find("r-left") is not None
    await ledger.close()


async def test_append_after_close_is_refused(tmp_path: Path) -> None:
    """A closed ledger refuses a receipt instead of waiting for a writer that is gone."""
    ledger = SqliteLedger(tmp_path / "receipts.sqlite")
    await ledger.close()
    with pytest.raises(TetoError, match="closed"):
        await ledger.append(a_receipt())


def _modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """The file, and its log while it is open, are readable by their owner alone."""
    ledger = SqliteLedger(tmp_path / "receipts.sqlite")
    await ledger.append(a_receipt())
    modes = _modes(tmp_path)
    assert modes["receipts.sqlite"] == 0o600
    assert set(modes.values()) == {0o600}
    assert len(modes) > 1
    await ledger.close()


async def test_two_ledgers_share_one_file(tmp_path: Path) -> None:
    """What one process appends another one finds, while both have the file open."""
    first, second = SqliteLedger(tmp_path / "receipts.sqlite"), SqliteLedger(tmp_path / "receipts.sqlite")
    await asyncio.gather(first.append(a_receipt("r-1")), second.append(a_receipt("r-2")))
    assert await first.find("r-2") is not None
    assert await second.find("r-1") is not None
    await first.close()
    await second.close()


async def test_error_of_the_disk_reaches_whoever_appended(tmp_path: Path) -> None:
    """An append that cannot be written raises, and the ledger goes on."""
    path = tmp_path / "receipts.sqlite"
    ledger = SqliteLedger(path)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE receipts RENAME TO away")
    connection.close()
    with pytest.raises(TetoError, match="could not be written"):
        await ledger.append(a_receipt())
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE away RENAME TO receipts")
    connection.close()
    await ledger.append(a_receipt())
    await ledger.close()


def test_file_of_another_version_is_refused(tmp_path: Path) -> None:
    """A ledger written by a later teto is not touched; the error names both versions."""
    path = tmp_path / "receipts.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(ConfigError, match=r"version 7.*version 1"):
        SqliteLedger(path)


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file that SQLite cannot read is an error that names it and the setting."""
    path = tmp_path / "receipts.sqlite"
    path.write_bytes(b"not a database, " * 100)
    with pytest.raises(ConfigError, match=r"receipts\.sqlite.*ledger\.path"):
        SqliteLedger(path)


_APPEND_UNTIL_KILLED = """
import asyncio, dataclasses, pathlib, sys
import msgspec
from teto.ledger.sqlite import SqliteLedger
from teto.receipt import Receipt

async def main():
    ledger = SqliteLedger(pathlib.Path(sys.argv[1]))
    receipt = msgspec.json.decode(sys.argv[2], type=Receipt)
    for number in range(1_000_000):
        await ledger.append(dataclasses.replace(receipt, id=f"r-{number}"))
        print(f"r-{number}", flush=True)

asyncio.run(main())
"""


async def test_killed_process_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    """Every id that a process printed after its append returned is in the file after SIGKILL."""
    path = tmp_path / "receipts.sqlite"
    command = [sys.executable, "-c", _APPEND_UNTIL_KILLED, str(path), msgspec.json.encode(a_receipt()).decode()]
    printed: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: ASYNC220 - nothing else runs
        assert process.stdout is not None
        while len(printed) < 50:
            printed.append(process.stdout.readline().strip())
        process.kill()
        printed += process.stdout.read().split("\n")[:-1]
    ledger = SqliteLedger(path)
    kept = {receipt.id for receipt in await ledger.recent(limit=1_000_000)}
    assert len(printed) >= 50
    assert set(printed) <= kept
    assert len(kept) <= len(printed) + 1
    await ledger.close()


def test_a_row_that_cannot_be_read_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A receipt of another version is told in the log, and the others are still listed."""

    async def story() -> Sequence[Receipt]:
        ledger = SqliteLedger(tmp_path / "r.sqlite")
        await ledger.append(a_receipt("r-1"))
        with contextlib.closing(sqlite3.connect(tmp_path / "r.sqlite")) as other, other:
            other.execute("INSERT INTO receipts VALUES ('r-2', 2e9, 'local', 200, x'7b7d')")
        found = await ledger.recent(limit=10)
        await ledger.close()
        return found

    assert [receipt.id for receipt in asyncio.run(story())] == ["r-1"]
    assert "cannot be read" in caplog.text
