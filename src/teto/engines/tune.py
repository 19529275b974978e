"""A short measured search for how the embedded engine runs best here, cached per machine and weights."""

import hashlib
import os
import platform
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from teto.engines.llama_process import LlamaProcess, LlamaSetup, WaitPolicy
from teto.errors import EngineError

__all__ = [
    "Measured",
    "Tuning",
    "TuningCache",
    "Variant",
    "machine_fingerprint",
    "measure_variant",
    "tune",
    "usable_cores",
]

_BUDGET_S: Final = 14.0
_PROMPT_TOKENS: Final = 32
_OUTPUT_TOKENS: Final = 8
_RUNS_S: Final = 1.0  # runs of a variant are repeated for at least this long
_WORTH_CHANGING: Final = 0.97  # a variant must beat the best time by this factor, or noise decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way to run the engine; `repack` trades memory (most weights a second time) for a faster layout."""

    decode_threads: int
    prefill_threads: int
    wait_policy: WaitPolicy
    repack: bool

    def __str__(self) -> str:
        layout = "repacked" if self.repack else "as stored"
        return f"{self.decode_threads} decode and {self.prefill_threads} prefill threads, {self.wait_policy}, {layout}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Speeds of one stream with a short context, the best of a few runs."""

    prefill_tokens_per_s: float
    decode_tokens_per_s: float

    @property
    def call_s(self) -> float:
        """The time of a call of 64 prompt and 32 answer tokens: what variants are compared by."""
        return 64 / self.prefill_tokens_per_s + 32 / self.decode_tokens_per_s

    def better(self, other: "Measured | None") -> "Measured":
        """The better of both speeds: what slows a run down is noise, nothing speeds it up."""
        if other is None:
            return self
        return Measured(
            prefill_tokens_per_s=max(self.prefill_tokens_per_s, other.prefill_tokens_per_s),
            decode_tokens_per_s=max(self.decode_tokens_per_s, other.decode_tokens_per_s),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The variant that won, its speeds, and what every other one reached."""

    machine: str
    weights_sha256: str
    engine_version: str
    variant: Variant
    measured: Measured
    tried: tuple[tuple[Variant, Measured], ...]
    seconds: float
    at_unix_s: float


def usable_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_fingerprint() -> str:
    """A short digest of what decides the engine's speed here: the processor and the cores that may be used."""
    lines: list[str] = []
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        wanted = ("model name", "flags", "cache size")
        lines = sorted({line for line in cpuinfo.read_text().split("\n") if line.startswith(wanted)})
    facts = [platform.system(), platform.machine(), platform.processor(), str(usable_cores()), *lines]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


async def measure_variant(setup: LlamaSetup, variant: Variant, environment: Mapping[str, str]) -> tuple[Measured, str]:
    """Start the engine in that variant, run short calls for a second, stop it; its speeds and version."""
    process = await LlamaProcess.start(replace(setup, **asdict(variant)), environment=environment)
    try:
        prefill: list[float] = []
        decode: list[float] = []
        end_s = time.monotonic() + _RUNS_S
        while not decode or time.monotonic() < end_s:
            # No two prompts share a prefix, and the end token is ignored: every run does the same work.
            prompt = [1000 + (len(decode) * 7919 + i * 31) % 20000 for i in range(_PROMPT_TOKENS)]
            body = {"prompt": prompt, "n_predict": _OUTPUT_TOKENS, "ignore_eos": True, "cache_prompt": False}
            timings = (await process.post_json("/completion", body))["timings"]
            prefill.append(float(timings["prompt_per_second"]))
            decode.append(float(timings["predicted_per_second"]))
    finally:
        await process.stop()
    measured = Measured(prefill_tokens_per_s=max(prefill), decode_tokens_per_s=max(decode))
    return measured, process.version


class _Search:
    """Tries variants while the budget lasts, and knows the best so far; the earlier one wins between equals."""

    def __init__(
        self,
        measure: Callable[[Variant], Awaitable[tuple[Measured, str]]],
        budget_s: float,
        progress: Callable[[str], None],
    ) -> None:
        self._measure = measure
        self._progress = progress
        self._start_s = time.monotonic()
        self._end_s = self._start_s + budget_s
        self._quickest_s: float | None = None
        self.tried: dict[Variant, Measured] = {}
        self.version = ""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start_s

    @property
    def best(self) -> Variant:
        best, *others = self.tried
        for variant in others:
            if self.tried[variant].call_s < _WORTH_CHANGING * self.tried[best].call_s:
                best = variant
        return best

    def _has_time(self) -> bool:
        # The first attempt reads the weights from the disk; later ones are at least twice as quick.
        if self._quickest_s is None:
            return True
        expected_s = self._quickest_s / 2 if len(self.tried) == 1 else self._quickest_s
        return time.monotonic() + expected_s <= self._end_s

    async def attempt(self, variant: Variant) -> None:
        """Measure it if there is time; of a variant that was measured before, the better figures count."""
        if not self._has_time():
            return
        begin_s = time.monotonic()
        try:
            measured, self.version = await self._measure(variant)
        except EngineError as error:
            if not self.tried:
                raise
            self._progress(f"{variant}: {error}")
            return
        taken_s = time.monotonic() - begin_s
        self._quickest_s = min(taken_s, self._quickest_s if self._quickest_s is not None else taken_s)
        self.tried[variant] = measured.better(self.tried.get(variant))
        self._progress(
            f"{variant}: prefill {measured.prefill_tokens_per_s:.1f}, decode {measured.decode_tokens_per_s:.1f} tok/s"
        )

    async def explore(self, variant: Variant) -> None:
        """Measure a variant that was not measured yet."""
        if variant not in self.tried:
            await self.attempt(variant)

    async def confirm(self) -> None:
        """Measure the likeliest and its best rival once more: a slow moment of a shared machine must not decide."""
        likeliest, *others = self.tried
        for variant in (likeliest, *sorted(others, key=lambda one: self.tried[one].call_s)[:1]):
            await self.attempt(variant)


async def tune(
    measure: Callable[[Variant], Awaitable[tuple[Measured, str]]],
    *,
    weights_sha256: str,
    cores: int,
    may_repack: bool,
    first_policy: WaitPolicy,
    budget_s: float = _BUDGET_S,
    progress: Callable[[str], None] = lambda _: None,
) -> Tuning:
    """Try variants, the likeliest first and each from the best so far, until the budget ends.

    Args:
        measure: runs the engine in a variant and gives its speeds and version.
        weights_sha256: the weights that are tuned for.
        cores: the most threads to try.
        may_repack: whether memory allows a second layout of the weights.
        first_policy: what is tried first and wins between equals.
        budget_s: seconds in all.
        progress: is told each result.

    Raises:
        EngineError: not even the first variant ran.
    """
    search = _Search(measure, budget_s, progress)
    await search.attempt(
        Variant(decode_threads=cores, prefill_threads=cores, wait_policy=first_policy, repack=may_repack)
    )
    await search.explore(replace(search.best, wait_policy="passive" if first_policy == "active" else "active"))
    if may_repack:
        await search.explore(replace(search.best, repack=False))
    for fewer in sorted({cores - 1, cores // 2, 1} - {0, cores}, reverse=True):
        await search.explore(replace(search.best, decode_threads=fewer))
    await search.confirm()
    return Tuning(
        machine=machine_fingerprint(),
        weights_sha256=weights_sha256,
        engine_version=search.version,
        variant=search.best,
        measured=search.tried[search.best],
        tried=tuple(search.tried.items()),
        seconds=search.seconds,
        at_unix_s=time.time(),
    )


class TuningCache:
    """Tunings of one engine version in a folder, one file for each machine and weights."""

    def __init__(self, folder: Path, *, engine_version: str) -> None:
        self._folder = folder
        self._engine_version = engine_version

    def _path(self, weights_sha256: str) -> Path:
        return self._folder / f"{machine_fingerprint()}-{weights_sha256[:16]}.json"

    def load(self, weights_sha256: str) -> Tuning | None:
        """The tuning of this machine, these weights and this version; None if there is none that can be read."""
        try:
            tuning = msgspec.json.decode(self._path(weights_sha256).read_bytes(), type=Tuning)
        except (OSError, msgspec.DecodeError):
            return None
        return tuning if tuning.engine_version == self._engine_version else None

    def save(self, tuning: Tuning) -> None:
        """Keep a tuning; the file appears whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(tuning.weights_sha256)
        partial = path.with_suffix(f".{os.getpid()}.part")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(tuning)))
        partial.replace(path)
