"""The child process of the embedded engine: how it starts, what it hides, and how it ends."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.smoke_weights import child_key, run, smoke_process, smoke_setup, smoke_weights
from teto.engines.llama_process import LlamaProcess, child_environment
from teto.errors import EngineDiedError, EngineError

_PARENT = """
import asyncio, sys
from pathlib import Path
from teto.engines.llama_process import LlamaProcess, child_environment
from tests.smoke_weights import smoke_setup

async def main() -> None:
    child = await LlamaProcess.start(smoke_setup(Path(sys.argv[1])), environment=child_environment())
    print(child.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def engine_children() -> list[psutil.Process]:
    """The engines that this process has started and that still run."""
    return [child for child in psutil.Process().children() if "teto.engines.llama_child" in child.cmdline()]


def is_gone(pid: int) -> bool:
    """Whether the process has ended; one that only waits to be reaped by somebody else has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(pid: int, *, limit_s: float) -> bool:
    """Whether the process ends within that time."""
    end_s = time.monotonic() + limit_s
    while not is_gone(pid) and time.monotonic() < end_s:
        time.sleep(0.02)
    return is_gone(pid)


def test_corrupt_weights_are_named(tmp_path: Path) -> None:
    """Weights that are cut short are an error that names the file and the commands that help, and no child stays."""
    cut = tmp_path / "cut.gguf"
    with smoke_weights().open("rb") as whole:
        cut.write_bytes(whole.read(2_000_000))

    async def main() -> None:
        with pytest.raises(EngineError, match=r"cut\.gguf") as caught:
            await LlamaProcess.start(smoke_setup(cut), environment=child_environment())
        assert "teto models verify" in str(caught.value)

    run(main())
    assert not engine_children()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A path without a file is an error with the path."""

    async def main() -> None:
        with pytest.raises(EngineError, match=r"none\.gguf"):
            await LlamaProcess.start(smoke_setup(tmp_path / "none.gguf"), environment=child_environment())

    run(main())


def test_a_start_that_is_cancelled_leaves_no_child() -> None:
    """Cancelling the start, as Ctrl-C does while weights load, ends the child."""

    async def main() -> None:
        start = asyncio.create_task(LlamaProcess.start(smoke_setup(), environment=child_environment()))
        await asyncio.sleep(0.2)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start

    run(main())
    assert not engine_children()


def test_without_the_key_nothing_is_answered() -> None:
    """A process of this machine that does not know the key gets 401, with a wrong one too; the owner gets tokens."""

    async def main() -> None:
        async with smoke_process() as child, aiohttp.ClientSession() as stranger:
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                for path in ("/completion", "/tokenize", "/v1/chat/completions"):
                    body = {"prompt": "a", "content": "a", "messages": []}
                    async with stranger.post(f"{child.address}{path}", json=body, headers=headers) as answer:
                        assert answer.status == 401
            assert (await child.post_json("/tokenize", {"content": "a"}))["tokens"]

    run(main())


def test_it_listens_on_loopback_only() -> None:
    """Every listening socket of the child is on 127.0.0.1."""

    async def main() -> list[str]:
        async with smoke_process() as child:
            connections = psutil.Process(child.pid).net_connections(kind="inet")
            return [str(one.laddr.ip) for one in connections if one.status == psutil.CONN_LISTEN and one.laddr]

    assert set(run(main())) == {"127.0.0.1"}


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system shows no process's environment")
def test_the_key_is_in_no_argument_and_no_environment() -> None:
    """What every user of the machine may read of a process does not hold the key."""

    async def main() -> None:
        async with smoke_process() as child:
            key = child_key(child).encode()
            assert len(key) > 20
            for name in ("cmdline", "environ"):
                content = await asyncio.to_thread(Path(f"/proc/{child.pid}/{name}").read_bytes)
                assert content
                assert key not in content

    run(main())


def test_two_children_have_two_keys() -> None:
    """A key is made anew for every child."""

    async def main() -> None:
        async with smoke_process() as first, smoke_process() as second:
            assert child_key(first) != child_key(second)
            assert first.address != second.address

    run(main())


def test_it_has_a_session_of_its_own() -> None:
    """Ctrl-C, which reaches the terminal's whole process group, does not reach the child."""

    async def main() -> None:
        async with smoke_process() as child:
            assert os.getsid(child.pid) == child.pid
            assert os.getpgid(child.pid) != os.getpgid(0)

    run(main())


def test_what_would_slow_openmp_is_not_passed_on() -> None:
    """The child's OpenMP settings are teto's own, whatever the user has exported."""

    async def main() -> dict[str, str]:
        environment = {**child_environment(), "OMP_WAIT_POLICY": "active"}
        child = await LlamaProcess.start(smoke_setup(), environment=environment)
        try:
            return psutil.Process(child.pid).environ()
        finally:
            await child.stop()

    found = run(main())
    assert found["OMP_WAIT_POLICY"] == "passive"
    assert "OMP_NUM_THREADS" not in child_environment()


def test_a_parent_killed_without_warning_leaves_no_orphan() -> None:
    """When the parent gets SIGKILL the child ends by itself within three seconds."""
    command = [sys.executable, "-c", _PARENT, str(smoke_weights())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as parent:
        assert parent.stdout is not None
        child_pid = int(parent.stdout.readline())
        assert not is_gone(child_pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=10)
        assert wait_until_gone(child_pid, limit_s=3.0)


def test_stop_is_quick_and_may_be_called_again() -> None:
    """A child ends well before stop has to insist, and stopping twice, or twice at once, is no error."""

    async def main() -> None:
        async with smoke_process() as child:
            start_s = time.monotonic()
            await asyncio.gather(child.stop(), child.stop())
            assert time.monotonic() - start_s < 2.5
            assert is_gone(child.pid)
            assert child.died.is_set()
            await child.stop()
            with pytest.raises(EngineDiedError):
                await child.post_json("/tokenize", {"content": "a"})

    run(main())


def test_stop_while_it_works_is_quick() -> None:
    """A child that generates ends as quickly as an idle one, and the request in flight gets an error."""

    async def main() -> None:
        async with smoke_process() as child:
            body = {"prompt": "once upon", "n_predict": 1500, "ignore_eos": True}
            work = asyncio.create_task(child.post_json("/completion", body))
            await asyncio.sleep(0.3)
            start_s = time.monotonic()
            await child.stop()
            assert time.monotonic() - start_s < 2.5
            with pytest.raises(EngineError):
                await work

    run(main())


def test_a_killed_child_is_noticed() -> None:
    """When the child is killed `died` is set, a request then says so, and stop is no error."""

    async def main() -> None:
        async with smoke_process() as child:
            os.kill(child.pid, signal.SIGKILL)
            await asyncio.wait_for(child.died.wait(), 5)
            with pytest.raises(EngineDiedError, match="exit code -9"):
                await child.post_json("/tokenize", {"content": "a"})

    run(main())


def test_an_error_of_the_engine_is_told_in_its_words() -> None:
    """A request that the engine refuses is an EngineError with the path, the status and the engine's text."""

    async def main() -> None:
        async with smoke_process() as child:
            with pytest.raises(EngineError, match="/completion with 400"):
                await child.post_json("/completion", {"prompt": [1], "grammar": "not a grammar"})

    run(main())


def test_an_answer_that_takes_too_long_is_an_error() -> None:
    """The limit of a request holds for its whole answer."""

    async def main() -> None:
        async with smoke_process() as child:
            body = {"prompt": "once upon", "n_predict": 1500, "ignore_eos": True}
            with pytest.raises(EngineError, match=r"within 0\.2 s"):
                await child.post_json("/completion", body, timeout_s=0.2)

    run(main())


def test_a_log_with_very_long_lines_is_read_to_its_end() -> None:
    """Lines of a megabyte, without an end or in broken UTF-8, neither block the child nor hide what comes after."""
    talk = (
        "import sys; e = sys.stderr.buffer; e.write(b'a' * 1_000_000 + b'\\n' + b'\\xff\\xfe\\n' + b'b' * 1_000_000);"
        "e.write(b'\\n' * 3 + b'last words')"
    )

    async def main() -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            talk,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        child = LlamaProcess(process, key="none")
        await asyncio.wait_for(child.died.wait(), 20)
        await child.stop()
        return str(child.died_error())

    message = run(main())
    assert "last words" in message
    assert len(message) < 20_000
