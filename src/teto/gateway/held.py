"""A response that nobody sees yet: what a hedged cloud call writes until it is known whether it is wanted."""

from collections.abc import Mapping

from teto.gateway.exchange import Exchange

__all__ = ["HeldOutlet"]


class HeldOutlet:
    """An `Outlet` that keeps what is written, and passes it on once it is released."""

    def __init__(self) -> None:
        self.started = False
        self._held: list[tuple[int, Mapping[str, str]] | bytes] = []
        self._shown: Exchange | None = None
        self._headers: Mapping[str, str] = {}

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the status and headers, or send them."""
        self.started = True
        if self._shown is not None:
            await self._shown.start(status, {**headers, **self._headers})
        else:
            self._held.append((status, headers))

    async def write(self, data: bytes) -> None:
        """Note some of the body, or send it."""
        if self._shown is not None:
            await self._shown.write(data)
        else:
            self._held.append(data)

    async def release(self, shown: Exchange, headers: Mapping[str, str]) -> None:
        """Pass on what was held, and everything from now on; `headers` go over those that were noted."""
        held, self._held, self._headers = self._held, [], headers
        for part in held:
            if isinstance(part, bytes):
                await shown.write(part)
            else:
                status, noted = part
                await shown.start(status, {**noted, **headers})
        self._shown = shown
