"""A call while it is being served: what happened so far, from which the receipt is made."""

from dataclasses import dataclass, field

from teto.config import Mode
from teto.errors import TetoError
from teto.receipt import CloudRun, LocalRun, Route, Truth
from teto.traffic.task import Task
from teto.triage.admission import Reason
from teto.triage.policy import Promise
from teto.wire.chat import ChatRequest

__all__ = ["ServedCall"]


@dataclass(slots=True, kw_only=True)
class ServedCall:
    """Filled in along the way; `arrived_s` is monotonic, `created_s` is Unix time."""

    id: str
    request: ChatRequest
    mode: Mode
    arrived_s: float
    created_s: float
    route: Route = "none"
    verdict: str = "none"
    degraded: bool = False
    status: int = 200
    finish_reason: str | None = None
    task: Task = Task.UNKNOWN
    language: str = "unknown"
    confidence: float | None = None
    threshold: float | None = None
    promise: Promise | None = None
    score_id: str | None = None
    reasons: list[Reason] = field(default_factory=list)
    decisive: str = "none"  # the code of the reason that settled it
    privacy: str | None = None  # the rule that keeps it here
    local: LocalRun | None = None
    cloud: CloudRun | None = None
    first_token_s: float | None = None
    truth: Truth | None = None
    deadline_s: float | None = None  # from its arrival
    local_text: str | None = None  # of whole answers, for comparing; never written down
    cloud_text: str | None = None
    total_s: float | None = None  # set once: a shadow that ends later does not make the answer slower

    def keep_here(self, rule: str, reason: Reason) -> None:
        """A rule of privacy keeps it here, for this reason."""
        self.privacy = rule
        self.reasons.append(reason)
        self.decisive = reason.code

    def note(self, code: str, text: str) -> None:
        """Add a reason that settles the call, until a later one does."""
        self.reasons.append(Reason(code=code, text=text))
        self.decisive = code

    def adopt(self, shadow: "ServedCall") -> None:
        """Take over what was decided beside it, while the cloud answered."""
        self.verdict, self.local, self.local_text = shadow.verdict, shadow.local, shadow.local_text
        self.task, self.language = shadow.task, shadow.language
        self.confidence, self.threshold = shadow.confidence, shadow.threshold
        self.promise, self.score_id = shadow.promise, shadow.score_id
        self.reasons += shadow.reasons

    def fail(self, error: TetoError, status: int) -> None:
        """The call ends with an error."""
        self.status = status
        if not self.reasons or self.reasons[-1].code != error.code:
            self.note(error.code, str(error))

    @property
    def headers(self) -> dict[str, str]:
        """The response headers that say what was decided."""
        headers = {
            "x-teto-route": self.route,
            "x-teto-reason": self.decisive,
            "x-teto-receipt": self.id,
        }
        if self.privacy is not None:
            headers["x-teto-privacy"] = "local-only"
        return {**headers, "x-teto-degraded": "true"} if self.degraded else headers
