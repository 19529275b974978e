"""What the operator asks of a running gateway: its health, its mode, its receipts."""

import difflib
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any, Final, cast, get_args
from urllib.parse import parse_qs

import msgspec
import orjson

from teto.config import Mode
from teto.errors import AuthenticationError, RequestError, UnknownNameError
from teto.gateway.chat import ChatService
from teto.gateway.parts import ChatParts

__all__ = ["authenticate", "change_mode", "health", "list_receipts", "show_receipt"]

_LOOPBACK_HOST: Final = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?", re.IGNORECASE)
_LOOPBACK_ORIGIN: Final = re.compile(rf"https?://(?:{_LOOPBACK_HOST.pattern})", re.IGNORECASE)
_MOST_RECEIPTS: Final = 10_000


def authenticate(headers: Mapping[str, str], key_digests: tuple[str, ...]) -> None:
    """Let in who has a key; without keys only requests that name this machine, and no page of another site.

    Raises:
        AuthenticationError: no key, a wrong one, or a foreign Host or Origin header.
    """
    if not key_digests:
        if not _LOOPBACK_HOST.fullmatch(headers.get("host", "")):
            raise AuthenticationError(
                f"Without keys only localhost is answered, and the Host header is {headers.get('host')!r}.",
                fix="Call 127.0.0.1 or localhost, or set gateway.api_key_sha256.",
            )
        if not _LOOPBACK_ORIGIN.fullmatch(headers.get("origin", "http://localhost")):
            raise AuthenticationError(
                f"Without keys no foreign web page is answered, and the Origin is {headers['origin']!r}.",
                fix="Set gateway.api_key_sha256, and give the page a key.",
            )
        return
    scheme, _, token = headers.get("authorization", "").partition(" ")
    digest = hashlib.sha256(token.strip().encode()).hexdigest() if scheme.lower() == "bearer" else ""
    # Every digest is compared, in constant time.
    if not any([hmac.compare_digest(digest, known) for known in key_digests]):  # noqa: C419 - see above
        raise AuthenticationError("No key, or one that is not known here.", fix="Send Authorization: Bearer KEY.")


def health(parts: ChatParts, service: ChatService) -> tuple[int, bytes]:
    """Status and body: 200 while an engine or a cloud can answer."""
    engine = parts.engine
    state = engine.state() if engine is not None else None
    ready = state is not None and state.ready
    body = {
        "status": "ok" if ready or parts.upstreams else "unavailable",
        "mode": service.mode,
        "engine": {
            "ready": ready,
            "model": engine.facts.model if engine is not None else None,
            "active": state.active if state is not None else 0,
            "waiting": state.waiting if state is not None else 0,
            "note": state.note if state is not None else parts.engine_note,
        },
        "upstreams": list(parts.upstreams),
        "calibration": None
        if parts.calibration is None
        else {
            "origin": parts.calibration.origin,
            "source": parts.calibration.source,
            "created": parts.calibration.created,
            "n": parts.calibration.n_calibration,
        },
    }
    return (200 if body["status"] == "ok" else 503), orjson.dumps(body)


def drift(parts: ChatParts, service: ChatService) -> bytes:
    """What the drift alarms say, what they test, and what they cannot: /teto/health."""
    status, body = health(parts, service)
    shadows = {
        "shadow_fraction": parts.drift.shadow_fraction,
        "baseline_disagreement": parts.drift.baseline_disagreement,
    }
    return orjson.dumps({**orjson.loads(body), "http_status": status, "drift": {**shadows, **(service.drift or {})}})


def change_mode(service: ChatService, headers: Mapping[str, str], body: bytes) -> bytes:
    """Switch the mode; requests under way keep theirs.

    Raises:
        RequestError: not JSON of the form {"mode": "cloud"}; a web page cannot send that type unasked.
    """
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RequestError("The mode is changed with Content-Type: application/json.", param="mode")
    try:
        wished = msgspec.json.decode(body, type=dict[str, Any]).get("mode")
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise RequestError(f"The body is not a JSON object: {error}.", param="mode") from None
    if wished not in get_args(Mode):
        near = difflib.get_close_matches(str(wished), get_args(Mode), n=1)
        raise RequestError(
            f"mode must be one of {', '.join(get_args(Mode))}, found {wished!r}.",
            fix=f"Did you mean {near[0]}?" if near else None,
            param="mode",
        )
    before, service.mode = service.mode, cast("Mode", wished)
    return orjson.dumps({"mode": service.mode, "before": before})


async def list_receipts(parts: ChatParts, query: str) -> bytes:
    """The newest receipts; `limit` and `since` (Unix seconds) narrow them.

    Raises:
        RequestError: a parameter that is no number in range.
    """
    values = parse_qs(query)
    try:
        limit = int(values.get("limit", ["50"])[0])
        since_s = float(values["since"][0]) if "since" in values else None
    except ValueError:
        raise RequestError("limit must be a whole number and since Unix seconds.", param="limit") from None
    if not 1 <= limit <= _MOST_RECEIPTS:
        raise RequestError(f"limit must be between 1 and {_MOST_RECEIPTS}, found {limit}.", param="limit")
    receipts = await parts.ledger.recent(limit=limit, since_s=since_s)
    return msgspec.json.encode({"object": "list", "data": receipts})


async def show_receipt(parts: ChatParts, receipt_id: str) -> bytes:
    """One receipt.

    Raises:
        UnknownNameError: no receipt has that id.
    """
    receipt = await parts.ledger.find(receipt_id)
    if receipt is None:
        raise UnknownNameError(f"No receipt has the id {receipt_id!r}.", fix="See `teto receipts`.")
    return msgspec.json.encode(receipt)
