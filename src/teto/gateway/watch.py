"""Watches kept answers for drift: one alarm for each threshold, whose ringing sends its slices to the cloud."""

from collections.abc import Mapping
from typing import Any

import msgspec

from teto.errors import ConfigError
from teto.ports import DriftStore
from teto.triage.bounds import clopper_pearson
from teto.triage.calibration import Calibration, PrefixRule
from teto.triage.drift import DriftState, drift_test, observe, share_of_delta, start
from teto.triage.drift_notices import NOTICES, summarise
from teto.triage.slices import Certificate

__all__ = ["DriftWatch"]


class _Saved(msgspec.Struct, frozen=True):
    """What is kept of one calibration: its name, how many were watched before it, and where its tests stand."""

    calibration: str
    restarts: int
    states: dict[str, DriftState]


class DriftWatch:
    """Holds one test per certified threshold of the rule in force; the store keeps them over restarts."""

    def __init__(self, rule: PrefixRule, *, name: str, delta: float, baseline: float, store: DriftStore) -> None:
        self._rule = rule
        self._store = store
        self._untestable: dict[str, str] = {}
        saved = _read(store)
        restarts = 0 if saved is None else saved.restarts + (saved.calibration != name)
        known: Mapping[str, DriftState] = saved.states if saved is not None and saved.calibration == name else {}
        streams = {_stream(one): one for one in rule.certification.certificates if _can_keep(one)}
        self._states: dict[str, DriftState] = {}
        for stream, certificate in streams.items():
            share = share_of_delta(delta, n_slices=len(streams), restart=restarts)
            state = known.get(stream) or self._start(stream, certificate, delta=share, baseline=baseline)
            if state is not None:
                self._states[stream] = state
        self._name, self._restarts = name, restarts

    @classmethod
    def of(
        cls, calibration: Calibration | None, hold_back_tokens: int, *, delta: float, baseline: float, store: DriftStore
    ) -> "DriftWatch | None":
        """The watch of a calibration's rule; None where there is no calibration to watch."""
        if calibration is None:
            return None
        rule = calibration.rule(hold_back_tokens)
        name = f"{calibration.fingerprint} {calibration.created} {calibration.n_calibration} {rule.score_id}"
        return cls(rule, name=name, delta=delta, baseline=baseline, store=store)

    def _start(self, stream: str, certificate: Certificate, *, delta: float, baseline: float) -> DriftState | None:
        chosen = certificate.threshold
        assert chosen is not None  # noqa: S101 - see _can_keep
        try:
            test = drift_test(
                rule=chosen.rule,
                alpha=chosen.alpha,
                kept_fraction=clopper_pearson(chosen.kept, chosen.n).low,
                baseline_disagreement=baseline,
                delta=delta,
            )
        except ValueError as error:
            self._untestable[stream] = str(error)
            return None
        return start(test)

    def _stream_of(self, task: str, language: str) -> str | None:
        certificate = self._rule.certificate(task, language)
        return None if certificate is None or not _can_keep(certificate) else _stream(certificate)

    def is_ringing(self, task: str, language: str) -> bool:
        """Whether the slice's alarm has rung: it keeps nothing until it is calibrated again."""
        stream = self._stream_of(task, language)
        return stream in self._states and self._states[stream].is_alarm

    async def saw(self, task: str, language: str, *, disagreed: bool | None) -> None:
        """Learn from one shadowed kept answer; None: it failed or could not be compared."""
        stream = self._stream_of(task, language)
        if stream is None or stream not in self._states:
            return
        self._states[stream] = observe(self._states[stream], disagreed=disagreed)
        saved = _Saved(calibration=self._name, restarts=self._restarts, states=self._states)
        await self._store.save(msgspec.json.encode(saved))

    def report(self) -> dict[str, Any]:
        """What /teto/health shows: each test in figures and words, and what none of them can tell."""
        return {
            "tests": {stream: msgspec.to_builtins(summarise(state)) for stream, state in self._states.items()},
            "not_testable": dict(self._untestable),
            "notices": [msgspec.to_builtins(notice) for notice in NOTICES],
        }


def _can_keep(certificate: Certificate) -> bool:
    return certificate.threshold is not None and certificate.threshold.threshold is not None


def _stream(certificate: Certificate) -> str:
    """Slices that share a threshold are one stream: the bound is over their calls together."""
    alone = certificate.standing == "alone"
    return f"{certificate.task} {certificate.language}" if alone else f"pooled {certificate.language}"


def _read(store: DriftStore) -> _Saved | None:
    found = store.load()
    if found is None:
        return None
    try:
        return msgspec.json.decode(found, type=_Saved)
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigError(
            f"The saved state of the drift alarm cannot be read: {error}.",
            fix="Move it away (state folder, drift.json): the tests start anew.",
        ) from None
