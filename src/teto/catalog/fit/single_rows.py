"""Reads measurements of one request on one device, and says of each row that cannot be used why."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from teto.catalog.fit.observe import Observation, identify, observed
from teto.catalog.fit.rows import Row
from teto.catalog.resolve import find_format
from teto.physics.device import Device
from teto.physics.mixers import Traffic
from teto.physics.precision import WeightBytes, weigh
from teto.physics.roofline import Work, decode, prefill
from teto.physics.shape import Shape

__all__ = [
    "LLAMA_CPP_BATCH_TOKENS",
    "Identified",
    "identified",
    "is_possible",
    "mean_work",
    "prompt",
    "run",
    "step_of_run",
]

LLAMA_CPP_BATCH_TOKENS: Final = 512  # a prompt goes through llama.cpp in passes of this many
_SPILLS_ABOVE: Final = 0.97  # of the memory: what is larger than that does not stay in it
_QUANT_IN_NAME: Final = re.compile(r"[-_.](UD-)?(I?Q\d\w*|BF16|F16|MXFP4\w*)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """A row whose device, model and format the catalog knows; `quant` is the format's name there."""

    row: Row
    device: Device
    shape: Shape
    quant: str

    @property
    def weights(self) -> WeightBytes:
        """The format's bytes; where the source states the file's, scaled to them."""
        weights = weigh(self.shape, find_format(self.quant))
        if self.row.weight_bytes is None or "localscore" in self.row.source:  # LocalScore's are nominal
            return weights
        if self.quant == "mxfp4":
            return _beside_experts(weights, self.row.weight_bytes)
        return weights.scaled(self.row.weight_bytes / weights.resident_bytes)


def _beside_experts(weights: WeightBytes, file_bytes: float) -> WeightBytes:
    """The same experts, and the rest in what is left of the file: GGUF files of MXFP4 models keep it in 8 bits."""
    routed = sum(group.n_layers * group.n_experts * group.expert_bytes for group in weights.experts)
    factor = (file_bytes - routed) / (weights.resident_bytes - routed)
    return replace(weights.scaled(factor), experts=weights.experts, resident_bytes=file_bytes)


def identified(rows: Iterable[Row], dropped: Counter[str]) -> Iterator[Identified]:
    """The rows that can be predicted; the others are counted in `dropped`, by reason."""
    for row in rows:
        found = identify(row.device, _QUANT_IN_NAME.sub("", row.model), _stated_quant(row), dropped)
        if found is None:
            continue
        device, shape, quant = found
        one = Identified(row=row, device=device, shape=shape, quant=quant)
        if device.memory_bytes is not None and one.weights.resident_bytes > _SPILLS_ABOVE * device.memory_bytes:
            dropped["the weights do not fit the memory"] += 1
            continue
        yield one


def _stated_quant(row: Row) -> str:
    """The row's format; of llama.cpp's dynamic mixes, whose bytes the file states, the nearest plain one."""
    plain = row.quant.upper().removeprefix("UD-").replace("_XL", "_M").replace("Q8_K_M", "Q8_0")
    return plain.split(" (")[0]


def mean_work(works: Sequence[Work]) -> Work:
    """The mean of some works, class by class."""
    n = len(works)

    def mean(parts: Sequence[Traffic]) -> Traffic:
        return Traffic(sum(float(p.bytes) for p in parts) / n, sum(float(p.flops) for p in parts) / n)

    return Work(
        linear=mean([work.linear for work in works]),
        attention=mean([work.attention for work in works]),
        head=mean([work.head for work in works]),
    )


def step_of_run(shape: Shape, weights: WeightBytes, *, n_steps: int, start_context_tokens: int) -> Work:
    """The mean step of a run of `n_steps` that starts with so many tokens in the cache."""
    whole = decode(shape, weights, n_steps=n_steps, start_context_tokens=start_context_tokens)

    def part(traffic: Traffic) -> Traffic:
        return Traffic(traffic.bytes / n_steps, traffic.flops / n_steps)

    return Work(linear=part(whole.linear), attention=part(whole.attention), head=part(whole.head))


def is_possible(observation: Observation) -> bool:
    """Whether the device could be that fast: False where its memory cannot have delivered the bytes in that time."""
    return observation.measured_s >= float(observation.work.bytes) / observation.mem_bandwidth_bytes_per_s


def run(found: Identified) -> Observation | None:
    """The mean step of a run of the stated length from the stated context; None where no speed is stated."""
    row = found.row
    if not row.decode_tokens_per_s:
        return None
    n_steps, past = int(row.output_tokens or 1), int(row.context_start_tokens or 0)
    return observed(
        device=found.device,
        shape=found.shape,
        work=step_of_run(found.shape, found.weights, n_steps=n_steps, start_context_tokens=past),
        quant=found.quant,
        measured_s=1 / row.decode_tokens_per_s,
        context_tokens=past + n_steps / 2,
    )


def prompt(found: Identified) -> Observation | None:
    """One prompt of the stated length, in llama.cpp's passes; None where no speed is stated."""
    row = found.row
    if not row.prefill_tokens_per_s or not row.prompt_tokens:
        return None
    n, past = int(row.prompt_tokens), int(row.context_start_tokens or 0)
    work = prefill(
        found.shape,
        found.weights,
        n_tokens=n,
        past_tokens=past,
        batch_tokens=LLAMA_CPP_BATCH_TOKENS,
        is_expected=True,
    )
    return observed(
        device=found.device,
        shape=found.shape,
        work=work,
        quant=found.quant,
        measured_s=n / row.prefill_tokens_per_s,
        context_tokens=past + n,
        n_passes=-(-n // LLAMA_CPP_BATCH_TOKENS),
    )
