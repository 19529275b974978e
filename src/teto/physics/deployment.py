"""A model in a format on devices: its ceiling, and, with a fit, what an engine there does.

Everything that predicts (ceiling, whatif, plan) asks a deployment. All times are of one step that every
sequence of the batch shares, or of one prefill.
"""

from dataclasses import dataclass, replace
from typing import Literal

from teto.physics.device import Device, Rate
from teto.physics.estimate import Fit, Limits, StepTime, step_time
from teto.physics.mixers import Traffic
from teto.physics.parallel import exchanged_bytes, shared_decode, shared_prefill
from teto.physics.precision import Dtype, WeightBytes
from teto.physics.roofline import Work, decode_step, prefill
from teto.physics.shape import Shape
from teto.physics.values import Values, larger, require_positive
from teto.units import KV_F16_BYTES

__all__ = ["Bound", "Deployment", "Phase", "Rung"]

Bound = Literal["memory", "compute", "overhead"]


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the waterfall from the ceiling down: a cause, and the seconds that it adds."""

    cause: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One decode step or one prefill: its work, its ceiling, its estimate, and what lies between.

    `estimate_s` and its band are None without a fit. `bound` is the largest of memory, compute and overhead
    time in the estimate, or in the ceiling where there is none.
    """

    work: Work
    ceiling_s: float
    memory_s: float
    compute_s: float | None
    estimate_s: float | None
    band_s: tuple[float, float] | None
    bound: Bound
    waterfall: tuple[Rung, ...]

    @property
    def intensity_flops_per_byte(self) -> float:
        """FLOPs done for each byte moved."""
        return float(self.work.flops) / float(self.work.bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """`n_devices` equal devices share every step (tensor parallel); `compute` lists dtypes, preferred first.

    `tokens_per_step` above 1 is speculation: what one pass over the weights yields on average.
    """

    shape: Shape
    weights: WeightBytes
    compute: tuple[Dtype, ...]
    device: Device
    fit: Fit | None = None
    n_devices: int = 1
    kv_element_bytes: float = KV_F16_BYTES
    tokens_per_step: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "n_devices", "kv_element_bytes", "tokens_per_step")

    @property
    def rate(self) -> Rate | None:
        """The multiply rate of one device in the dtype that computes; None: unknown."""
        return self.device.rate(self.compute)

    @property
    def limits(self) -> Limits:
        """What the devices do together."""
        return Limits(
            mem_bandwidth_bytes_per_s=self.device.mem_bandwidth_bytes_per_s,
            flops_per_s=None if self.rate is None else self.rate.flops_per_s,
            n_devices=self.n_devices,
            link_bytes_per_s=self.device.link_bytes_per_s,
        )

    def _ceiling_s(self, work: Work) -> Values:
        memory_s = work.bytes / (self.n_devices * self.device.mem_bandwidth_bytes_per_s)
        if self.rate is None:
            return memory_s
        return larger(memory_s, work.flops / (self.n_devices * self.rate.flops_per_s))

    def _decode_work(self, batch: Values, context_tokens: Values, *, is_expected: bool) -> Work:
        return decode_step(
            self.shape,
            self.weights,
            batch=batch,
            context_tokens=context_tokens,
            kv_element_bytes=self.kv_element_bytes,
            is_expected=is_expected,
        )

    def _exchanged_bytes(self, n_tokens: Values) -> Values:
        """What one device sends for so many tokens; nothing where it is alone."""
        return 0.0 * n_tokens if self.n_devices == 1 else exchanged_bytes(self.shape, self.n_devices, n_tokens)

    def _as_shared(self, work: Work, fit: Fit, attention: Traffic) -> Work:
        """The work of several devices that share it: copies of caches are read too, and the busiest sets the pace."""
        if self.n_devices == 1:
            return work
        factor = fit.expert_imbalance if self.shape.is_moe else 1.0
        linear = Traffic(factor * work.linear.bytes, factor * work.linear.flops)
        return replace(work, linear=linear, attention=attention)

    def decode_ceiling_s(self, batch: Values, context_tokens: Values) -> Values:
        """The least seconds of a decode step; arrays give arrays."""
        return self._ceiling_s(self._decode_work(batch, context_tokens, is_expected=False))

    def decode_step_s(self, batch: Values, context_tokens: Values) -> Values:
        """The estimated seconds of a decode step, or, without a fit, the ceiling; arrays give arrays."""
        if self.fit is None:
            return self.decode_ceiling_s(batch, context_tokens)
        return self._decode_time(batch, context_tokens, self.fit).seconds

    def _decode_time(self, batch: Values, context_tokens: Values, fit: Fit) -> StepTime:
        one = shared_decode(self.shape, context_tokens, self.kv_element_bytes, self.n_devices)
        work = self._decode_work(batch, context_tokens, is_expected=True)
        return step_time(
            self._as_shared(work, fit, Traffic(batch * one.bytes, batch * one.flops)),
            self.limits,
            fit,
            n_layers=self.shape.n_whole_layers,
            exchanged_bytes=self._exchanged_bytes(batch),
            n_sequences=batch,
        )

    def _prefill_work(self, n_tokens: Values, past_tokens: Values, *, is_expected: bool) -> Work:
        return prefill(
            self.shape,
            self.weights,
            n_tokens=n_tokens,
            past_tokens=past_tokens,
            kv_element_bytes=self.kv_element_bytes,
            is_expected=is_expected,
        )

    def _prefill_time(self, n_tokens: Values, past_tokens: Values, fit: Fit) -> StepTime:
        work = self._prefill_work(n_tokens, past_tokens, is_expected=True)
        shared = shared_prefill(self.shape, n_tokens, self.kv_element_bytes, self.n_devices)
        return step_time(
            self._as_shared(work, fit, shared),
            self.limits,
            fit,
            n_layers=self.shape.n_whole_layers,
            exchanged_bytes=self._exchanged_bytes(n_tokens),
        )

    def added_prefill_s(self, n_tokens: Values, running: Values) -> Values:
        """What a prompt adds to steps in which `running` sequences decode anyway: no reading of shared weights.

        Without a fit of prefills it is the whole prefill.
        """
        fit = self._prefill_fit
        if fit is None:
            return self.prefill_s(n_tokens) + 0.0 * running
        more = self.weights.block_bytes(running + n_tokens, is_expected=True)
        more = more - self.weights.block_bytes(running, is_expected=True)
        shared = shared_prefill(self.shape, n_tokens, self.kv_element_bytes, self.n_devices)
        work = Work(
            linear=Traffic(more, n_tokens * (2 * self.shape.block_params) + 0.0 * running),
            attention=shared,
            head=Traffic(0.0 * running, 2 * self.shape.head_params + 0.0 * running),
        )
        return step_time(
            self._as_shared(work, fit, shared),
            self.limits,
            replace(fit, layer_overhead_s=0.0, step_overhead_s=0.0, link_overhead_s=0.0),
            n_layers=0.0,
            exchanged_bytes=self._exchanged_bytes(n_tokens),
        ).seconds

    @property
    def _prefill_fit(self) -> Fit | None:
        """The fit, if it has seen prefills: they need the fraction of the multiply rate."""
        return None if self.fit is None or self.fit.compute_fraction is None else self.fit

    def prefill_s(self, n_tokens: Values, past_tokens: Values = 0) -> Values:
        """The estimated seconds of a prefill, or, without a fit of prefills, the ceiling; arrays give arrays."""
        if self._prefill_fit is None:
            return self._ceiling_s(self._prefill_work(n_tokens, past_tokens, is_expected=False))
        return self._prefill_time(n_tokens, past_tokens, self._prefill_fit).seconds

    def decode(self, *, batch: int, context_tokens: int) -> Phase:
        """One decode step of `batch` sequences that each attend over `context_tokens`."""
        work = self._decode_work(batch, context_tokens, is_expected=False)
        time = None if self.fit is None else self._decode_time(batch, context_tokens, self.fit)
        expected = self._decode_work(batch, context_tokens, is_expected=True)
        return self._phase(work, time, None if self.fit is None else self.fit.band, expected)

    def prefill(self, *, n_tokens: int, past_tokens: int = 0) -> Phase:
        """One prompt of `n_tokens` after `past_tokens` of cache."""
        work = self._prefill_work(n_tokens, past_tokens, is_expected=False)
        fit = self._prefill_fit
        time = None if fit is None else self._prefill_time(n_tokens, past_tokens, fit)
        expected = self._prefill_work(n_tokens, past_tokens, is_expected=True)
        return self._phase(work, time, None if fit is None else fit.prefill_band, expected)

    def _phase(self, work: Work, time: StepTime | None, band: tuple[float, float] | None, expected: Work) -> Phase:
        bandwidth = self.n_devices * self.device.mem_bandwidth_bytes_per_s
        memory_s = float(work.bytes) / bandwidth
        compute_s = None if self.rate is None else float(work.flops) / (self.n_devices * self.rate.flops_per_s)
        ceiling_s = max(memory_s, compute_s or 0.0)
        rungs = [Rung("weights", float(work.weight_bytes) / bandwidth), Rung("KV", float(work.kv_bytes) / bandwidth)]
        if compute_s is not None and compute_s > memory_s:
            rungs.append(Rung("compute beyond memory", compute_s - memory_s))
        if time is None:
            bound: Bound = "compute" if ceiling_s > memory_s else "memory"
            return Phase(
                work=work, ceiling_s=ceiling_s, memory_s=memory_s, compute_s=compute_s,
                estimate_s=None, band_s=None, bound=bound, waterfall=tuple(rungs),
            )  # fmt: skip
        overhead_s = float(time.overhead_s) + float(time.link_s)
        working_s = float(time.seconds) - overhead_s
        routed_s = max(0.0, float(self._ceiling_s(expected)) - ceiling_s)
        if routed_s > 0:
            rungs.append(Rung("experts of the others", routed_s))
        rungs += [Rung("efficiency", working_s - ceiling_s - routed_s), Rung("overhead", float(time.overhead_s))]
        if self.n_devices > 1:
            rungs.append(Rung("links", float(time.link_s)))
        bound = "overhead" if overhead_s > working_s else self._working_bound(expected)
        return Phase(
            work=work,
            ceiling_s=ceiling_s,
            memory_s=memory_s,
            compute_s=compute_s,
            estimate_s=float(time.seconds),
            # Whatever held-out rows showed, nothing is faster than the ceiling.
            band_s=None
            if band is None
            else (max(ceiling_s, float(time.seconds) * band[0]), float(time.seconds) * band[1]),
            bound=bound,
            waterfall=tuple(rungs),
        )

    def _working_bound(self, work: Work) -> Bound:
        """What binds the estimate's own work: bytes or FLOPs, each at the efficiency of the fit."""
        fit = self.fit
        if fit is None or self.rate is None:
            return "memory"
        memory_s = float(work.bytes) / (self.device.mem_bandwidth_bytes_per_s * fit.weights_fraction)
        compute_s = float(work.flops) / (self.rate.flops_per_s * (fit.compute_fraction or 1.0))
        return "compute" if compute_s > memory_s else "memory"

    def with_device(self, *, bandwidth_factor: float = 1.0, flops_factor: float = 1.0) -> "Deployment":
        """The same on a device whose limits are multiplied: what sizing by the right resource would give."""
        device = replace(
            self.device,
            mem_bandwidth_bytes_per_s=self.device.mem_bandwidth_bytes_per_s * bandwidth_factor,
            flops_per_s={dtype: rate * flops_factor for dtype, rate in self.device.flops_per_s.items()},
        )
        return replace(self, device=device)
