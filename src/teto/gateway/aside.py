"""Runs beside an attempt, whose answers nobody sees: they help to judge the one that may be kept."""

from collections import OrderedDict
from typing import Final, Literal

from teto.gateway.local import LocalAttempt, LocalTools
from teto.ports import PromptCount
from teto.receipt import ExtraRun
from teto.triage.empty_input import EMPTY_OUTPUT_TOKENS, emptied
from teto.triage.score import SECOND_MOST_TOKENS, second_request
from teto.wire.chat import ChatRequest
from teto.wire.generation import TokenLogprob

__all__ = ["Asides", "EmptyInputs"]

_MOST_REMEMBERED: Final = 1000
_UNCOUNTED: Final = PromptCount(tokens=0, cached_tokens=0, exact=False)


class EmptyInputs:
    """What the engine said to instructions without their text: asked once, remembered for the last thousand."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, tuple[TokenLogprob, ...]] = OrderedDict()

    def get(self, key: bytes) -> tuple[TokenLogprob, ...] | None:
        """The answer to that instruction, if it was asked."""
        found = self._known.get(key)
        if found is not None:
            self._known.move_to_end(key)
        return found

    def put(self, key: bytes, tokens: tuple[TokenLogprob, ...]) -> None:
        """Remember an answer."""
        self._known[key] = tokens
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)


class Asides:
    """The runs beside one call's attempt; `runs` is what they cost. Only to be asked once the attempt has ended."""

    def __init__(self, tools: LocalTools, remembered: EmptyInputs) -> None:
        self._tools = tools
        self._remembered = remembered
        self.runs: list[ExtraRun] = []

    async def empty(self, request: ChatRequest) -> tuple[TokenLogprob, ...] | None:
        """The answer's tokens to the request without its given text; None where none was found in it.

        Raises:
            EngineError: the engine cannot answer now.
        """
        without = emptied(request)
        if without is None:
            return None
        key = bytes(without.raw["messages"]) + bytes(without.raw.get("response_format", b""))
        known = self._remembered.get(key)
        if known is None:
            attempt = await self._run("empty input", without, EMPTY_OUTPUT_TOKENS)
            known = tuple(token for piece in attempt.pieces for token in piece.tokens)
            self._remembered.put(key, known)
        return known

    async def second(self, request: ChatRequest) -> str:
        """Another answer to the same request, drawn at random.

        Raises:
            EngineError: the engine cannot answer now.
        """
        return (await self._run("second answer", second_request(request), 2 * SECOND_MOST_TOKENS)).text

    async def _run(
        self, kind: Literal["empty input", "second answer"], request: ChatRequest, limit_tokens: int
    ) -> LocalAttempt:
        attempt = LocalAttempt(request, self._tools, output_limit_tokens=limit_tokens)
        try:
            await attempt.hold_back(None)
        finally:
            await attempt.stop()
            run = attempt.account("discarded", count=_UNCOUNTED)
            self.runs.append(
                ExtraRun(
                    kind=kind,
                    prompt_tokens=run.prompt_tokens,
                    output_tokens=run.output_tokens,
                    seconds=sum(phase.seconds for phase in (run.prefill, run.decode) if phase is not None),
                    energy=run.energy,
                )
            )
        return attempt
