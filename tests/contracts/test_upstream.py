"""What every upstream must do: give the bytes as they come, name each fault, stop when it is left."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal

import pytest

from tests.fakes import FakeUpstream
from tests.scripted_upstream import Reply, ScriptedUpstream, closed_port_url, connect, open_scripted
from teto.errors import UpstreamCutError, UpstreamStatusError, UpstreamUnreachableError
from teto.ports import Upstream

_EVENT_STREAM = "text/event-stream; charset=utf-8"
_REFUSAL = b'{"error": {"message": "slow down"}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """How the cloud behaves, whichever implementation shows it."""

    chunks: Sequence[bytes] = (b"data: 1\n\n", b"data: 2\n\n")
    content_type: str = _EVENT_STREAM
    fault: Literal["none", "refused", "rate", "cut"] = "none"
    gap_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """An upstream in a scene; `left` waits until the cloud has seen that its answer was left."""

    upstream: Upstream
    bodies: Callable[[], list[bytes]]
    left: Callable[[], AbstractAsyncContextManager[None]]


@contextlib.asynccontextmanager
async def stage_fake(scene: Scene) -> AsyncIterator[Staged]:
    """The fake in the scene."""
    fake = FakeUpstream(
        chunks=scene.chunks,
        content_type=scene.content_type,
        cut_after=len(scene.chunks) if scene.fault == "cut" else None,
        delay_s=scene.gap_s,
    )
    if scene.fault == "refused":
        fake.error = UpstreamUnreachableError("refused on purpose", upstream="fake")
    if scene.fault == "rate":
        fake.error = UpstreamStatusError(
            "refused on purpose", upstream="fake", status=429, body=_REFUSAL, retry_after="7"
        )

    @contextlib.asynccontextmanager
    async def left() -> AsyncIterator[None]:
        yield
        assert fake.left_open == 0

    yield Staged(upstream=fake, bodies=lambda: fake.bodies, left=left)


@contextlib.asynccontextmanager
async def stage_http(scene: Scene) -> AsyncIterator[Staged]:
    """The HTTP client, and a server that plays the scene."""
    reply = Reply(
        content_type=scene.content_type,
        chunks=scene.chunks,
        gap_s=scene.gap_s,
        end="cut" if scene.fault == "cut" else "whole",
    )
    if scene.fault == "rate":
        reply = Reply(status=429, headers={"Retry-After": "7"}, chunks=[_REFUSAL])
    async with open_scripted(reply) as server:
        client = connect(closed_port_url() if scene.fault == "refused" else server.base_url)
        yield Staged(
            upstream=client,
            bodies=lambda: [seen.body for seen in server.requests],
            left=lambda: _gone(server),
        )
        await client.close()


@contextlib.asynccontextmanager
async def _gone(server: ScriptedUpstream) -> AsyncIterator[None]:
    yield
    await server.wait_until_gone()


Stage = Callable[[Scene], AbstractAsyncContextManager[Staged]]
both_upstreams = pytest.mark.parametrize("stage", [stage_fake, stage_http], ids=["fake", "http"])


@both_upstreams
async def test_answer_arrives_byte_for_byte(stage: Stage) -> None:
    """The chunks joined are what the cloud sent, in order, and its content type is named as it named it."""
    chunks = [b"data: ol\xc3", b"\xa1\n", b"\ndata: [DONE]\n\n"]
    async with stage(Scene(chunks=chunks)) as staged, staged.upstream.send(b"{}") as answer:
        assert answer.content_type == _EVENT_STREAM
        assert b"".join([chunk async for chunk in answer.chunks()]) == b"".join(chunks)


@both_upstreams
async def test_body_goes_up_unchanged(stage: Stage) -> None:
    """What the cloud receives is the body that was given, whatever its bytes."""
    body = b'{"x": 1.50, "y": "\xc3\xa7", "big": 123456789012345678901234567890}'
    async with stage(Scene()) as staged, staged.upstream.send(body) as answer:
        assert [chunk async for chunk in answer.chunks()]
        assert staged.bodies() == [body]


@both_upstreams
async def test_unreachable_cloud_is_named(stage: Stage) -> None:
    """A cloud that does not answer raises an error that names the upstream."""
    async with stage(Scene(fault="refused")) as staged:
        with pytest.raises(UpstreamUnreachableError) as caught:
            await staged.upstream.send(b"{}").__aenter__()
        assert caught.value.upstream == staged.upstream.facts.name


@both_upstreams
async def test_other_status_keeps_its_body(stage: Stage) -> None:
    """An answer other than 200 raises with the status, the body and the wait that the cloud asked for."""
    async with stage(Scene(fault="rate")) as staged:
        with pytest.raises(UpstreamStatusError) as caught:
            await staged.upstream.send(b"{}").__aenter__()
        assert (caught.value.status, caught.value.body, caught.value.retry_after) == (429, _REFUSAL, "7")


@both_upstreams
async def test_broken_answer_raises_after_what_came(stage: Stage) -> None:
    """A connection that breaks inside an answer gives what had come, then an error, never an end."""
    arrived: list[bytes] = []
    async with stage(Scene(fault="cut")) as staged, staged.upstream.send(b"{}") as answer:
        with pytest.raises(UpstreamCutError):
            await _collect(answer.chunks(), arrived)
    assert b"".join(arrived) == b"data: 1\n\ndata: 2\n\n"


async def _collect(chunks: AsyncIterator[bytes], arrived: list[bytes]) -> None:
    async for chunk in chunks:
        arrived.append(chunk)  # noqa: PERF401 - what came before an error counts


@both_upstreams
async def test_leaving_the_answer_stops_the_work(stage: Stage) -> None:
    """When the context is left in the middle of an answer, the cloud sees it."""
    scene = Scene(chunks=[b"data: x\n\n"] * 1000, gap_s=0.01)
    async with stage(scene) as staged, staged.left(), staged.upstream.send(b"{}") as answer:
        async for chunk in answer.chunks():
            assert chunk
            break


@both_upstreams
async def test_cancelling_the_reader_stops_the_work(stage: Stage) -> None:
    """A reader that is cancelled while it waits for a chunk leaves the answer."""
    async with stage(Scene(chunks=[b"data: x\n\n"] * 1000, gap_s=0.05)) as staged, staged.left():
        reading = asyncio.create_task(_read_all(staged.upstream))
        await asyncio.sleep(0.12)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


async def _read_all(upstream: Upstream) -> None:
    async with upstream.send(b"{}") as answer:
        async for _ in answer.chunks():
            pass


@both_upstreams
async def test_close_without_use_is_no_error(stage: Stage) -> None:
    """An upstream that was never asked can be closed, and closed again."""
    async with stage(Scene()) as staged:
        await staged.upstream.close()
        await staged.upstream.close()
