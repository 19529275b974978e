"""From a model name and the mode to what is done with the request."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final, Literal

from teto.config import Mode, RouteSettings
from teto.errors import UnavailableError, UnknownNameError
from teto.ports import Upstream

__all__ = ["VIRTUAL_MODELS", "Course", "Router", "Target"]

Course = Literal["auto", "observe", "local", "cloud", "private", "refused"]
VIRTUAL_MODELS: Final[Mapping[str, Literal["auto", "local", "cloud"]]] = {
    "teto/auto": "auto",
    "teto/local": "local",
    "teto/cloud": "cloud",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is done with a request, the cloud it may go up to, and the name that is called there.

    `private` and `refused` are courses of a request that may not leave: its target holds no upstream. `hedge_above`
    is the route's own, None where it has none.
    """

    course: Course
    upstream: Upstream | None
    upstream_model: str
    hedge_above: float | None = None


class Router:
    """Knows the virtual models and the operator's routes."""

    def __init__(self, routes: Sequence[RouteSettings], upstreams: Mapping[str, Upstream]) -> None:
        self._routes = routes
        self._upstreams = upstreams

    @property
    def names(self) -> list[str]:
        """The model names for a list: virtual ones, and routes that are plain names."""
        plain = [route.match for route in self._routes if not any(char in route.match for char in "*?[")]
        return [*VIRTUAL_MODELS, *plain]

    def resolve(self, model: str, mode: Mode) -> Target:
        """The target of a model name in a mode.

        Raises:
            UnknownNameError: no virtual model and no route has that name.
            UnavailableError: the name asks for what the mode has switched off.
        """
        wish, upstream, upstream_model = self.look_up(model)
        return Target(
            course=_course(wish, mode, model),
            upstream=upstream,
            upstream_model=upstream_model,
            hedge_above=None if model in VIRTUAL_MODELS else self._route(model).hedge_above,
        )

    def resolve_private(self, model: str, mode: Mode) -> Target:
        """The target of a request that may not leave: it holds no upstream, whatever name, route and mode say.

        Raises:
            UnknownNameError: no virtual model and no route has that name.
        """
        wish, _, _ = self.look_up(model)
        course: Course = "private"
        if "cloud" in {wish, mode}:
            course = "refused"
        elif "local" in {wish, mode}:
            course = "local"
        return Target(course=course, upstream=None, upstream_model="")

    def without_upstreams(self) -> "Router":
        """A router of the same names that knows no upstream."""
        return Router([replace(route, upstream="") for route in self._routes], {})

    def look_up(self, model: str) -> tuple[Literal["auto", "local", "cloud"], Upstream | None, str]:
        """What a name wishes for, the cloud it may go up to, and its name there.

        Raises:
            UnknownNameError: no virtual model and no route has that name.
        """
        first = next(iter(self._upstreams.values()), None)
        if model in VIRTUAL_MODELS:
            return VIRTUAL_MODELS[model], first, first.facts.model if first else ""
        route = self._route(model)
        return route.to, self._upstreams[route.upstream] if route.upstream else first, model

    def _route(self, model: str) -> RouteSettings:
        for route in self._routes:
            if fnmatchcase(model, route.match):
                return route
        known = [*VIRTUAL_MODELS, *(route.match for route in self._routes)]
        near = difflib.get_close_matches(model, known, n=3, cutoff=0.4) or known
        raise UnknownNameError(
            f"The model {model!r} does not exist here; the nearest are {', '.join(near)}.",
            fix="Use one of those, or add a [[routes]] table for the name to teto.toml.",
        )


def _course(wish: Literal["auto", "local", "cloud"], mode: Mode, model: str) -> Course:
    # A name that says local may be a promise of privacy, one that says cloud one of quality: neither is bent.
    if wish == "local" and mode == "cloud":
        raise UnavailableError(f"{model!r} is local only, and the mode is cloud.", fix="Run `teto mode auto`.")
    if wish == "cloud" and mode == "local":
        raise UnavailableError(f"{model!r} is cloud only, and the mode is local.", fix="Run `teto mode auto`.")
    return mode if wish == "auto" else wish
