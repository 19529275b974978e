"""The real clock."""

import asyncio
import time

__all__ = ["SystemClock"]


class SystemClock:
    """The `Clock` port on the machine's monotonic nanosecond clock."""

    def monotonic_s(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic_ns() / 1e9

    def unix_s(self) -> float:
        """Seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the loop."""
        await asyncio.sleep(seconds)
