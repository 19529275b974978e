"""The ceiling: which limit binds, and the articles' figures."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.physics.models import BF16, GPU, LLAMA_2_7B, LLAMA_2_7B_FP16
from teto.physics.device import Device, Rate
from teto.physics.mixers import Traffic
from teto.physics.precision import Dtype
from teto.physics.roofline import Ceiling, Work, ceiling, decode, prefill

LAPTOP = Device(
    name="laptop",
    mem_bandwidth_bytes_per_s=100e9,
    kind="assumed",
    source="the articles' round figures",
)


def least(work: Work, device: Device) -> Ceiling:
    """The ceiling of 16-bit arithmetic on the device."""
    rate = device.rate(BF16)
    return ceiling(
        work,
        mem_bandwidth_bytes_per_s=device.mem_bandwidth_bytes_per_s,
        flops_per_s=None if rate is None else rate.flops_per_s,
    )


def of(*, weight_bytes: float, kv_bytes: float = 0.0, flops: float = 0.0) -> Work:
    """Work whose FLOPs are all in the linear layers."""
    return Work(linear=Traffic(weight_bytes, flops), attention=Traffic(kv_bytes, 0.0), head=Traffic(0.0, 0.0))


@pytest.mark.parametrize(
    ("weight_gb", "device", "tokens_per_s"),
    [
        (14, GPU, 214.2857),  # 7B in FP16: 3,000 / 14
        (7, GPU, 428.5714),  # in INT8: 3,000 / 7
        (2, LAPTOP, 50),  # 3B at 4 bits on a laptop: 100 / 2
    ],
)
def test_the_articles_ceilings(weight_gb: float, device: Device, tokens_per_s: float) -> None:
    """Bandwidth over the bytes of the weights gives the articles' tokens per second."""
    found = least(of(weight_bytes=weight_gb * 1e9, flops=14e9), device)
    assert found.limit == "memory"
    assert 1 / found.seconds == pytest.approx(tokens_per_s, abs=1e-4)


def test_context_lowers_the_ceiling() -> None:
    """KV is read with the weights: at 4,096 tokens of context Llama-2-7B's ceiling is 14 % lower."""
    # 13,214,162,944 + 4,097 · 524,288 = 15,362,170,880 bytes; 3e12 over that is 195.28.
    work = decode(LLAMA_2_7B, LLAMA_2_7B_FP16, n_steps=1, start_context_tokens=4095)
    assert 1 / least(work, GPU).seconds == pytest.approx(195.2849, abs=1e-4)


@pytest.mark.parametrize(
    ("flops", "expected"),
    [
        (299.0, Ceiling(seconds=1 / 3e12, limit="memory")),
        (300.0, Ceiling(seconds=1 / 3e12, limit="memory")),  # on the ridge both take as long
        (301.0, Ceiling(seconds=301 / 900e12, limit="compute")),
    ],
)
def test_the_ridge_parts_memory_from_compute(flops: float, expected: Ceiling) -> None:
    """Below 900e12 / 3e12 = 300 FLOPs a byte memory binds, above it compute does."""
    assert GPU.ridge_flops_per_byte(BF16) == 300
    assert least(of(weight_bytes=1, flops=flops), GPU) == expected


def test_prefill_binds_on_compute_only_above_the_ridge() -> None:
    """A long prompt is compute-bound and a short one memory-bound, on the same device."""
    limits = [least(prefill(LLAMA_2_7B, LLAMA_2_7B_FP16, n_tokens=n_tokens), GPU).limit for n_tokens in (16, 200, 1024)]
    assert limits == ["memory", "memory", "compute"]


def test_an_unknown_compute_rate_leaves_memory() -> None:
    """Where nobody measured the compute rate no compute limit is claimed."""
    assert LAPTOP.ridge_flops_per_byte(BF16) is None
    assert least(of(weight_bytes=1e9, kv_bytes=1e9, flops=1e30), LAPTOP) == Ceiling(seconds=0.02, limit="memory")


@given(
    weight_bytes=st.floats(0, 1e15),
    kv_bytes=st.floats(0, 1e15),
    flops=st.floats(0, 1e18),
)
def test_the_ceiling_is_no_shorter_than_either_limit(weight_bytes: float, kv_bytes: float, flops: float) -> None:
    """No work is done faster than its bytes arrive, or than its FLOPs are multiplied."""
    seconds = least(of(weight_bytes=weight_bytes, kv_bytes=kv_bytes, flops=flops), GPU).seconds
    assert seconds >= (weight_bytes + kv_bytes) / 3e12
    assert seconds >= flops / 900e12


@pytest.mark.parametrize("change", [{"mem_bandwidth_bytes_per_s": 0}, {"mem_bandwidth_bytes_per_s": float("nan")}])
def test_a_device_has_bandwidth(change: dict[str, float]) -> None:
    """A device without bandwidth is refused by name."""
    with pytest.raises(ValueError, match=r"Device\.mem_bandwidth_bytes_per_s must be above 0"):
        replace(GPU, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("rates", [{"bf16": 0}, {"bf16": -1}, {"bf17": 1e12}])
def test_a_rate_has_a_known_dtype_and_a_value(rates: dict[Dtype, float]) -> None:
    """A rate of 0 where absence means unknown, or of a dtype that nothing computes in, is refused by name."""
    with pytest.raises(ValueError, match="'gpu': a rate needs"):
        replace(GPU, flops_per_s=rates)


def test_the_first_known_dtype_computes() -> None:
    """A device is asked for dtypes in order of preference, and says which one it took."""
    assert GPU.rate(("fp8", "bf16")) == Rate("bf16", 900e12)
    assert GPU.rate(("fp8",)) is None
