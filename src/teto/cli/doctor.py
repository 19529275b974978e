"""`teto doctor`."""

import asyncio
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from teto.errors import TetoError

if TYPE_CHECKING:
    from teto.config import Settings

__all__ = ["doctor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """One check; `missing` keeps `teto serve` from working, `note` does not."""

    name: str
    state: Literal["ok", "note", "missing"]
    text: str
    fix: str | None = None


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_context
def doctor(ctx: click.Context, *, as_json: bool) -> None:
    """Say what is missing and the command that fixes it; exit code 1 if `teto serve` cannot work."""
    import msgspec

    from teto.cli import wiring

    findings = list(_examine(wiring.load_settings(ctx)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings)))
    else:
        for finding in findings:
            click.echo(f"{finding.state:8} {finding.name:10} {finding.text}")
            if finding.fix is not None:
                click.echo(f"{'':19} → {finding.fix}")
    if any(finding.state == "missing" for finding in findings):
        ctx.exit(1)


def _examine(settings: "Settings") -> Iterator[_Finding]:
    yield _Finding(name="python", state="ok", text=sys.version.split()[0])
    if settings.engine.kind == "embedded":
        yield _engine_extra()
        yield from _weights(settings)
    elif settings.engine.kind == "external":
        yield _Finding(name="engine", state="ok", text=f"external, {settings.engine.base_url} {settings.engine.model}")
    else:
        yield _Finding(name="engine", state="note", text="none: everything goes to the cloud.")
    yield from _clouds(settings)
    yield from _policy(settings)
    yield _ledger(settings)
    yield _port(settings)
    yield _power(settings)


def _engine_extra() -> _Finding:
    from teto.cli import wiring

    if not wiring.has_engine_extra():
        fix = 'pip install "teto[engine]"'
        return _Finding(name="engine", state="missing", text="the embedded engine is not installed.", fix=fix)
    from importlib.metadata import version

    return _Finding(name="engine", state="ok", text=f"xllamacpp {version('xllamacpp')}")


def _weights(settings: "Settings") -> Iterator[_Finding]:
    from teto.cli import wiring

    try:
        located = wiring.open_store(settings).locate(settings.engine.weights)
    except TetoError as error:
        yield _Finding(name="weights", state="missing", text=error.message, fix=error.fix)
        return
    yield _Finding(name="weights", state="ok", text=str(located.path))
    tuning = wiring.tuning_cache().load(located.sha256)
    if tuning is None:
        text = "not tuned yet; the first `teto serve` does it in under 15 s."
        yield _Finding(name="tune", state="note", text=text, fix="teto probe --engine")
    else:
        yield _Finding(name="tune", state="ok", text=str(tuning.variant))


def _policy(settings: "Settings") -> Iterator[_Finding]:
    """Whether what is kept rests on a calibration, and on which."""
    from teto.cli import wiring
    from teto.cli.calibrations import calibration_of

    if settings.engine.kind == "none":
        return
    try:
        fingerprint = wiring.fingerprint_of(settings)
        calibration = None if fingerprint is None else calibration_of(fingerprint)
    except TetoError as error:
        yield _Finding(name="policy", state="note", text=error.message, fix=error.fix)
        return
    if calibration is None:
        text = "conservative: this engine is not calibrated, so no share of wrong answers is promised."
        yield _Finding(name="policy", state="note", text=text, fix="teto calibrate --builtin")
        return
    text = (
        f"calibrated on {calibration.source} ({calibration.n_calibration:,} rows, {calibration.created}); "
        "each receipt quotes its bound."
    )
    yield _Finding(name="policy", state="ok", text=text)


def _clouds(settings: "Settings") -> Iterator[_Finding]:
    if not settings.upstreams:
        text = "none configured: what the local model may not answer is refused."
        yield _Finding(name="cloud", state="note", text=text, fix="add an [upstreams.NAME] table to teto.toml")
    for name, upstream in settings.upstreams.items():
        if upstream.api_key_env and not os.environ.get(upstream.api_key_env):
            fix = f"export {upstream.api_key_env}=..."
            text = f"{name}: the environment variable {upstream.api_key_env} is empty."
            yield _Finding(name="cloud", state="note", text=text, fix=fix)
        else:
            yield _Finding(name="cloud", state="ok", text=f"{name}: {upstream.base_url} {upstream.model}")


def _ledger(settings: "Settings") -> _Finding:
    from teto.cli import wiring

    path = wiring.ledger_path(settings)
    try:
        asyncio.run(wiring.open_ledger(settings).close())
    except TetoError as error:
        return _Finding(name="ledger", state="missing", text=error.message, fix=error.fix)
    return _Finding(name="ledger", state="ok", text=str(path))


def _port(settings: "Settings") -> _Finding:
    host, port = settings.gateway.host, settings.gateway.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        if probe.connect_ex((host, port)) == 0:
            text = f"something listens on {host}:{port}; a running gateway perhaps (`teto mode` asks it)."
            return _Finding(name="port", state="note", text=text)
    return _Finding(name="port", state="ok", text=f"{host}:{port} is free")


def _power(settings: "Settings") -> _Finding:
    from teto.power.powercap import PowercapMeter

    reading = PowercapMeter().read()
    if reading.joules is not None:
        return _Finding(name="energy", state="ok", text=reading.note)
    if settings.power.mean_power_w > 0:
        text = f"derived from power.mean_power_w ({settings.power.mean_power_w:g} W): {reading.note}"
        return _Finding(name="energy", state="ok", text=text)
    fix = "if you know it, set power.mean_power_w"
    return _Finding(name="energy", state="note", text=f"receipts say unknown: {reading.note}.", fix=fix)
