"""When local wins, by hand and as properties."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import BF16, GPU, TINY, TINY_WEIGHTS
from teto.physics.calls import CallTokens
from teto.physics.cost import Cost, unknown_cost
from teto.physics.deployment import Deployment
from teto.physics.energy import derived_energy, unknown_energy
from teto.physics.placement import Cloud, Local, PlacedCall, crossovers, place_call, placement_grid
from teto.physics.placement_tree import Leaf, Question, placement_tree

# 1e5 B/s: a step of 2,620 bytes of weights takes 26.2 ms and 0.32 ms more for each position of KV.
HERE = Local(
    deployment=Deployment(
        shape=TINY,
        weights=TINY_WEIGHTS,
        compute=BF16,
        device=replace(GPU, mem_bandwidth_bytes_per_s=1e5, flops_per_s={"bf16": 1e8}),
    ),
    queue_s=0.1,
    longest_context_tokens=512,
)
THERE = Cloud(name="big", round_trip_s=0.2, first_token_s=0.5, tokens_per_s=50)
JOULES = derived_energy(power_w=10, seconds=0.5, boundary="board", source="test")


def place(prompt: int, output: int, *, local: Local = HERE, cloud: Cloud = THERE) -> PlacedCall:
    """One call in both places, at 5 J, 0.36 USD/kWh and half a cent in the cloud."""
    return place_call(
        local,
        cloud,
        CallTokens(prompt_tokens=prompt, output_tokens=output),
        local_energy=JOULES,
        usd_per_kwh=0.36,
        cloud_cost=Cost(usd=Decimal("0.005"), note="test"),
    )


def test_a_short_answer_by_hand() -> None:
    """Queue, prefill and two steps here against round trip, first token and two tokens there."""
    found = place(3, 3)
    # Prefill 2,852 bytes, steps 5,592 bytes, all at 1e5 B/s.
    assert [seconds for _, seconds in found.local_parts_s] == pytest.approx([0.1, 0.02852, 0.05592])
    assert [seconds for _, seconds in found.cloud_parts_s] == pytest.approx([0.2, 0.5, 0.04])
    assert found.wins == "local"
    # 5 J at 0.36 USD for 3.6e6 J.
    assert found.local_cost.usd == pytest.approx(Decimal("5e-7"))
    assert any("10,000 times the electricity" in reason for reason in found.reasons)


def test_what_does_not_fit_goes_up() -> None:
    """A call beyond the local memory is the cloud's however slow that is."""
    found = place(100, 20, local=replace(HERE, longest_context_tokens=118), cloud=replace(THERE, round_trip_s=60))
    assert not found.fits_locally
    assert found.wins == "cloud"
    assert found.reasons[0] == "it does not fit here: memory holds a context of 118 tokens"


def test_unknown_energy_gives_no_price() -> None:
    """Without joules or without a tariff there is no marginal cost, and the note says which."""
    tokens = CallTokens(prompt_tokens=3, output_tokens=3)
    cases = ((unknown_energy("no meter"), 0.3, "no meter"), (JOULES, None, "electricity was not given"))
    for energy, usd_per_kwh, words in cases:
        found = place_call(
            HERE, THERE, tokens, local_energy=energy, usd_per_kwh=usd_per_kwh, cloud_cost=unknown_cost("no price")
        )
        assert found.local_cost.usd is None
        assert words in found.local_cost.note


def test_the_grid_is_as_many_calls() -> None:
    """Each point of the grid is the call that its lengths make; contexts too long for here are infinite."""
    prompts, outputs = np.array([3.0, 100.0, 400.0]), np.array([1.0, 50.0, 200.0])
    grid = placement_grid(HERE, THERE, prompt_tokens=prompts, output_tokens=outputs)
    for i, prompt in enumerate(prompts):
        for j, output in enumerate(outputs):
            if prompt + output - 1 > 512:
                assert grid.local_s[i, j] == np.inf
                continue
            found = place(int(prompt), int(output))
            assert grid.local_s[i, j] == pytest.approx(found.local_s)
            assert grid.cloud_s[i, j] == pytest.approx(found.cloud_s)


