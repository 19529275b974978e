"""Authentication alone: who is let in by header and key."""

import hashlib

import pytest

from teto.errors import AuthenticationError
from teto.gateway.control import authenticate


def digest(key: str) -> str:
    """The sha256 of a key as the settings hold it."""
    return hashlib.sha256(key.encode()).hexdigest()


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8377", "127.0.0.1", "127.0.0.1:8377", "127.8.9.10", "[::1]", "[::1]:8377"]
)
def test_this_machine_needs_no_key(host: str) -> None:
    """Without keys, every name of this machine is let in."""
    authenticate({"host": host}, ())


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8377", "192.168.0.2", "::1"],
)
def test_other_names_are_refused_without_keys(host: str) -> None:
    """Without keys, a name that a web page could have been served from is refused."""
    with pytest.raises(AuthenticationError, match="localhost"):
        authenticate({"host": host}, ())


def test_missing_host_is_refused_without_keys() -> None:
    """A request that names no host is not trusted."""
    with pytest.raises(AuthenticationError):
        authenticate({}, ())


@pytest.mark.parametrize("authorization", ["Bearer two", "bearer two", "Bearer  two "])
def test_any_known_key_is_let_in(authorization: str) -> None:
    """Each of several keys opens, under any host, however the scheme is spelt."""
    authenticate({"host": "teto.example", "authorization": authorization}, (digest("one"), digest("two")))


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "two", "Basic two", "Bearer Two", "Bearer one two"])
def test_anything_else_is_refused_with_keys(authorization: str) -> None:
    """With keys, being on this machine does not help, and neither does a digest in place of its key."""
    known = (digest("one"), digest("two"))
    for tried in (authorization, f"Bearer {known[0]}"):
        with pytest.raises(AuthenticationError) as caught:
            authenticate({"host": "localhost", "authorization": tried}, known)
        assert caught.value.http_status == 401
        assert known[0] not in str(caught.value)
