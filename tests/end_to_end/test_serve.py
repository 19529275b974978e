"""`teto serve` as a process: what it prints, how it stops, and what happens when parts of it are killed."""

import json
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from http.client import HTTPResponse
from typing import Any, cast

import psutil
import pytest

from tests.end_to_end.cloud import CLOUD_ANSWER
from tests.end_to_end.home import Gateway, Home, is_gone, until
from tests.smoke_weights import WEIGHTS_ID

_STORY = "Write a very long story about a dog, a cat and a boat."
# A closed task of 180 words and about 1,700 tokens, because each digit is one: its prefill takes seconds.
_LONG_REVIEW = "Is this review positive or negative? Answer with one word. Review: " + "48213750 " * 180


def post(gateway: Gateway, model: str, text: str, **fields: Any) -> HTTPResponse:
    """The open answer to a chat request."""
    body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
    request = urllib.request.Request(  # noqa: S310 - an http URL
        f"{gateway.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    return cast("HTTPResponse", urllib.request.urlopen(request, timeout=60))  # noqa: S310


def test_it_prints_what_a_newcomer_needs(gateway: Gateway) -> None:
    """The base URL, the model names and the cloud are printed, and the weights that were loaded."""
    printed = gateway.printed.read_text()
    assert gateway.base_url in printed
    assert "models: teto/auto, teto/local, teto/cloud" in printed
    assert "cloud: cloud (big-1)" in printed
    assert WEIGHTS_ID in printed


def test_the_printed_curl_line_works(gateway: Gateway) -> None:
    """The shell runs the printed line as it stands, and what comes back is a chat completion."""
    (line,) = (line for line in gateway.printed.read_text().split("\n") if line.lstrip().startswith("curl"))
    ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, timeout=60)
    answer = json.loads(ran.stdout)
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["content"]


def test_a_port_that_is_taken(home: Home) -> None:
    """If somebody listens on the port it says so before anything slow, with its own exit code."""
    with socket.create_server(("127.0.0.1", home.port)):
        start_s = time.monotonic()
        ran = home.run("serve")
    assert ran.returncode == 6
    assert f"127.0.0.1:{home.port} cannot be listened on" in ran.stderr
    assert "--port" in ran.stderr
    assert time.monotonic() - start_s < 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_it_stops_cleanly(home: Home, number: signal.Signals) -> None:
    """SIGTERM, and Ctrl-C for its whole group, end it with exit code 0 and nothing left, without a traceback."""
    with home.serve() as gateway:
        with post(gateway, "teto/local", "Hello.", max_tokens=2) as answer:
            answer.read()
        assert gateway.end(number) == (0, [])
        printed = gateway.printed.read_text()
    assert "Traceback" not in printed
    assert printed.rstrip().endswith("teto: stopping")


def test_it_stops_while_it_answers(home: Home) -> None:
    """SIGTERM during a long answer ends it within seconds, with exit code 0 and nothing left."""
    with home.serve() as gateway, post(gateway, "teto/local", _STORY, max_tokens=1500, stream=True) as answer:
        assert answer.readline()
        start_s = time.monotonic()
        assert gateway.end(signal.SIGTERM) == (0, [])
        assert time.monotonic() - start_s < 12


def test_killed_it_leaves_no_child(home: Home) -> None:
    """SIGKILL, which no process can handle, still leaves no engine behind."""
    with home.serve() as gateway:
        assert gateway.end(signal.SIGKILL) == (-9, [])


def kill_engine_when_active(gateway: Gateway) -> int:
    """Kill the engine a moment after it has begun to work; its process id."""
    until(gateway.engine_is_active, limit_s=20)
    time.sleep(0.3)
    pid = gateway.engine_pid()
    psutil.Process(pid).kill()
    return pid


def test_engine_killed_before_anything_was_released(home: Home) -> None:
    """If the engine dies while its answer is held back the cloud answers, the receipt says so, and it comes back."""
    with home.serve() as gateway:
        killed: list[int] = []
        killer = threading.Thread(target=lambda: killed.append(kill_engine_when_active(gateway)))
        killer.start()
        try:
            with post(gateway, "teto/auto", _LONG_REVIEW) as answer:
                content, headers = json.load(answer), answer.headers
        finally:
            killer.join()
        assert content["choices"][0]["message"]["content"] == CLOUD_ANSWER
        assert headers["x-teto-route"] == "cloud"
        receipt = gateway.get(f"/teto/receipts/{headers['x-teto-receipt']}")
        assert "engine_died" in {reason["code"] for reason in receipt["decision"]["reasons"]}
        assert (receipt["route"], receipt["local"]["outcome"]) == ("cloud", "failed")
        until(gateway.engine_is_ready, limit_s=10)
        assert is_gone(killed[0])
        with post(gateway, "teto/local", "Hello.", max_tokens=2) as answer:
            assert json.load(answer)["choices"][0]["finish_reason"] == "length"


def test_engine_killed_mid_stream(home: Home) -> None:
    """If the engine dies after the answer began the stream ends with an error event and no end mark."""
    with home.serve() as gateway, post(gateway, "teto/local", _STORY, max_tokens=1500, stream=True) as answer:
        assert answer.headers["x-teto-route"] == "local"
        lines = [answer.readline() for _ in range(8)]
        psutil.Process(gateway.engine_pid()).kill()
        lines += answer.read().split(b"\n")
        data = [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]
        assert json.loads(data[-1])["error"]["code"] == "engine_died"
        assert b"[DONE]" not in data
        receipt = gateway.get(f"/teto/receipts/{answer.headers['x-teto-receipt']}")
        assert receipt["local"]["outcome"] == "failed"
        assert receipt["local"]["output_tokens"] > 0


def test_engine_killed_and_nothing_else_may_answer(home: Home) -> None:
    """If the engine dies on a request that must stay here the client gets an error with the reason, never a hang."""
    with home.serve() as gateway:
        killer = threading.Thread(target=kill_engine_when_active, args=(gateway,))
        killer.start()
        try:
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(gateway, "teto/local", _STORY, max_tokens=1500)
            with caught.value as answer:
                error = json.load(answer)["error"]
        finally:
            killer.join()
        assert caught.value.code == 503
        assert error["code"] == "engine_died"
