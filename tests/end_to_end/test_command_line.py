"""The other commands, with a gateway that runs and without one."""

import json
import urllib.request

from tests.end_to_end.cloud import CLOUD_ANSWER, Cloud
from tests.end_to_end.home import Gateway, Home


def test_ask_uses_the_running_gateway(gateway: Gateway, shared_home: Home) -> None:
    """With a gateway running a question goes to it: nothing is loaded, and its ledger has the receipt."""
    ran = shared_home.run("ask", "--model", "teto/local", "--max-tokens", "5", "--json", "Say hello.")
    assert ran.returncode == 0, ran.stderr
    assert "loading" not in ran.stderr
    printed = json.loads(ran.stdout)
    assert printed["answer"]["choices"][0]["message"]["content"]
    assert gateway.get(f"/teto/receipts/{printed['receipt']['id']}") == printed["receipt"]


def test_ask_prints_the_answer_and_its_receipt(gateway: Gateway, shared_home: Home) -> None:
    """Without --json the answer is printed as it comes, then what it cost, with the receipt's id."""
    ran = shared_home.run("ask", "--model", "teto/cloud", "Say hello.")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(CLOUD_ANSWER.replace(" ", ""))
    newest = gateway.get("/teto/receipts?limit=1")["data"][0]
    assert newest["id"] in ran.stdout


def test_ask_works_without_a_gateway(home: Home) -> None:
    """Without a gateway the question starts one for itself; the receipt is kept, and no process is left."""
    ran = home.run("ask", "--model", "teto/local", "--max-tokens", "5", "Say hello.")
    assert ran.returncode == 0, ran.stderr
    assert "loading" in ran.stderr
    (line,) = home.run("receipts", "--json").stdout.strip().split("\n")
    receipt = json.loads(line)
    assert receipt["id"] in ran.stdout
    assert receipt["route"] == "local"
    assert receipt["local"]["output_tokens"] == 5


def test_receipts_as_json_lines(gateway: Gateway, shared_home: Home) -> None:
    """Each line is one receipt as the gateway gives it, the newest first, and --limit is kept."""
    for text in ("One.", "Two."):
        assert shared_home.run("ask", "--model", "teto/cloud", text).returncode == 0
    ran = shared_home.run("receipts", "--json", "--limit", "2")
    found = [json.loads(line) for line in ran.stdout.strip().split("\n")]
    assert found == gateway.get("/teto/receipts?limit=2")["data"]
    assert found[0]["created_s"] >= found[1]["created_s"]
    story = shared_home.run("receipts", "show", found[0]["id"])
    assert story.returncode == 0
    assert found[0]["id"] in story.stdout


def test_the_kill_switch(home: Home, cloud: Cloud) -> None:
    """`teto mode cloud` sends what would be tried here to the cloud from the next request on."""
    question = "Classify the sentiment: 'adorei o atendimento'. Answer positive or negative."
    body = {"model": "teto/auto", "messages": [{"role": "user", "content": question}]}
    with home.serve() as gateway:
        assert home.run("mode").stdout.strip() == "auto"
        assert home.run("mode", "cloud").stdout.strip() == "auto → cloud"
        before = len(cloud.bodies)
        request = urllib.request.Request(  # noqa: S310 - an http URL
            f"{gateway.base_url}/chat/completions",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            assert answer.headers["x-teto-route"] == "cloud"
            receipt = gateway.get(f"/teto/receipts/{answer.headers['x-teto-receipt']}")
        assert len(cloud.bodies) == before + 1
        assert (receipt["mode"], receipt["local"]) == ("cloud", None)


def test_ask_passes_on_what_a_running_gateway_refuses(gateway: Gateway, shared_home: Home) -> None:
    """A refusal of the running gateway is one error, not a reason to start a second engine."""
    assert gateway.base_url
    ran = shared_home.run("ask", "--model", "nobody/knows", "Hello.")
    assert ran.returncode == 5
    assert "'nobody/knows' does not exist here" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "loading" not in ran.stderr
