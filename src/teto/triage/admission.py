"""Admission: may the local model try, and would the client wait too long for it? Before any token is generated."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from teto.traffic.task import Task
from teto.triage.recognise import Recognition
from teto.wire.chat import ChatRequest

__all__ = ["Admission", "Delay", "LocalFacts", "Reason", "admit", "inability"]

# What a small grammar carries exactly; engines widen anything else in silence, so it is not offered to them.
_SCHEMA_KEYS: Final = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "enum",
        "const",
        "items",
        "title",
        "description",
    }
)
_SCHEMA_DEPTH: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One step of the decision: a stable code, a sentence, and the figures behind it."""

    code: str
    text: str
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFacts:
    """What admission needs to know of the engine and of this prompt on it."""

    capabilities: Collection[str]
    context_tokens: int
    prompt_tokens: int
    cached_tokens: int
    prompt_count_exact: bool
    expected_wait_s: float
    active: int
    prefill_tokens_per_s: float | None
    decode_tokens_per_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """The predicted seconds before a decision: waiting, prefill, and the tokens that are held back.

    `answer_s` is what all tokens of the answer take, those that are held back among them.
    """

    wait_s: float
    prefill_s: float
    hold_back_s: float
    answer_s: float

    @property
    def finish_s(self) -> float:
        """To the end of the answer."""
        return self.wait_s + self.prefill_s + max(self.hold_back_s, self.answer_s)

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.wait_s + self.prefill_s + self.hold_back_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """`able`: the engine can produce such an answer. `closed`: the task is one it may try. `in_time`: soon enough.

    `admissible` does not ask for `in_time`: the limit compares with a cloud, and without one it is moot.
    """

    able: bool
    closed: bool
    in_time: bool
    task: Task
    expected_output_tokens: int
    delay: Delay | None
    reasons: tuple[Reason, ...]

    @property
    def admissible(self) -> bool:
        """Whether the local model may answer at all."""
        return self.able and self.closed

    @property
    def objection(self) -> Reason | None:
        """The gravest reason against a local attempt: the engine cannot, the task is open, or it takes too long."""
        if self.able and self.closed and self.in_time:
            return None
        task, *obstacles, timing = self.reasons
        if obstacles:
            return obstacles[0]
        return timing if self.closed else task


def _plain_schema(schema: Any, depth: int = 0) -> str | None:
    """What in it the grammar may not carry exactly, or None."""
    if isinstance(schema, bool):
        return None
    if depth > _SCHEMA_DEPTH:
        return f"more than {_SCHEMA_DEPTH} levels"
    if not isinstance(schema, dict):
        return "a schema that is not an object"
    for key, value in schema.items():
        if key not in _SCHEMA_KEYS or (key == "type" and not isinstance(value, str)):
            return repr(key)
        inner = list(value.values()) if key == "properties" and isinstance(value, dict) else []
        inner += [value] if key == "items" or (key == "additionalProperties" and value is not False) else []
        for part in inner:
            if found := _plain_schema(part, depth + 1):
                return found
    return None


def inability(request: ChatRequest, capabilities: Collection[str]) -> Reason | None:
    """Why the engine cannot give such an answer, whatever its size; None if it can."""
    fields = request.fields
    if fields.tools or fields.functions:
        return Reason(code="tools", text="The request brings tools; the local model is not offered them.")
    if any(message.has_media for message in request.messages):
        return Reason(code="media", text="A message holds more than text.")
    if fields.seed is not None and not -(2**63) <= fields.seed < 2**63:
        return Reason(code="seed", text="The seed has more than 64 bits.")
    if (fields.n or 1) > 1:
        return Reason(code="several_answers", text=f"{fields.n} answers are asked for.")
    if fields.modalities is not None and fields.modalities != ["text"]:
        return Reason(code="modalities", text="More than text is asked for.")
    form = fields.response_format
    if form is not None and form.get("type") != "text":
        if request.json_schema is None or "schema" not in capabilities:
            return Reason(code="format", text=f"The engine cannot force the format {form.get('type')!r}.")
        if key := _plain_schema(request.json_schema):
            return Reason(code="schema", text=f"The schema uses {key}, which a grammar may not carry exactly.")
    return None


def _fits(request: ChatRequest, facts: LocalFacts, expected_output_tokens: int) -> Reason | None:
    limit = request.output_limit_tokens
    output = min(limit, expected_output_tokens) if limit else expected_output_tokens
    if facts.prompt_tokens + output <= facts.context_tokens:
        return None
    kind = "" if facts.prompt_count_exact else " (estimated)"
    return Reason(
        code="context",
        text=f"The prompt has {facts.prompt_tokens} tokens{kind} and the answer needs {output}: "
        f"the local context holds {facts.context_tokens}.",
        figures={
            "prompt_tokens": facts.prompt_tokens,
            "output_tokens": output,
            "context_tokens": facts.context_tokens,
        },
    )


def _delay(facts: LocalFacts, hold_back_tokens: int, output_tokens: int) -> Delay | None:
    """None when the engine's speed is unknown. Streams that run beside this one share the compute."""
    if facts.prefill_tokens_per_s is None or facts.decode_tokens_per_s is None:
        return None
    share = facts.active + 1
    return Delay(
        wait_s=facts.expected_wait_s,
        prefill_s=share * (facts.prompt_tokens - facts.cached_tokens) / facts.prefill_tokens_per_s,
        hold_back_s=share * hold_back_tokens / facts.decode_tokens_per_s,
        answer_s=share * output_tokens / facts.decode_tokens_per_s,
    )


def _delay_reason(delay: Delay | None, limit_s: float) -> Reason:
    if delay is None:
        return Reason(code="delay_unknown", text="The engine's speed is unknown, so no delay can be promised.")
    figures = {
        "predicted_s": delay.total_s,
        "wait_s": delay.wait_s,
        "prefill_s": delay.prefill_s,
        "hold_back_s": delay.hold_back_s,
        "limit_s": limit_s,
    }
    inside = delay.total_s <= limit_s
    return Reason(
        code="in_time" if inside else "too_slow",
        text=f"Predicted delay {delay.total_s:.2f} s (wait {delay.wait_s:.2f}, prefill {delay.prefill_s:.2f}, "
        f"hold-back {delay.hold_back_s:.2f}), limit {limit_s:g} s.",
        figures=figures,
    )


def admit(
    request: ChatRequest,
    recognition: Recognition,
    facts: LocalFacts,
    *,
    added_delay_limit_s: float,
    hold_back_limit_tokens: int,
) -> Admission:
    """Judge a request by its structure, its size and the engine's speed; every test leaves its reason."""
    closed = recognition.closed
    reasons = [
        Reason(
            code="task_closed" if closed else "task_open",
            text=f"Task {recognition.task} ({recognition.sign}).",
        )
    ]
    expected = recognition.expected_output_tokens
    obstacles = [inability(request, facts.capabilities), _fits(request, facts, expected)]
    reasons += [reason for reason in obstacles if reason is not None]
    held = min(expected, hold_back_limit_tokens, request.output_limit_tokens or expected)
    delay = _delay(facts, held, min(expected, request.output_limit_tokens or expected))
    timing = _delay_reason(delay, added_delay_limit_s)
    return Admission(
        able=not any(obstacles),
        closed=closed,
        in_time=timing.code == "in_time",
        task=recognition.task,
        expected_output_tokens=expected,
        delay=delay,
        reasons=(*reasons, timing),
    )
