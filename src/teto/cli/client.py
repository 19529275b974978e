"""What the command line says to a running gateway."""

import os
from typing import TYPE_CHECKING, Any

from teto.errors import TetoError, UnavailableError

if TYPE_CHECKING:
    import aiohttp

    from teto.config import Settings

__all__ = ["call", "headers", "root_url"]


def root_url(settings: "Settings") -> str:
    """Where the settings say that the gateway listens."""
    host = settings.gateway.host
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.gateway.port}"


def headers() -> dict[str, str]:
    """The key from the environment, if there is one."""
    key = os.environ.get("TETO_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


async def call(session: "aiohttp.ClientSession", method: str, url: str, body: Any = None) -> Any:
    """Send JSON to the gateway and read JSON.

    Raises:
        UnavailableError: nothing listens there.
        TetoError: the gateway answered with an error, which is passed on.
    """
    import aiohttp

    try:
        async with session.request(method, url, json=body, headers=headers()) as answer:
            content = await answer.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise UnavailableError(f"No gateway answers at {url}: {error}.", fix="Start one with `teto serve`.") from None
    if answer.status not in {200, 503} or "error" in content:
        raise TetoError(f"The gateway answered {answer.status}: {content.get('error', {}).get('message', content)}")
    return content
