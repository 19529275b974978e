"""Judged answers made up with a known truth."""

import numpy as np

from teto.triage.judged import Judged
from teto.triage.signals import Signals

__all__ = ["judged", "signals"]


def signals(mean_logprob: float = -0.1, **others: float) -> Signals:
    """Signals of which only the mean says anything, unless told otherwise."""
    values = {
        "least_logprob": mean_logprob,
        "low_logprob": mean_logprob,
        "first_logprob": mean_logprob,
        "first_margin": 2.0,
        "least_margin": 2.0,
        "unsure_tokens": 0.0,
        "log_tokens": 1.0,
        "has_labels": 0.0,
        "label_log_odds": 0.0,
        "has_division": 0.0,
        "divided_log_odds": 0.0,
        "is_unfinished": 0.0,
        "n_labels": 0.0,
        "copied_fraction": 0.0,
        "novel_numbers": 0.0,
        "length_ratio": 0.0,
        "is_unchanged": 0.0,
        "given_words": 0.0,
        **others,
    }
    return Signals(mean_logprob=mean_logprob, **values)


def judged(
    n: int, *, seed: int, tasks: tuple[str, ...] = ("classify",), language: str = "en", with_second: bool = False
) -> list[Judged]:
    """Answers whose chance of being right is the logistic function of 3 + 2 times their mean logprob.

    A second answer agrees with a right first one 9 times in 10, and with a wrong one 3 times in 10.
    """
    generator = np.random.default_rng(seed)
    rows = []
    for at in range(n):
        mean = -float(generator.exponential(1.0))
        right = bool(generator.random() < 1 / (1 + np.exp(-(3 + 2 * mean))))
        agreed = bool(generator.random() < (0.9 if right else 0.3)) if with_second else None
        rows.append(
            Judged(
                id=f"{seed}-{at}",
                task=tasks[at % len(tasks)],
                language=language,
                signals=signals(mean),
                n_tokens=3,
                right=right,
                agreed=agreed,
            )
        )
    return rows
