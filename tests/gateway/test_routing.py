"""The router alone: from a name and a mode to what is done."""

import pytest

from tests.fakes import FakeUpstream
from teto.config import Mode, RouteSettings
from teto.errors import UnavailableError, UnknownNameError
from teto.gateway.routing import Router
from teto.ports import UpstreamFacts


def upstream(name: str) -> FakeUpstream:
    """An upstream whose model is called after it."""
    return FakeUpstream(given_facts=UpstreamFacts(name=name, base_url="http://127.0.0.1:9/v1", model=f"{name}-big"))


FIRST, SECOND = upstream("first"), upstream("second")
ROUTES = [
    RouteSettings(match="gpt-4o-mini", to="local"),
    RouteSettings(match="gpt-*", to="auto", upstream="second"),
    RouteSettings(match="claude-[34]*", to="cloud"),
]
ROUTER = Router(ROUTES, {"first": FIRST, "second": SECOND})


@pytest.mark.parametrize(
    ("name", "mode", "course"),
    [
        ("teto/auto", "auto", "auto"),
        ("teto/auto", "observe", "observe"),
        ("teto/auto", "local", "local"),
        ("teto/auto", "cloud", "cloud"),
        ("teto/local", "auto", "local"),
        ("teto/local", "observe", "local"),
        ("teto/local", "local", "local"),
        ("teto/cloud", "auto", "cloud"),
        ("teto/cloud", "observe", "cloud"),
        ("teto/cloud", "cloud", "cloud"),
    ],
)
def test_course_of_a_virtual_name(name: str, mode: Mode, course: str) -> None:
    """Auto follows the mode; local and cloud keep their word, and go to the first upstream's own model."""
    target = ROUTER.resolve(name, mode)
    assert (target.course, target.upstream, target.upstream_model) == (course, FIRST, "first-big")


@pytest.mark.parametrize(
    ("name", "course", "cloud"),
    [("gpt-4o-mini", "local", FIRST), ("gpt-4o", "auto", SECOND), ("claude-3-opus", "cloud", FIRST)],
)
def test_first_route_that_matches_wins(name: str, course: str, cloud: FakeUpstream) -> None:
    """Routes are tried in order, with their own upstream or the first, and the client's name is what is called."""
    target = ROUTER.resolve(name, "auto")
    assert (target.course, target.upstream, target.upstream_model) == (course, cloud, name)


def test_globs_tell_upper_from_lower_case() -> None:
    """A name in another case is another name, on every platform."""
    with pytest.raises(UnknownNameError):
        ROUTER.resolve("GPT-4o", "auto")


@pytest.mark.parametrize(("name", "mode"), [("teto/local", "cloud"), ("gpt-4o-mini", "cloud"), ("teto/cloud", "local")])
def test_promise_is_not_bent_by_the_mode(name: str, mode: Mode) -> None:
    """A name that says local is not answered by a cloud, nor the other way round."""
    with pytest.raises(UnavailableError, match="teto mode auto"):
        ROUTER.resolve(name, mode)


def test_unknown_name_gives_the_nearest() -> None:
    """A name close to a known one is corrected; one close to none gets the whole list."""
    with pytest.raises(UnknownNameError, match=r"teto/auto"):
        ROUTER.resolve("teto-auto", "auto")
    with pytest.raises(UnknownNameError, match=r"teto/auto, teto/local, teto/cloud, gpt-4o-mini"):
        ROUTER.resolve("zzz", "auto")


def test_without_upstreams_there_is_nowhere_to_go_up() -> None:
    """A router without clouds still resolves, to a target that has none."""
    target = Router([], {}).resolve("teto/auto", "auto")
    assert (target.course, target.upstream) == ("auto", None)


def test_names_are_the_virtual_models_and_the_plain_routes() -> None:
    """Globs are not names that a client could pick."""
    assert ROUTER.names == ["teto/auto", "teto/local", "teto/cloud", "gpt-4o-mini"]


@pytest.mark.parametrize(
    ("name", "mode", "course"),
    [
        ("teto/auto", "auto", "private"),
        ("teto/auto", "observe", "private"),
        ("teto/auto", "local", "local"),
        ("teto/auto", "cloud", "refused"),
        ("teto/local", "auto", "local"),
        ("teto/local", "cloud", "refused"),
        ("teto/cloud", "auto", "refused"),
        ("teto/cloud", "local", "refused"),
        ("gpt-4o", "auto", "private"),
        ("gpt-4o-mini", "observe", "local"),
        ("claude-3-opus", "observe", "refused"),
    ],
)
def test_target_of_a_private_request_holds_no_upstream(name: str, mode: Mode, course: str) -> None:
    """Whatever name, route and mode say: who asks for a cloud is refused, everybody else stays here."""
    target = ROUTER.resolve_private(name, mode)
    assert (target.course, target.upstream, target.upstream_model) == (course, None, "")


def test_router_without_upstreams_knows_the_same_names() -> None:
    """A private request may use every name there is, and no name leads to a cloud."""
    closed = ROUTER.without_upstreams()
    assert closed.names == ROUTER.names
    assert [closed.look_up(name)[1] for name in ("teto/auto", "gpt-4o", "claude-3-opus")] == [None, None, None]
    with pytest.raises(UnknownNameError):
        closed.resolve_private("zzz", "auto")
