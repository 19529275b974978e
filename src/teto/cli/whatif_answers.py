"""The answers of `teto whatif` as data: what the text and the JSON both show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from teto.cli.asked import refusals
from teto.cli.inputs import named_deployment, named_model, require_rate
from teto.errors import ConfigError
from teto.physics.calls import CallTokens, Comparison, compare_calls
from teto.physics.deployment import Deployment
from teto.physics.document import DocumentReading, read_document
from teto.physics.length import LengthOption, Promise, length_options, length_verdict
from teto.physics.speculation import Speculation, speculate
from teto.physics.whatif import (
    BatchEnd,
    BatchOption,
    FormatOption,
    HardwareOption,
    batch_end,
    batch_options,
    format_options,
    hardware_options,
)

if TYPE_CHECKING:
    from teto.catalog.resolve import ResolvedModel

__all__ = ["About"]

_PAGE_TOKENS: Final = 667  # assumed: 500 words a page, and 4 tokens for 3 words of English
_PAGES: Final = 50
_ANSWER_TOKENS: Final = 300
_PROMPT_TOKENS: Final = 500
_CLASSIFY: Final = CallTokens(prompt_tokens=800, output_tokens=3)
_WRITE: Final = CallTokens(prompt_tokens=200, output_tokens=600)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an answer is about. `kind` is `estimate`, or `ceiling` where no fit covers it: no engine reaches that."""

    model: str
    weight_format: str | None
    device: str
    n_devices: int
    kind: str
    fit: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantAnswer:
    """Formats side by side."""

    about: About
    context_tokens: int
    prompt_tokens: int
    options: tuple[FormatOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """Batches side by side, and what ends them."""

    about: About
    context_tokens: int
    options: tuple[BatchOption, ...]
    end: BatchEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareAnswer:
    """Limits multiplied, phase by phase."""

    about: About
    batch: int
    context_tokens: int
    prompt_tokens: int
    decode_bound: str
    prefill_bound: str
    options: tuple[HardwareOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculateAnswer:
    """One way to speculate."""

    about: About
    draft: str
    context_tokens: int
    tokens_per_s_before: float
    tokens_per_s_after: float
    found: Speculation


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsAnswer:
    """Two kinds of call."""

    about: About
    found: Comparison
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAnswer:
    """A document on the machine. `pages` and `tokens_per_page` are None where its tokens were given.

    `is_page_assumed`: the tokens of a page are an average of English prose, not a count.
    """

    about: About
    pages: float | None
    tokens_per_page: float | None
    is_page_assumed: bool
    found: DocumentReading
    longest_document_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthAnswer:
    """Answer lengths at one promise, with the verdict on each against the first."""

    about: About
    promise: Promise
    options: tuple[LengthOption, ...]
    usd_per_call: tuple[float | None, ...]
    verdicts: tuple[tuple[str, ...], ...]


def _about(resolved: "ResolvedModel", deployment: Deployment, **seen: float) -> About:
    """`seen` are the largest context and batch that the answer takes in: a fit may not have seen them."""
    notes = []
    if deployment.fit is None:
        notes.append("no fit covers this: times are ceilings, which no engine reaches")
    else:
        bandwidth, weights = deployment.device.mem_bandwidth_bytes_per_s, deployment.weights.resident_bytes
        outside = deployment.fit.outside(mem_bandwidth_bytes_per_s=bandwidth, weight_bytes=weights, **seen)
        notes += [f"the estimate is outside what was fitted: {words}" for words in outside]
    if deployment.rate is None:
        notes.append("the multiply rate is unknown: prefill is bounded by memory alone, which is too fast (--flops)")
    return About(
        model=resolved.name,
        weight_format=None if resolved.weight_format is None else resolved.weight_format.name,
        device=deployment.device.name,
        n_devices=deployment.n_devices,
        kind="ceiling" if deployment.fit is None else "estimate",
        fit=None if deployment.fit is None else f"{deployment.fit.name}: {deployment.fit.source}",
        notes=tuple(notes),
    )


def _context(deployment: Deployment, given: int | None, option: str) -> int:
    """The context that was asked for, or 4,096 or the model's limit.

    Raises:
        ConfigError: more tokens than the model was made for.
    """
    limit = deployment.shape.context_limit_tokens
    tokens = given or min(4096, limit or 4096)
    if limit is not None and tokens > limit:
        raise ConfigError(
            f"{option} {tokens:,} is beyond the {limit:,} tokens that {deployment.shape.name} was made for.",
            fix=f"Give at most {limit}.",
        )
    return tokens


def _memory_bytes(deployment: Deployment) -> float:
    if deployment.device.memory_bytes is None:
        raise ConfigError(
            f"The memory of {deployment.device.name} is unknown (it is sold with several sizes).",
            fix="Give it with --memory 16GB.",
        )
    return deployment.n_devices * deployment.device.memory_bytes


def quant_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> QuantAnswer:
    """The model in each of --formats."""
    if resolved.is_exact:
        raise ConfigError(
            f"{resolved.name} is a file in one format; other formats are of its shape.",
            fix="Name the model by its catalog id, or give its config.json.",
        )
    context = _context(deployment, options["context"], "--context")
    prompt = _context(deployment, options["prompt"] or context, "--prompt")
    deployments = {}
    for name in options["formats"].split(","):
        other = named_model(options["model_name"], name.strip())
        label = name.strip() if other.weight_format is None else other.weight_format.name
        deployments[label] = named_deployment(
            other, deployment.device, kv=options["kv"], n_devices=options["n_devices"], engine=options["engine"]
        )
    return QuantAnswer(
        about=_about(resolved, next(iter(deployments.values())), context_tokens=context),
        context_tokens=context,
        prompt_tokens=prompt,
        options=format_options(deployments, prompt_tokens=prompt, context_tokens=context),
    )


def batch_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> BatchAnswer:
    """Each of --batches."""
    context = _context(deployment, options["context"], "--context")
    return BatchAnswer(
        about=_about(resolved, deployment, context_tokens=context, batch=max(options["batches"])),
        context_tokens=context,
        options=batch_options(deployment, batches=options["batches"], context_tokens=context),
        end=batch_end(deployment, context_tokens=context),
    )


def hardware_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> HardwareAnswer:
    """More bandwidth against more FLOPs."""
    require_rate(deployment)
    context = _context(deployment, options["context"], "--context")
    prompt = _context(deployment, options["prompt"] or context, "--prompt")
    return HardwareAnswer(
        about=_about(resolved, deployment, context_tokens=context, batch=options["batch"]),
        batch=options["batch"],
        context_tokens=context,
        prompt_tokens=prompt,
        decode_bound=deployment.decode(batch=options["batch"], context_tokens=context).bound,
        prefill_bound=deployment.prefill(n_tokens=prompt).bound,
        options=hardware_options(
            deployment,
            factor=options["factor"],
            batch=options["batch"],
            prompt_tokens=prompt,
            context_tokens=context,
        ),
    )


def speculate_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> SpeculateAnswer:
    """A draft's proposals, checked in one pass."""
    if options["acceptance"] is None:
        raise ConfigError("--acceptance is missing: it is measured, not assumed.", fix="Give it, such as 0.7.")
    if (options["draft"] is None) == (options["draft_cost"] is None):
        raise ConfigError(
            "Speculation needs one draft.",
            fix="Give --draft MODEL, or --draft-cost 0.1 for a step that costs a tenth of the model's.",
        )
    context = _context(deployment, options["context"], "--context")
    draft = None
    if options["draft"] is not None:
        draft_model = named_model(options["draft"], options["draft_quant"] or options["quant"])
        draft = named_deployment(
            draft_model, deployment.device, kv=options["kv"], n_devices=options["n_devices"], engine=options["engine"]
        )
    with refusals("Give an acceptance from 0 to 1 and a draft cost of at least 0."):
        found = speculate(
            deployment,
            acceptance_fraction=options["acceptance"],
            draft_tokens=options["draft_tokens"],
            batch=options["batch"],
            context_tokens=context,
            draft=draft,
            draft_step_fraction=options["draft_cost"],
        )
    return SpeculateAnswer(
        about=_about(resolved, deployment, context_tokens=context, batch=options["batch"]),
        draft=options["draft"] or f"a step of {options['draft_cost']:g} of the model's",
        context_tokens=context,
        tokens_per_s_before=1 / found.plain_s,
        tokens_per_s_after=found.speed_ratio / found.plain_s,
        found=found,
    )


def calls_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> CallsAnswer:
    """Two kinds of call."""
    require_rate(deployment)
    calls = options["calls"] or (_CLASSIFY, _WRITE)
    if len(calls) != 2:
        raise ConfigError(f"Two kinds of call are compared, found {len(calls)}.", fix="Give --call in:out twice.")
    with refusals("Give shorter calls, or a model with a longer context."):
        found = compare_calls(deployment, calls[0], calls[1])
    context = max(call.context_tokens for call in calls)
    return CallsAnswer(about=_about(resolved, deployment, context_tokens=context), found=found, ratio=found.ratio)


def document_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> DocumentAnswer:
    """A long document, read whole."""
    require_rate(deployment)
    pages: float | None = options["pages"]
    per_page: float | None = options["tokens_per_page"]
    if options["tokens"] is not None and (pages is not None or per_page is not None):
        raise ConfigError("Give the document in tokens or in pages, not both.", fix="Leave out --tokens or --pages.")
    tokens = options["tokens"]
    if tokens is None:
        pages, per_page = pages or _PAGES, per_page or _PAGE_TOKENS
        tokens = max(1, round(pages * per_page))
    found = read_document(
        deployment,
        document_tokens=tokens,
        answer_tokens=options["answer"] or _ANSWER_TOKENS,
        memory_bytes=_memory_bytes(deployment),
        other_bytes=options["other_memory"] or 0.0,
    )
    return DocumentAnswer(
        about=_about(resolved, deployment, context_tokens=tokens),
        pages=pages,
        tokens_per_page=per_page,
        is_page_assumed=options["tokens"] is None and options["tokens_per_page"] is None,
        found=found,
        longest_document_tokens=found.longest_document_tokens,
    )


def length_answer(resolved: "ResolvedModel", deployment: Deployment, options: Mapping[str, Any]) -> LengthAnswer:
    """The bill against the length of the answer."""
    require_rate(deployment)
    tokens = CallTokens(
        prompt_tokens=options["prompt"] or _PROMPT_TOKENS, output_tokens=options["answer"] or _ANSWER_TOKENS
    )
    free = _memory_bytes(deployment) - deployment.weights.resident_bytes - (options["other_memory"] or 0.0)
    tpot_ms: float | None = options["tpot_ms"]
    promise = Promise(
        tpot_s=None if tpot_ms is None else tpot_ms / 1e3,
        total_s=options["total_s"],
        most_sequences=options["most_sequences"],
    )
    with refusals("Give a shorter prompt or answer, or fewer --times."):
        found = length_options(deployment, tokens, factors=options["times"], promise=promise, free_bytes=free)
    usd: float | None = options["usd_per_hour"]
    return LengthAnswer(
        about=_about(resolved, deployment, batch=max(one.batch for one in found)),
        promise=promise,
        options=found,
        usd_per_call=tuple(None if usd is None or one.device_s is None else usd * one.device_s / 3600 for one in found),
        verdicts=tuple(length_verdict(found[0], one) for one in found[1:]),
    )
