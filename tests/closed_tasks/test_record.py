"""Recording an engine on items, and what is made of the records."""

import gzip
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes import FakeEngine, sure_pieces
from teto.closed_tasks.items import closed_task_items, part_of
from teto.closed_tasks.record import record
from teto.closed_tasks.recorded import Recorded, drop_torn_end, read_records
from teto.errors import ConfigError
from teto.traffic.task import Task
from teto.wire.chat import ChatRequest
from teto.wire.generation import Finish, Piece


def item(name: str = "a", text: str = "Classify as good or bad.\n\nText: fine soup, kind staff") -> dict[str, Any]:
    """An item of classification."""
    return {"id": name, "task": "classify", "messages": [{"role": "user", "content": text}], "response_format": None}


@dataclass(slots=True)
class Noting(FakeEngine):
    """Remembers the requests."""

    asked: list[ChatRequest] = field(default_factory=list)

    async def generate(self, request: ChatRequest, *, output_limit_tokens: int) -> AsyncGenerator[Piece | Finish, None]:
        """Note, then say."""
        self.asked.append(request)
        async for event in FakeEngine.generate(self, request, output_limit_tokens=output_limit_tokens):
            yield event


async def recorded(engine: FakeEngine, *items: dict[str, Any]) -> list[Recorded]:
    """The records of those items."""
    return [one async for one in record(engine, items, lambda found: Task(found["task"]))]


async def test_a_short_answer_is_drawn_again_and_the_empty_input_asked() -> None:
    """A label of a closed set costs three runs: the answer, a second one, and the instruction alone."""
    engine = Noting(pieces=sure_pieces("good"))
    (one,) = await recorded(engine, item())
    assert (one.answer, one.second, one.finish_reason) == ("good", "good", "stop")
    assert one.empty is not None
    assert [token.text for token in one.empty] == ["good"]
    assert [request.fields.temperature for request in engine.asked] == [None, 0.7, None]
    assert "fine soup" not in engine.asked[2].messages[0].text


async def test_a_long_answer_is_not() -> None:
    """Sixteen tokens are not drawn twice, and no closed set means no empty input."""
    engine = Noting(pieces=sure_pieces(" ".join(["word"] * 16)))
    (one,) = await recorded(engine, {**item(text="Summarise.\n\nText: fine soup, kind staff"), "task": "summarise"})
    assert one.second is None
    assert one.empty is None
    assert len(engine.asked) == 1


async def test_every_item_is_recorded_once() -> None:
    """Ten items on two slots come back as ten records."""
    found = await recorded(FakeEngine(), *(item(str(i)) for i in range(10)))
    assert Counter(one.id for one in found) == Counter(str(i) for i in range(10))


async def test_a_record_survives_the_disk(tmp_path: Path) -> None:
    """Written and read again it is the same, plain or gzipped."""
    found = await recorded(FakeEngine(), item())
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in found)
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    assert list(read_records(tmp_path / "a.jsonl")) == found
    assert list(read_records(tmp_path / "a.jsonl.gz")) == found


async def test_a_torn_end_is_cut_off(tmp_path: Path) -> None:
    """What a killed run left of its last record is dropped, and nothing before it."""
    found = await recorded(FakeEngine(), item())
    path = tmp_path / "a.jsonl"
    path.write_bytes(msgspec.json.encode(found[0]) + b'\n{"id": "b", "ans')
    assert list(read_records(path)) == found
    drop_torn_end(path)
    assert path.read_bytes().endswith(b"}\n")
    assert list(read_records(path)) == found


def test_what_is_no_record_is_told(tmp_path: Path) -> None:
    """A whole line that is no record names its file and line; a file that is not there has no records."""
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n")
    with pytest.raises(ConfigError, match="line 1"):
        list(read_records(path))
    assert list(read_records(tmp_path / "b.jsonl")) == []


def test_any_beginning_of_the_set_is_mixed() -> None:
    """The first 350 items have every task and language, none of them more than twice its share."""
    items = closed_task_items()
    assert len(items) >= 3600
    counts = Counter((one["task"], one["language"]) for one in items[:350])
    assert len(counts) == 14
    assert max(counts.values()) <= 50


def test_parts_are_a_quarter_a_half_and_a_quarter() -> None:
    """Each part has its share within two points, of all items and of those of a language."""
    for language in ("en", "pt"):
        counts = Counter(part_of(one["id"]) for one in closed_task_items() if one["language"] == language)
        total = sum(counts.values())
        assert counts["score"] / total == pytest.approx(0.25, abs=0.03)
        assert counts["calibration"] / total == pytest.approx(0.5, abs=0.03)
        assert counts["untouched"] / total == pytest.approx(0.25, abs=0.03)
