"""What the drift alarm says, tests and cannot test, in English and Portuguese: shown wherever the alarm is."""

from dataclasses import dataclass
from typing import Final

from teto.triage.bounds import Interval
from teto.triage.drift import DriftState, rate_interval
from teto.units import show_fraction

__all__ = ["NOTICES", "DriftNotice", "DriftSummary", "summarise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftNotice:
    """One statement: a stable code, and the same sentences in English and in Portuguese."""

    code: str
    en: str
    pt: str


NOTICES: Final = (
    DriftNotice(
        code="proxy",
        en="What is tested is disagreement with the cloud, a stand-in for being wrong. Where both are wrong in the "
        "same way nothing is seen; where the cloud is wrong, or says the same otherwise, a right answer counts "
        "against the local model. The baseline disagreement allows for the latter, and it is an assumption.",
        pt="O que se testa é a discordância com a nuvem, que apenas representa o erro. Quando os dois erram do "
        "mesmo jeito, nada se vê; quando a nuvem erra, ou diz o mesmo de outra forma, uma resposta certa conta "
        "contra o modelo local. A discordância de base dá margem a esse último caso, e é uma suposição.",
    ),
    DriftNotice(
        code="provider",
        en="A change at the provider (another model under the same name, another format) can trip the alarm though "
        "nothing changed here. It says that something changed, not what.",
        pt="Uma mudança no provedor (outro modelo com o mesmo nome, outro formato) pode disparar o alarme sem que "
        "nada tenha mudado aqui. O alarme diz que algo mudou, não o quê.",
    ),
    DriftNotice(
        code="missing",
        en="Shadows that failed, and pairs of answers that no program can compare, are counted but test nothing, "
        "and they are not a random part: long prompts, filtered content and hours of load fail more often. If wrong "
        "answers are more frequent among them than elsewhere, the alarm sees too little; if less, too much.",
        pt="Sombras que falharam, e pares de respostas que nenhum programa sabe comparar, são contados, mas não "
        "testam nada, e não são uma parte aleatória: pedidos longos, conteúdo filtrado e horas de pico falham mais. "
        "Se entre eles há mais erros do que no resto, o alarme vê de menos; se há menos, vê demais.",
    ),
    DriftNotice(
        code="kept_share",
        en="Only kept answers are compared, so the rate shown is of those. To set it against a bound on P(kept and "
        "wrong), multiply it by the kept share. That share is the calibration's: if more is kept now than then, the "
        "bound may be broken without an alarm.",
        pt="Só respostas mantidas são comparadas; a taxa mostrada se refere a elas. Para confrontá-la com um limite "
        "de P(mantida e errada), multiplique-a pela fração mantida. Essa fração é a da calibração: se hoje se "
        "mantém mais do que então, o limite pode ser quebrado sem alarme.",
    ),
    DriftNotice(
        code="private",
        en="Private requests are never shadowed: of the answers to them nothing is known.",
        pt="Pedidos privados nunca são enviados como sombra: das respostas a eles nada se sabe.",
    ),
    DriftNotice(
        code="tasks",
        en="Only answers that a program can compare are tested: labels, yes or no, JSON, short spans. A rewrite "
        "that differs may be as right, so rewrites are not tested at all.",
        pt="Só se testam respostas que um programa sabe comparar: rótulos, sim ou não, JSON, trechos curtos. Uma "
        "reescrita diferente pode estar igualmente certa; por isso, reescritas não são testadas.",
    ),
    DriftNotice(
        code="delta",
        en="The chance of a false alarm is divided over the slices and over the restarts of each, so that all "
        "together raise one with at most that chance, ever. More slices make each alarm slower.",
        pt="A probabilidade de alarme falso é dividida entre as fatias e os reinícios de cada uma, de modo que "
        "todas juntas disparem um alarme falso com no máximo essa probabilidade, para sempre. Mais fatias tornam "
        "cada alarme mais lento.",
    ),
    DriftNotice(
        code="silence",
        en="Silence proves nothing: a rate up to p0 is what the calibration allows, a rate just above it takes "
        "thousands of labels, and a share of 1 % shadowed makes a hundred kept answers of each label.",
        pt="Silêncio não prova nada: uma taxa até p0 é o que a calibração permite, uma taxa pouco acima dela leva "
        "milhares de rótulos, e com 1 % de sombras cada rótulo custa cem respostas mantidas.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftSummary:
    """One test as it is shown.

    `rate` bounds P(disagree | kept) at every look (`rate_interval`), `kept_and_disagreed` is that times the kept
    share. `rate_if_untold_disagreed` is the observed rate had every shadow that was not compared disagreed; None
    before the first shadow.
    """

    n: int
    n_disagreed: int
    n_untold: int
    p0: float
    delta: float
    e_value: float
    highest_e_value: float
    alarm_e_value: float
    is_alarm: bool
    alarm_at: int | None
    rate: Interval
    kept_and_disagreed: Interval
    rate_if_untold_disagreed: float | None
    meaning: DriftNotice


def summarise(state: DriftState, *, level: float = 0.95) -> DriftSummary:
    """The state in figures, and what they mean in words.

    Raises:
        ValueError: a level outside (0, 1).
    """
    test, n_all = state.test, state.n + state.n_untold
    rate = rate_interval(state.n_disagreed, state.n, level)
    share = test.kept_fraction
    return DriftSummary(
        n=state.n,
        n_disagreed=state.n_disagreed,
        n_untold=state.n_untold,
        p0=test.p0,
        delta=test.delta,
        e_value=state.e_value,
        highest_e_value=state.highest_e_value,
        alarm_e_value=test.alarm_e_value,
        is_alarm=state.is_alarm,
        alarm_at=state.alarm_at,
        rate=rate,
        kept_and_disagreed=Interval(low=rate.low * share, high=rate.high * share, level=level),
        rate_if_untold_disagreed=(state.n_disagreed + state.n_untold) / n_all if n_all else None,
        meaning=_meaning(state),
    )


def _meaning(state: DriftState) -> DriftNotice:
    if state.alarm_at is not None:
        return _alarm(state, f"{state.alarm_at:,}")
    if state.n == 0:
        return DriftNotice(
            code="no_data",
            en="No kept answer has been compared yet: nothing is known.",
            pt="Nenhuma resposta mantida foi comparada ainda: nada se sabe.",
        )
    p0, seen, n = show_fraction(state.test.p0), f"{state.n_disagreed:,}", f"{state.n:,}"
    evidence, needed = f"{state.e_value:.3g}", f"{state.test.alarm_e_value:,.0f}"
    return DriftNotice(
        code="no_alarm",
        en=f"No alarm: {seen} of {n} compared answers disagree, evidence {evidence} of the {needed} that ring it. "
        f"That does not show that the rate is at most {p0}.",
        pt=f"Sem alarme: {_pt(seen)} de {_pt(n)} respostas comparadas discordam, evidência {_pt(evidence)} das "
        f"{_pt(needed)} que o disparam. Isso não mostra que a taxa é de no máximo {_pt(p0)}.",
    )


def _alarm(state: DriftState, at: str) -> DriftNotice:
    p0, delta = show_fraction(state.test.p0), show_fraction(state.test.delta)
    return DriftNotice(
        code="alarm",
        en=f"Alarm after {at} compared answers: the cloud disagrees with more than {p0} of the kept answers. Were it "
        f"at most {p0}, an alarm would come with a chance of at most {delta}, however long one looks. The local "
        "answers, the traffic or the cloud have changed, or the calibration never fitted.",
        pt=f"Alarme após {_pt(at)} respostas comparadas: a nuvem discorda de mais de {_pt(p0)} das respostas "
        f"mantidas. Se fossem no máximo {_pt(p0)}, um alarme viria com probabilidade de no máximo {_pt(delta)}, por "
        "mais que se olhe. As respostas locais, o tráfego ou a nuvem mudaram, ou a calibração nunca serviu.",
    )


def _pt(figure: str) -> str:
    """A figure as Portuguese writes it: 1.234,5."""
    return figure.translate({ord(","): ".", ord("."): ","})
