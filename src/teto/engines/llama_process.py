"""One llama.cpp child process: started, talked to over loopback, and never left behind."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp

from teto.engines.engine_http import EngineHttp
from teto.engines.parking import Parking, can_park
from teto.errors import EngineDiedError, EngineError

__all__ = ["LlamaProcess", "LlamaSetup", "WaitPolicy", "child_environment"]

WaitPolicy = Literal["active", "passive"]
_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 3.0
_LOG_LINE_LIMIT = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaSetup:
    """Everything that decides how the child runs; `wait_policy` is what idle OpenMP threads do."""

    weights: Path
    context_tokens: int
    slots: int
    batch_tokens: int
    decode_threads: int
    prefill_threads: int
    wait_policy: WaitPolicy
    repack: bool


class LlamaProcess:
    """A running child. `start` makes it; `died` is set when its process has ended, whoever ended it."""

    def __init__(self, process: asyncio.subprocess.Process, *, key: str) -> None:
        self._process = process
        self._http = EngineHttp({"Authorization": f"Bearer {key}"})
        self._log: deque[str] = deque(maxlen=40)
        self._parking: Parking | None = None
        self.version = ""
        self.died = asyncio.Event()
        self._tasks = {asyncio.create_task(self._drain_log()), asyncio.create_task(self._watch())}

    @classmethod
    async def start(cls, setup: LlamaSetup, *, environment: Mapping[str, str]) -> "LlamaProcess":
        """Start a child and wait until it has loaded the weights.

        Raises:
            EngineError: it could not start; the message ends with the last lines of its log.
        """
        key = secrets.token_urlsafe(24)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "teto.engines.llama_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, "OMP_WAIT_POLICY": setup.wait_policy},
            start_new_session=True,  # Ctrl-C reaches the whole group of the terminal: the parent decides
        )
        child = cls(process, key=key)
        try:
            await child._hand_over(setup, key)
            if setup.wait_policy == "active" and can_park():
                child._parking = Parking(process.pid)
                with child._in_use():
                    pass  # so that it is parked even if nobody asks anything
        except BaseException:
            await child.stop()
            raise
        return child

    async def _hand_over(self, setup: LlamaSetup, key: str) -> None:
        assert self._process.stdin is not None  # noqa: S101 - both were asked for as pipes
        assert self._process.stdout is not None  # noqa: S101
        orders = {**asdict(setup), "weights": str(setup.weights), "key": key}
        with contextlib.suppress(ConnectionError):  # a child that died at once says why below
            self._process.stdin.write(json.dumps(orders).encode() + b"\n")
            await self._process.stdin.drain()
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                line = await self._process.stdout.readline()
        except TimeoutError:
            raise EngineError(
                f"The engine did not load {setup.weights} within {_START_LIMIT_S:.0f} s.",
                fix=self._log_tail(),
            ) from None
        answer = json.loads(line) if line else {"error": "its process ended before it answered"}
        if "error" in answer:
            await asyncio.sleep(0.05)  # the log's last lines are still in the pipe
            raise EngineError(
                f"The engine cannot load {setup.weights}: {answer['error']}.",
                fix=f"Run `teto models verify` and `teto doctor`. {self._log_tail()}",
            )
        self.address, self.version = str(answer["address"]), str(answer["version"])

    def _log_tail(self) -> str:
        return f"Its log ends: {' | '.join(list(self._log)[-5:])}" if self._log else "It left no log"

    async def _drain_log(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - it was asked for as a pipe
        rest = ""
        while chunk := await self._process.stderr.read(65536):  # not by lines: a long one would be an error
            *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
            self._log.extend(line.strip()[-_LOG_LINE_LIMIT:] for line in lines)
            rest = rest[-_LOG_LINE_LIMIT:]
        if rest:
            self._log.append(rest)

    async def _watch(self) -> None:
        await self._process.wait()
        if self._parking is not None:
            self._parking.retire()
        self.died.set()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def died_error(self) -> EngineDiedError:
        """The error of a request that was in flight when the process ended."""
        return EngineDiedError(
            f"The engine's process ended while it worked (exit code {self._process.returncode}).",
            fix=f"It is being restarted; send the request again. {self._log_tail()}",
        )

    async def post_json(self, path: str, body: Any, *, timeout_s: float = 30.0) -> Any:
        """Send JSON and read JSON.

        Raises:
            EngineDiedError: the process ended.
            EngineError: an error of the engine, or no answer in time.
        """
        try:
            with self._in_use():
                return await self._http.call(f"{self.address}{path}", body, timeout_s=timeout_s)
        except aiohttp.ClientError as error:
            raise await self._explain(error) from None

    async def events(
        self,
        path: str,
        body: Any,
        *,
        first_token_timeout_s: float,
        gap_timeout_s: float,
        since_s: float | None = None,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Send JSON and read a stream of events; closing it closes the connection, which cancels the work.

        The first token's limit runs from `since_s`, a time of the loop (None: from now).

        Raises:
            EngineDiedError: the process ended.
            EngineError: an error of the engine, or too long without an event.
        """
        events = self._http.events(
            f"{self.address}{path}",
            body,
            first_token_timeout_s=first_token_timeout_s,
            gap_timeout_s=gap_timeout_s,
            since_s=since_s,
        )
        try:
            with self._in_use():
                async with contextlib.aclosing(events):
                    async for event in events:
                        yield event
        except aiohttp.ClientError as error:
            raise await self._explain(error) from None
        if self.died.is_set():
            raise self.died_error()

    def _in_use(self) -> contextlib.AbstractContextManager[None]:
        return self._parking.use() if self._parking is not None else contextlib.nullcontext()

    async def _explain(self, error: aiohttp.ClientError) -> EngineError:
        """What a broken connection means: the process ended, or the engine is in trouble."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self.died.wait()
        if self.died.is_set():
            return self.died_error()
        return EngineError(f"The connection to the engine broke: {error}.", fix="Send the request again.")

    async def stop(self) -> None:
        """End the child: close its standard input, then insist."""
        if self._parking is not None:
            self._parking.wake()
        await self._http.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        for insist in (None, self._process.terminate, self._process.kill):
            if insist is not None:
                with contextlib.suppress(ProcessLookupError):
                    insist()
            # Not wait_for: before Python 3.12 it swallows a cancellation that comes just as the child ends.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_LIMIT_S):
                    await self.died.wait()
                break
        await asyncio.gather(*self._tasks, return_exceptions=True)


def child_environment() -> Mapping[str, str]:
    """The environment that a child gets: this process's own, less what steers OpenMP and what looks like a secret."""
    steering = {"OMP_WAIT_POLICY", "OMP_NUM_THREADS", "GOMP_SPINCOUNT", "OMP_PROC_BIND", "OMP_PLACES"}
    secret = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in steering and not any(word in name.upper() for word in secret)
    }
