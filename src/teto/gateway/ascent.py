"""The cloud's side of a request's life: asked at once or beside the local model, relayed, accounted for."""

import asyncio
from dataclasses import replace

from teto.errors import UnavailableError, UpstreamError, UpstreamStatusError, UpstreamUnreachableError
from teto.gateway.breaker import Breaker
from teto.gateway.cloud import CloudAttempt
from teto.gateway.exchange import Closing, Exchange, Outlet
from teto.gateway.held import HeldOutlet
from teto.gateway.parts import ChatParts
from teto.gateway.routing import Target
from teto.gateway.served import ServedCall
from teto.gateway.shared import Clouds
from teto.ports import Upstream

__all__ = ["Ascent"]


class _Hedge:
    """A cloud call that was started before it was known whether it is wanted."""

    def __init__(self, call: ServedCall) -> None:
        self.call = call  # a copy: what happens up there is taken over only when it is wanted
        self.outlet = HeldOutlet()
        self.task: asyncio.Task[Closing] | None = None


class Ascent:
    """Writes what the cloud did into the call; knows nothing of the local model."""

    def __init__(self, parts: ChatParts, clouds: Clouds, call: ServedCall, target: Target) -> None:
        self._parts = parts
        self._clouds = clouds
        self._call = call
        self._target = target
        self._hedge: _Hedge | None = None

    def open_cloud(self) -> Upstream | None:
        """The cloud this request may go up to now; None, with its reason noted, when there is none."""
        cloud = self._target.upstream
        if cloud is None:
            self._call.note("no_cloud", "No cloud is configured.")
            return None
        breaker = self._clouds.breakers[cloud.facts.name]
        if breaker.is_open:
            self._call.note("cloud_down", _is_down(cloud, breaker))
            return None
        return cloud

    def required_cloud(self) -> Upstream:
        """That cloud.

        Raises:
            UnavailableError: there is none now.
        """
        cloud = self.open_cloud()
        if cloud is None:
            raise UnavailableError(
                f"Only a cloud may answer this: {self._call.reasons[-1].text}",
                fix=f"{self.advice}.",
            )
        return cloud

    @property
    def advice(self) -> str:
        """What the operator or the client may do when no cloud answers."""
        return "Add an [upstreams.NAME] table to teto.toml" if self._target.upstream is None else "Try again soon"

    def finish_s(self, cloud: Upstream, output_tokens: int) -> float | None:
        """Predicted seconds of a call from now; None while too few were seen."""
        return self._clouds.paces[cloud.facts.name].finish_s(output_tokens)

    async def go_up(self, cloud: Upstream, exchange: Exchange) -> Closing:
        """Relay the cloud's answer, that of the hedge if one was started.

        Raises:
            UpstreamError: before or after the response has started; `exchange.started` tells which.
        """
        hedge, self._hedge = self._hedge, None
        if hedge is None or hedge.task is None:
            closing = await self._send(cloud, self._call, exchange)
        else:
            self._call.route = "cloud"
            released_s = self._parts.clock.monotonic_s() - self._call.arrived_s
            try:
                await hedge.outlet.release(exchange, self._call.headers)
                closing = await hedge.task
            finally:
                await _stopped(hedge.task)
                self._call.cloud, self._call.cloud_text = hedge.call.cloud, hedge.call.cloud_text
            if hedge.call.first_token_s is not None:
                self._call.first_token_s = max(released_s, hedge.call.first_token_s)
        self._call.route = "cloud"
        self._call.finish_reason = self._call.cloud.finish_reason if self._call.cloud is not None else None
        return closing

    def start_hedge(self, cloud: Upstream, why: str) -> None:
        """Ask the cloud beside the local model; what it says is held until it is wanted."""
        self._call.note("hedged", why)
        self._hedge = hedge = _Hedge(replace(self._call, reasons=[]))
        hedge.task = asyncio.create_task(self._send(cloud, hedge.call, hedge.outlet))

    async def drop_hedge(self) -> None:
        """Stop the hedge, if there is one; what it cost stays in the call."""
        hedge, self._hedge = self._hedge, None
        if hedge is not None and hedge.task is not None:
            await _stopped(hedge.task)
            self._call.cloud = hedge.call.cloud

    async def ask_unseen(self, cloud: Upstream) -> None:
        """Ask for an answer that no client sees, to compare; failures are written down, never raised."""
        beside = replace(self._call, reasons=[], first_token_s=None)
        try:
            await self._send(cloud, beside, HeldOutlet())
        except UpstreamError as error:
            self._call.note("shadow_failed", f"The shadow's call failed: {error}")
        self._call.cloud, self._call.cloud_text = beside.cloud, beside.cloud_text

    async def _send(self, cloud: Upstream, call: ServedCall, outlet: Outlet) -> Closing:
        breaker = self._clouds.breakers[cloud.facts.name]
        if not breaker.allows():
            raise UpstreamUnreachableError(_is_down(cloud, breaker), upstream=cloud.facts.name)
        attempt = CloudAttempt(call, self._target, cloud, clock=self._parts.clock, price=self._parts.price)
        note = "cancelled"
        try:
            closing = await attempt.relay(outlet)
            note = ""
        except UpstreamError as error:
            note = str(error)
            if isinstance(error, UpstreamStatusError) and error.status < 500:
                breaker.succeeded()  # it answers at once: nobody has to be spared the wait
            else:
                breaker.failed(error.message)
            raise
        finally:
            call.cloud, call.cloud_text = attempt.account(note), attempt.text
        breaker.succeeded()
        self._clouds.paces[cloud.facts.name].saw(call.cloud)
        return closing


async def _stopped(task: asyncio.Task[Closing]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _is_down(cloud: Upstream, breaker: Breaker) -> str:
    return f"The cloud {cloud.facts.name!r} is down and is retried soon. The last answer was: {breaker.cause}"
