"""The shipped task model is the one that its script makes of its data."""

from pathlib import Path
from typing import Final

import pytest

from task_model.data import load_samples
from task_model.train import SHIPPED, fingerprint, same_model, train
from teto.catalog.task_model import fingerprint_of_task_model, load_task_model

SHARED: Final = Path(__file__).resolve().parents[3] / "shared" / "data"


def test_the_shipped_model_was_made_of_these_prompts() -> None:
    """Whoever changes a prompt trains again."""
    assert fingerprint_of_task_model(SHIPPED) == fingerprint(load_samples(None))


@pytest.mark.skipif(not (SHARED / "labels").is_dir(), reason="the shared labels are not here")
def test_training_again_gives_the_shipped_model() -> None:
    """The script, run on this machine."""
    samples = load_samples(SHARED)
    assert same_model(train(samples), load_task_model(SHIPPED), samples)
