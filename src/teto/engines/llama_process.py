"""One llama.cpp child process: started, talked to over loopback, and never left behind."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp
import orjson

from teto.errors import EngineDiedError, EngineError

__all__ = ["LlamaProcess", "LlamaSetup", "WaitPolicy", "child_environment"]

WaitPolicy = Literal["active", "passive"]
_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 3.0


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

    def __init__(self, process: asyncio.subprocess.Process, session: aiohttp.ClientSession, log: deque[str]) -> None:
        self._process = process
        self._session = session
        self._log = log
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
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5.0)
        session = aiohttp.ClientSession(
            headers=headers,
            timeout=timeout,
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        child = cls(process, session, deque(maxlen=40))
        try:
            await child._hand_over(setup, key)
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
            line = await asyncio.wait_for(self._process.stdout.readline(), _START_LIMIT_S)
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
        return f"Its log ends: {' | '.join(list(self._log)[-5:])}" if self._log else "It left no log."

    async def _drain_log(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - it was asked for as a pipe
        with contextlib.suppress(ValueError):  # a line longer than the reader's limit
            async for line in self._process.stderr:
                self._log.append(line.decode(errors="replace").strip())
        while await self._process.stderr.read(65536):
            pass

    async def _watch(self) -> None:
        await self._process.wait()
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
            async with asyncio.timeout(timeout_s), self.open(path, body) as answer:
                return await answer.json(content_type=None)
        except TimeoutError:
            raise EngineError(f"The engine did not answer {path} within {timeout_s:g} s.") from None
        except aiohttp.ClientError as error:
            raise await self.explain(error) from None

    @contextlib.asynccontextmanager
    async def open(self, path: str, body: Any) -> Any:
        """Send JSON and leave the answer open; leaving the context closes the connection, which cancels the work."""
        async with self._session.post(f"{self.address}{path}", data=orjson.dumps(body)) as answer:
            if answer.status != 200:
                text = (await answer.text())[:400]
                raise EngineError(f"The engine answered {path} with {answer.status}: {text}.")
            yield answer

    async def explain(self, error: aiohttp.ClientError) -> EngineError:
        """What a broken connection means: the process ended, or the engine is in trouble."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.died.wait(), 1.0)
        if self.died.is_set():
            return self.died_error()
        return EngineError(f"The connection to the engine broke: {error}.", fix="Send the request again.")

    async def stop(self) -> None:
        """End the child: close its standard input, then insist."""
        await self._session.close()
        if self._process.stdin is not None:
            self._process.stdin.close()
        for insist in (None, self._process.terminate, self._process.kill):
            if insist is not None:
                with contextlib.suppress(ProcessLookupError):
                    insist()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.died.wait(), _STOP_LIMIT_S)
                break
        await asyncio.gather(*self._tasks, return_exceptions=True)


def child_environment() -> Mapping[str, str]:
    """The environment that a child gets: this process's own, less what would throttle or redirect OpenMP."""
    dropped = {"OMP_WAIT_POLICY", "OMP_NUM_THREADS", "GOMP_SPINCOUNT", "OMP_PROC_BIND", "OMP_PLACES"}
    return {name: value for name, value in os.environ.items() if name not in dropped}
