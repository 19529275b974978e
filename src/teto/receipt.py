"""A served call with its decision and its price: what ledger, gateway, book and audit share."""

from dataclasses import dataclass
from typing import Literal

from teto.physics.cost import Cost
from teto.physics.energy import Energy
from teto.traffic.tokens import TokenVector
from teto.triage.admission import Reason
from teto.triage.policy import Promise

__all__ = [
    "CloudRun",
    "DecisionRecord",
    "ExtraRun",
    "LocalRun",
    "Phase",
    "Receipt",
    "Route",
    "RunOutcome",
    "Texts",
    "Truth",
]

Route = Literal["local", "cloud", "none"]
RunOutcome = Literal["kept", "discarded", "shadow", "cancelled", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Prefill or decode of one run.

    `bytes_read` and `flops` come from the model's shape and tensors, `ceiling_s` is the least time this device
    could take for them, `bound` names the limit that sets it, or `unexplained` when more than 30 % of the
    measured time is above that limit; the four are None where the engine does not show its model file.
    """

    tokens: int
    seconds: float
    bytes_read: float | None
    flops: float | None
    ceiling_s: float | None
    bound: str | None
    energy: Energy

    @property
    def ceiling_fraction(self) -> float | None:
        """The measured speed as a fraction of the ceiling."""
        if self.ceiling_s is None or self.seconds <= 0:
            return None
        return self.ceiling_s / self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraRun:
    """What the engine was asked beside the answer, to judge it: an empty input, once an instruction, or again."""

    kind: Literal["empty input", "second answer"]
    prompt_tokens: int
    output_tokens: int
    seconds: float
    energy: Energy


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRun:
    """What the engine did for a call, whether or not its answer was used; `extra` is not in its other figures."""

    engine: str
    model: str
    fingerprint: str
    outcome: RunOutcome
    finish_reason: str | None
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    count_source: str
    queue_s: float
    prefill: Phase | None
    decode: Phase | None
    energy: Energy
    answer_sha256: str | None
    note: str = ""
    extra: tuple[ExtraRun, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudRun:
    """What an upstream did for a call."""

    upstream: str
    model: str
    status: int | None
    finish_reason: str | None
    tokens: TokenVector | None
    first_token_s: float | None
    total_s: float
    cost: Cost
    answer_sha256: str | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """Why the call went where it went: the verdict, the code of the reason that settled it, and every reason.

    `promise` is what a threshold rests on, None where nothing is promised. `score_id` names the score that
    `confidence` is of, None for the conservative policy's. `privacy` names the rule that kept the call local-only,
    None where none did.
    """

    verdict: str
    decisive: str
    task: str
    confidence: float | None
    threshold: float | None
    reasons: tuple[Reason, ...]
    language: str = "unknown"
    promise: Promise | None = None
    score_id: str | None = None
    privacy: str | None = None

    @property
    def decisive_text(self) -> str:
        """The reason that settled it, in words."""
        return next((reason.text for reason in self.reasons if reason.code == self.decisive), self.decisive)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known of the local answer: that it agrees with the cloud's, or that somebody judged it.

    `right` is None where a program cannot tell whether the two agree, or nobody has judged it yet.
    `inclusion_fraction` is the probability with which this call was chosen to be known: 1 in observe mode.
    """

    source: Literal["cloud", "label"]
    right: bool | None
    inclusion_fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What was asked and said, kept only where `ledger.keep_texts` is on, and never of private requests.

    An answer is None where it did not end, or nobody gave it.
    """

    asked: str
    local: str | None
    cloud: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """One served call. Times are seconds from its arrival; `created_s` is the Unix time of that.

    `truth` is None unless the call was drawn at random, whatever was decided: an answer that is known because the
    call was escalated says nothing about those that are kept.
    """

    id: str
    created_s: float
    mode: str
    requested_model: str
    stream: bool
    route: Route
    degraded: bool
    status: int
    finish_reason: str | None
    decision: DecisionRecord
    local: LocalRun | None
    cloud: CloudRun | None
    first_token_s: float | None
    total_s: float
    energy: Energy
    cost: Cost
    cost_had_all_gone_up: Cost
    truth: Truth | None = None
    texts: Texts | None = None
