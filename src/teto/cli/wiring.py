"""Wires settings to objects: the only place where implementations meet the ports."""

import contextlib
import importlib.metadata
import importlib.util
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import platformdirs

from teto.config import Resolved, Settings, resolve
from teto.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from teto.engines.llama import LlamaEngine
    from teto.engines.llama_process import LlamaSetup
    from teto.engines.tune import Tuning, TuningCache
    from teto.engines.weights import WeightsStore
    from teto.gateway.app import App
    from teto.ledger.sqlite import SqliteLedger
    from teto.physics.cost import Cost
    from teto.physics.device import Device
    from teto.ports import Engine, Upstream
    from teto.traffic.tokens import TokenVector

__all__ = [
    "USER_FOLDERS",
    "Progress",
    "fingerprint_of",
    "load_resolved",
    "load_settings",
    "open_engine",
    "open_gateway",
    "open_ledger",
    "open_store",
    "probe_here",
    "saved_probe",
    "tune_here",
]

Progress = Callable[[str], None]
USER_FOLDERS = platformdirs.PlatformDirs("teto", appauthor=False)


def _settings_file(chosen: Path | None) -> Path | None:
    if chosen is None and "TETO_CONFIG" in os.environ:
        chosen = Path(os.environ["TETO_CONFIG"])
    if chosen is not None:
        if not chosen.is_file():
            raise ConfigError(f"The settings file {chosen} does not exist.", fix="Check --config and TETO_CONFIG.")
        return chosen
    candidates = [Path("teto.toml"), USER_FOLDERS.user_config_path / "teto.toml"]
    return next((path for path in candidates if path.is_file()), None)


def load_resolved(ctx: click.Context, flags: Mapping[str, Any] | None = None) -> Resolved:
    """The settings of this run with their origins; `flags` are values by dotted name, None for not given."""
    path = _settings_file(ctx.find_root().obj)
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    return resolve(
        flags=given,
        environment=os.environ,
        file_text=path.read_bytes() if path is not None else None,
        file_name=str(path) if path is not None else "teto.toml",
    )


def load_settings(ctx: click.Context, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings of this run."""
    return load_resolved(ctx, flags).settings


def weights_folder(settings: Settings) -> Path:
    """Where the store keeps its files."""
    chosen = settings.weights.folder
    return Path(chosen).expanduser() if chosen else USER_FOLDERS.user_cache_path / "weights"


def open_store(settings: Settings) -> "WeightsStore":
    """The weights store with the sources that the settings allow."""
    from teto.engines.weights import WeightsStore, free_disk_bytes
    from teto.engines.weights_carriers import CarrierSource
    from teto.engines.weights_sources import HubSource

    return WeightsStore(
        folder=weights_folder(settings),
        free_bytes=free_disk_bytes,
        sources=[
            HubSource(allowed=settings.weights.hub),
            CarrierSource(allowed=settings.weights.carriers, environment=os.environ),
        ],
    )


def ledger_path(settings: Settings) -> Path:
    """The SQLite file of the receipts."""
    chosen = settings.ledger.path
    return Path(chosen).expanduser() if chosen else USER_FOLDERS.user_state_path / "receipts.sqlite"


def open_ledger(settings: Settings) -> "SqliteLedger":
    """The ledger of receipts."""
    from teto.ledger.sqlite import SqliteLedger

    return SqliteLedger(ledger_path(settings))


def tuning_cache() -> "TuningCache":
    """The tunings of this user for the engine that is installed."""
    from teto.engines.tune import TuningCache

    version = importlib.metadata.version("xllamacpp") if has_engine_extra() else ""
    return TuningCache(USER_FOLDERS.user_state_path / "tunings", engine_version=version)


def _probe_file() -> Path:
    from teto.engines.tune import machine_fingerprint

    return USER_FOLDERS.user_state_path / "devices" / f"{machine_fingerprint()}.json"


def saved_probe() -> "Device | None":
    """This machine's measured limits, if it was probed."""
    import msgspec

    from teto.physics.device import Device

    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_probe_file().read_bytes(), type=Device)
    return None


def probe_here(*, again: bool, progress: Progress) -> "Device":
    """This machine's measured limits, from the last probe unless asked to measure again."""
    import msgspec

    from teto.engines.tune import usable_cores
    from teto.measure.probe import cpu_pressure_fraction, probe_device

    found = None if again else saved_probe()
    if found is not None:
        return found
    pressure = cpu_pressure_fraction()
    if pressure is not None and pressure > 0.10:
        progress(f"the machine is busy (CPU pressure {pressure:.0%}): these figures are low, probe again when idle")
    device = probe_device(cores=usable_cores())
    path = _probe_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(device)))
    return device