def test_a_cloud_with_a_prefill_rate_waits_for_long_prompts() -> None:
    """Tokens beyond those of the measured first token are read at the rate that is given."""
    cloud = replace(THERE, prefill_tokens_per_s=1000.0, first_token_prompt_tokens=100)
    assert cloud.seconds(100.0, 1.0) == pytest.approx(0.7)
    assert cloud.seconds(600.0, 1.0) == pytest.approx(1.2)


@given(
    prompt=st.integers(1, 400),
    output=st.integers(1, 100),
    queue=st.floats(0, 3),
    speed=st.floats(5, 500),
    first=st.floats(0, 3),
)
def test_the_crossover_is_where_the_winner_changes(
    prompt: int, output: int, queue: float, speed: float, first: float
) -> None:
    """One token before it the place of short answers wins, at it the other one."""
    local = replace(HERE, queue_s=queue)
    cloud = replace(THERE, first_token_s=first, tokens_per_s=speed)
    at = crossovers(local, cloud, CallTokens(prompt_tokens=prompt, output_tokens=output)).output_tokens
    short = place(prompt, 1, local=local, cloud=cloud).wins
    if at is None:
        assert place(prompt, 512 - prompt + 1, local=local, cloud=cloud).wins == short
    else:
        assert place(prompt, at - 1, local=local, cloud=cloud).wins == short
        assert place(prompt, at, local=local, cloud=cloud).wins != short


def test_the_crossover_in_words() -> None:
    """The words give the length and both places."""
    found = crossovers(HERE, THERE, CallTokens(prompt_tokens=50, output_tokens=10))
    assert found.output_tokens is not None
    assert found.reasons[0] == (
        f"with a prompt of 50 tokens local is faster for answers under {found.output_tokens} tokens, "
        "cloud from there on"
    )


def test_the_tree_asks_privacy_first() -> None:
    """Private data never leads to the cloud; what does not fit and is not private always does."""
    placed = place(3, 3)
    tree = placement_tree(placed, crossovers(HERE, THERE, placed.tokens), HERE)
    assert isinstance(tree, Question)
    assert tree.answer is None

    def places(node: Question | Leaf) -> set[str]:
        return {node.place} if isinstance(node, Leaf) else places(node.yes) | places(node.no)

    assert places(tree.yes) == {"local", "neither"}
    assert isinstance(tree.no, Question)
    assert tree.no.answer is True
    assert isinstance(tree.no.no, Leaf)
    assert tree.no.no.place == "cloud"


def test_the_tree_in_portuguese() -> None:
    """The same questions and places, with the figures as Portuguese writes them."""
    placed = place(400, 3)
    crossing = crossovers(HERE, THERE, placed.tokens)
    english, portuguese = (placement_tree(placed, crossing, HERE, lang=lang) for lang in ("en", "pt"))

    def shape(node: Question | Leaf) -> object:
        return node.place if isinstance(node, Leaf) else (node.answer, shape(node.yes), shape(node.no))

    assert shape(english) == shape(portuguese)
    assert isinstance(portuguese, Question)
    assert portuguese.text == "Os dados têm de ficar nesta máquina?"
    assert isinstance(portuguese.no, Question)
    quality = portuguese.no.yes
    assert isinstance(quality, Question)
    latency = quality.no
    assert isinstance(latency, Question)
    # Queue 100 ms; weights 2,600 + rows 8,000 + KV 25,600 bytes at 1e5 B/s; two steps of 2,620 + 402 or 403 · 32.
    assert latency.figure == "772 ms aqui, 740 ms na nuvem; com este prompt isso vira em 3 tokens de resposta"
    worth = latency.no
    assert isinstance(worth, Question)
    assert worth.figure == "32 ms a mais aqui; $0,0000005 aqui, $0,005 lá"


@pytest.mark.parametrize(
    "bad", [{"round_trip_s": -0.1}, {"tokens_per_s": 0.0}, {"first_token_s": float("nan")}, {"tokens_per_s": np.inf}]
)
def test_an_absurd_cloud_is_refused(bad: dict[str, float]) -> None:
    """Times are not negative, speeds above 0, and all are finite."""
    with pytest.raises(ValueError, match="Cloud"):
        replace(THERE, **bad)  # type: ignore[arg-type]
