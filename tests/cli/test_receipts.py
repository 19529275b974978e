"""`teto receipts`: the list, the story of one, and what is no length of time."""

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import Home
from tests.cli.hand_made import ESCALATED, KEPT, REFUSED
from teto.ledger.sqlite import SqliteLedger
from teto.receipt import Receipt


def keep(path: Path, *receipts: Receipt) -> None:
    """Write the receipts into a ledger."""

    async def write() -> None:
        ledger = SqliteLedger(path)
        for receipt in receipts:
            await ledger.append(receipt)
        await ledger.close()

    asyncio.run(write())


def test_an_empty_ledger(home: Home) -> None:
    """Without receipts the next step is said, and nothing in JSON."""
    done = home.run("receipts")
    assert done.returncode == 0
    assert done.stdout == "No receipts yet: ask something with `teto ask`, or through `teto serve`.\n"
    assert home.run("receipts", "--json").stdout == ""


LIST = """\
2027-01-15 08:02:00  r-none  none (degraded)   503  unknown         -      2 ms       unknown  none
2027-01-15 08:01:00  r-up  cloud             200  unknown         -    1.25 s      $0.00024  task_open
2027-01-15 08:00:00  r-kept  local             200  classify    0.975    520 ms            $0  confident
"""


def test_the_list(home: Home) -> None:
    """One line a receipt, the newest first."""
    keep(home.ledger, KEPT, ESCALATED, REFUSED)
    assert home.run("receipts").stdout == LIST
    assert home.run("receipts", "--limit", "1").stdout == LIST.splitlines(keepends=True)[0]


def test_the_list_as_json(home: Home) -> None:
    """One JSON object a line, which reads as the receipt it was."""
    keep(home.ledger, KEPT, ESCALATED)
    lines = home.run("receipts", "--json").stdout.splitlines()
    assert [msgspec.json.decode(line, type=Receipt) for line in lines] == [ESCALATED, KEPT]


def test_since(home: Home) -> None:
    """Only receipts of the time asked for are listed."""
    now_s = time.time()
    keep(
        home.ledger,
        replace(KEPT, id="old", created_s=now_s - 7200),
        replace(KEPT, id="new", created_s=now_s - 60),
    )

    def listed(since: str) -> list[str]:
        lines = home.run("receipts", "--json", "--since", since).stdout.splitlines()
        return [json.loads(line)["id"] for line in lines]

    assert listed("30m") == ["new"]
    assert listed("1.5h") == ["new"]
    assert listed("1d") == ["new", "old"]
    assert listed("1s") == []


@pytest.mark.parametrize("since", ["3x", "m", "-3h", "3"])
def test_what_is_no_length_of_time(home: Home, since: str) -> None:
    """A length of time without a known unit is refused with the ones there are."""
    done = home.run("receipts", f"--since={since}")
    assert done.returncode == 2
    assert f"Invalid value for '--since': '{since}' is no length of time; write 30m, 12h or 7d." in done.stderr


STORY = """\
receipt  r-kept
  at       2027-01-15 08:00:00, mode auto, model asked for: teto/auto
  answer   local, status 200, finish stop, streamed
  time     520 ms, first token 450 ms

decision keep, task classify, settled by: confident
  confidence 0.9753, threshold 0.85 (uncalibrated: chosen, not measured)
  1. Task classify ('sentiment'). [task_closed]
  2. Confidence 0.975 over 2 tokens. [confident]

local run
  local    qwen2.5-coder-1.5b-instruct-q4_k_m on embedded llama.cpp: kept; 52 prompt tokens (12 cached), 3 out, \
waited 1 ms
  prefill  40 tokens in 400 ms (100.0 tok/s); 1.92 GB, 104 GFLOP; ceiling 200 ms, reached 50 %, bound: compute
  decode   3 tokens in 80 ms (37.5 tok/s); 2.94 GB, 7.8 GFLOP; ceiling 62 ms, reached 77.5 %, bound: memory
  counted  engine; engine cc324af070c2ecbf:2026.10.11549
  energy   prefill: 8 J (derived, package; 20 W (power.mean_power_w) over 0.400 s)
  energy   decode: unknown (no counter)

cost     $0 (answered here)
  had all gone up: $0.0000096 (price from teto.toml)
energy   unknown (no counter)
"""


def test_the_story_of_a_kept_answer(home: Home) -> None:
    """A local answer's story has the decision with its reasons, and prefill and decode apart."""
    keep(home.ledger, KEPT, ESCALATED)
    done = home.run("receipts", "show", "r-kept")
    assert (done.returncode, done.stdout) == (0, STORY)


def test_one_receipt_as_json(home: Home) -> None:
    """`show --json` gives the whole receipt."""
    keep(home.ledger, KEPT)
    assert msgspec.json.decode(home.run("receipts", "show", "r-kept", "--json").stdout, type=Receipt) == KEPT


def test_an_unknown_id(home: Home) -> None:
    """An id that is in no ledger ends with exit code 2 and where to look."""
    done = home.run("receipts", "show", "r-none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: No receipt has the id 'r-none'.\n  See `teto receipts`.\n"