def has_engine_extra() -> bool:
    """Whether the embedded engine is installed."""
    return importlib.util.find_spec("xllamacpp") is not None


def require_engine_extra() -> None:
    """Check that the embedded engine is installed.

    Raises:
        EngineError: it is not.
    """
    if not has_engine_extra():
        raise EngineError(
            "The embedded engine is not installed (no package xllamacpp).",
            fix='Run `pip install "teto[engine]"`, or set engine.kind to external or none.',
        )


def llama_setup(settings: Settings, weights: Path) -> "LlamaSetup":
    """How the child runs for these settings, before a tuning says how many threads it takes."""
    from teto.engines.llama_process import LlamaSetup

    return LlamaSetup(
        weights=weights,
        context_tokens=settings.engine.context_tokens,
        slots=settings.engine.slots,
        batch_tokens=_BATCH_TOKENS,
        decode_threads=1,
        prefill_threads=1,
        wait_policy="passive",
        repack=False,
    )


_BATCH_TOKENS = 64  # a cancelled prefill ends at the next batch; larger ones prefill hardly faster on a CPU


def may_repack(weights: Path) -> bool:
    """Whether memory allows a second layout of the weights and still leaves as much free as both take."""
    import psutil

    return bool(psutil.virtual_memory().available > 4 * weights.stat().st_size)


async def tune_here(settings: Settings, *, again: bool, progress: Progress) -> "Tuning":
    """The engine's tuning for this machine and the chosen weights, from the cache unless asked to measure again."""
    from teto.engines import tune as tuning
    from teto.engines.llama_process import child_environment
    from teto.engines.parking import can_park

    require_engine_extra()
    located = open_store(settings).locate(settings.engine.weights)
    cache = tuning_cache()
    cached = None if again else cache.load(located.sha256)
    if cached is not None:
        return cached
    setup = llama_setup(settings, located.path)
    found = await tuning.tune(
        lambda variant: tuning.measure_variant(setup, variant, child_environment()),
        weights_sha256=located.sha256,
        cores=tuning.usable_cores(),
        may_repack=may_repack(located.path),
        first_policy="active" if can_park() else "passive",  # threads that spin must not burn an idle machine
        progress=progress,
    )
    cache.save(found)
    return found


def _embedded_fingerprint(weights_sha256: str) -> str:
    """Weights, quantization and template by the file's digest, and the engine's version."""
    return f"{weights_sha256[:16]}:{importlib.metadata.version('xllamacpp')}"


def fingerprint_of(settings: Settings) -> str | None:
    """What a calibration of the settings' engine belongs to, found without starting it; None if it is not installed.

    Raises:
        TetoError: its weights are not there.
    """
    if settings.engine.kind == "external":
        from teto.engines.external import external_fingerprint

        return external_fingerprint(settings.engine.base_url, settings.engine.model)
    if settings.engine.kind == "none" or not has_engine_extra():
        return None
    return _embedded_fingerprint(open_store(settings).locate(settings.engine.weights).sha256)


async def _embedded(settings: Settings, progress: Progress) -> "LlamaEngine":
    from teto.catalog.gguf import read_gguf
    from teto.engines.llama import LlamaEngine, LlamaLimits
    from teto.engines.llama_process import LlamaProcess, child_environment
    from teto.ports import EngineFacts

    require_engine_extra()
    located = open_store(settings).locate(settings.engine.weights)
    model_file = read_gguf(located.path)
    device = probe_here(again=False, progress=progress)
    if tuning_cache().load(located.sha256) is None:
        progress("tuning the engine to this machine, once, in under 15 s ...")
    tuning = await tune_here(settings, again=False, progress=progress)
    setup = replace(llama_setup(settings, located.path), **asdict(tuning.variant))
    facts = EngineFacts(
        name="embedded llama.cpp",
        model=located.entry.id if located.entry is not None else located.path.stem,
        fingerprint=_embedded_fingerprint(located.sha256),
        context_tokens=settings.engine.context_tokens,
        slots=settings.engine.slots,
        capabilities=frozenset({"logprobs", "schema"}),
        prefill_tokens_per_s=tuning.measured.prefill_tokens_per_s,
        decode_tokens_per_s=tuning.measured.decode_tokens_per_s,
        prefill_batch_tokens=_BATCH_TOKENS,
        shape=model_file.shape,
        weights=model_file.weights,
        device=device,
    )
    engine = LlamaEngine(
        facts,
        start_process=lambda: LlamaProcess.start(setup, environment=child_environment()),
        limits=LlamaLimits(
            queue_limit=settings.engine.queue_limit,
            first_token_timeout_s=settings.engine.first_token_timeout_s,
            gap_timeout_s=settings.engine.gap_timeout_s,
        ),
    )
    progress(f"loading {facts.model} ({tuning.variant}) ...")
    await engine.start()
    return engine


