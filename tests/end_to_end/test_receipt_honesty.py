"""A receipt says what happened: tokens, seconds and bytes against what the client and the file know."""

import functools
import json
import time
import urllib.request
from math import ceil
from typing import Any

import pytest
from gguf import GGUFReader

from tests.end_to_end.home import Gateway
from tests.smoke_weights import BATCH_TOKENS, smoke_weights

# SmolLM2-135M: 30 layers of 3 KV heads with 64-wide keys and values, in 16 bits.
_KV_TOKEN_BYTES = 30 * 3 * (64 + 64) * 2


def ask(gateway: Gateway, text: str, **fields: Any) -> tuple[dict[str, Any], dict[str, Any], float]:
    """The answer's body, its receipt, and the client's own seconds."""
    body = {"model": "teto/local", "messages": [{"role": "user", "content": text}], **fields}
    request = urllib.request.Request(  # noqa: S310 - an http URL
        f"{gateway.base_url}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    start_s = time.monotonic()
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        content = json.load(answer)
        client_s = time.monotonic() - start_s
        receipt_id = answer.headers["x-teto-receipt"]
        assert answer.headers["x-teto-route"] == "local"
    return content, gateway.get(f"/teto/receipts/{receipt_id}"), client_s


@functools.cache
def tensors() -> dict[str, int]:
    """The bytes of each tensor, from the file itself; reading its whole header takes seconds."""
    return {tensor.name: int(tensor.n_bytes) for tensor in GGUFReader(smoke_weights()).tensors}


def tensor_bytes(prefix: str = "") -> int:
    """The bytes of the tensors whose names begin so."""
    return sum(size for name, size in tensors().items() if name.startswith(prefix))


def test_tokens_seconds_and_bytes_of_a_long_answer(gateway: Gateway) -> None:
    """Tokens equal the body's usage, seconds the client's clock within 5 %, bytes the tensors plus KV by hand."""
    content, receipt, client_s = ask(gateway, "Write a long story about a lighthouse, 1.", max_tokens=120)
    local, usage = receipt["local"], content["usage"]

    assert usage["completion_tokens"] == 120
    assert local["prompt_tokens"] == usage["prompt_tokens"]
    assert local["output_tokens"] == usage["completion_tokens"]
    assert local["cached_tokens"] == usage["prompt_tokens_details"]["cached_tokens"]

    assert receipt["total_s"] == pytest.approx(client_s, rel=0.05)
    assert receipt["total_s"] <= client_s
    parts_s = local["queue_s"] + local["prefill"]["seconds"] + local["decode"]["seconds"]
    assert parts_s == pytest.approx(receipt["total_s"], rel=0.1)

    # Embeddings and head are one table here, so a decode step reads every tensor of the file once.
    weights = tensor_bytes()
    assert weights == 96_576_768
    assert _KV_TOKEN_BYTES == 23_040
    prompt, steps = usage["prompt_tokens"], usage["completion_tokens"] - 1
    read_positions = sum(prompt + step for step in range(1, steps + 1))
    assert local["decode"]["tokens"] == steps
    assert local["decode"]["bytes_read"] == steps * weights + (read_positions + steps) * _KV_TOKEN_BYTES


def test_bytes_of_a_prefill_in_several_batches(gateway: Gateway) -> None:
    """Each batch of a prefill reads the blocks, the head and the cache so far once."""
    text = "Lighthouse number 2. " + "The dog sleeps on the boat. " * 40
    content, receipt, _ = ask(gateway, text, max_tokens=2)
    prefill = receipt["local"]["prefill"]
    cached = receipt["local"]["cached_tokens"]
    fresh = content["usage"]["prompt_tokens"] - cached
    assert fresh > 3 * BATCH_TOKENS
    blocks, head = tensor_bytes("blk."), tensor_bytes("token_embd") + tensor_bytes("output")
    assert blocks + head == tensor_bytes()
    ends = [cached + min(fresh, BATCH_TOKENS * (batch + 1)) for batch in range(ceil(fresh / BATCH_TOKENS))]
    assert prefill["tokens"] == fresh
    assert prefill["bytes_read"] == len(ends) * (blocks + head) + (sum(ends) + fresh) * _KV_TOKEN_BYTES


def test_a_cached_prompt_is_not_paid_twice(gateway: Gateway) -> None:
    """Of a prompt that was just answered only what the cache lacks is prefilled, and so says the receipt."""
    text = "Lighthouse number 3. " + "The cat counts the waves. " * 20
    _, first, _ = ask(gateway, text, max_tokens=2)
    content, second, _ = ask(gateway, text, max_tokens=2)
    assert second["local"]["cached_tokens"] > first["local"]["cached_tokens"]
    assert second["local"]["prefill"]["tokens"] + second["local"]["cached_tokens"] == content["usage"]["prompt_tokens"]
    assert second["local"]["prefill"]["bytes_read"] < first["local"]["prefill"]["bytes_read"]


def test_the_ceiling_is_not_passed_by_much(gateway: Gateway) -> None:
    """Decode is slower than the measured bandwidth allows, but for what caches and a busy probe leave open."""
    _, receipt, _ = ask(gateway, "Write a long story about a lighthouse, 4.", max_tokens=40)
    decode = receipt["local"]["decode"]
    assert decode["ceiling_s"] > 0
    assert decode["ceiling_s"] < 2 * decode["seconds"]
    assert decode["bound"] in {"memory", "compute", "unexplained"}


def test_unknown_is_said_not_zero(gateway: Gateway) -> None:
    """A local answer costs no dollars; energy and cloud price have a source, or are unknown with a reason."""
    _, receipt, _ = ask(gateway, "Hello.", max_tokens=2)
    assert float(receipt["cost"]["usd"]) == 0.0
    for part in (receipt["energy"], receipt["cost_had_all_gone_up"]):
        assert part["note"]
    assert (receipt["energy"]["joules"] is None) == (receipt["energy"]["kind"] == "unknown")
    assert receipt["cost_had_all_gone_up"]["usd"] is None