async def _external(settings: Settings, progress: Progress) -> "Engine":
    from teto.engines.external import ExternalEngine, ExternalSetup

    engine = ExternalEngine(
        ExternalSetup(
            base_url=settings.engine.base_url,
            model=settings.engine.model,
            api_key=os.environ.get(settings.engine.api_key_env) if settings.engine.api_key_env else None,
            context_tokens=settings.engine.context_tokens,
            slots=settings.engine.slots,
            queue_limit=settings.engine.queue_limit,
            first_token_timeout_s=settings.engine.first_token_timeout_s,
            gap_timeout_s=settings.engine.gap_timeout_s,
        )
    )
    progress(f"probing {settings.engine.base_url} ...")
    await engine.start()
    return engine


async def open_engine(settings: Settings, progress: Progress) -> "Engine | None":
    """The engine of the settings, started; whoever asked closes it. None where there is to be none."""
    if settings.engine.kind == "embedded":
        return await _embedded(settings, progress)
    return await _external(settings, progress) if settings.engine.kind == "external" else None


def _upstreams(settings: Settings) -> "Mapping[str, Upstream]":
    from teto.ports import UpstreamFacts
    from teto.upstreams.http import HttpUpstream, HttpUpstreamSetup

    return {
        name: HttpUpstream(
            HttpUpstreamSetup(
                facts=UpstreamFacts(name=name, base_url=upstream.base_url, model=upstream.model),
                api_key=os.environ.get(upstream.api_key_env) if upstream.api_key_env else None,
                api_key_env=upstream.api_key_env,
                connect_timeout_s=upstream.connect_timeout_s,
                first_token_timeout_s=upstream.first_token_timeout_s,
                gap_timeout_s=upstream.gap_timeout_s,
                total_timeout_s=upstream.total_timeout_s,
            )
        )
        for name, upstream in settings.upstreams.items()
    }


@dataclass(frozen=True, slots=True)
class _Prices:
    """Own prices first, published ones otherwise."""

    settings: Settings

    def __call__(self, upstream: "Upstream", model: str, tokens: "TokenVector", at_unix_s: float) -> "Cost":
        from teto.catalog.prices import own_cost, published_cost

        own = self.settings.upstreams[upstream.facts.name]
        if own.usd_per_mtok_in is not None and own.usd_per_mtok_out is not None:
            return own_cost(tokens, (own.usd_per_mtok_in, own.usd_per_mtok_out))
        return published_cost(tokens, model=model, base_url=upstream.facts.base_url, at_unix_s=at_unix_s)


@contextlib.asynccontextmanager
async def open_gateway(settings: Settings, progress: Progress) -> "AsyncIterator[App]":
    """A gateway with everything it needs, closed in order when the context ends."""
    from teto.catalog.task_model import shipped_task_model
    from teto.cli.calibrations import calibration_of
    from teto.gateway.app import create_app
    from teto.gateway.parts import ChatParts
    from teto.gateway.routing import Router
    from teto.ledger.drift_file import DriftFile
    from teto.measure.clock import SystemClock
    from teto.power.powercap import PowercapMeter

    upstreams = _upstreams(settings)
    if upstreams:
        import genai_prices  # noqa: F401 - loaded before the first request has to wait for it
    async with contextlib.AsyncExitStack() as stack:
        ledger = open_ledger(settings)
        stack.push_async_callback(ledger.close)
        for upstream in upstreams.values():
            stack.push_async_callback(upstream.close)
        engine = await open_engine(settings, progress)
        if engine is not None:
            stack.push_async_callback(engine.close)
        app = create_app(
            ChatParts(
                engine=engine,
                engine_note="engine.kind is none: there is no local engine.",
                upstreams=upstreams,
                router=Router(settings.routes, upstreams),
                ledger=ledger,
                power=PowercapMeter(),
                clock=SystemClock(),
                price=_Prices(settings),
                gateway=settings.gateway,
                policy=settings.policy,
                task_model=shipped_task_model(),
                calibration=None if engine is None else calibration_of(engine.facts.fingerprint),
                drift=settings.drift,
                drift_store=DriftFile(USER_FOLDERS.user_state_path / "drift.json"),
                keep_texts=settings.ledger.keep_texts,
                mean_power_w=settings.power.mean_power_w,
            )
        )
        stack.push_async_callback(app.service.drain)
        yield app
