"""Layers that keep a state of constant size: gated delta rule, Kimi delta attention, Mamba 1 and 2, short convolutions.

The state is in the precision that the config states, else in 32-bit floats, as engines keep it; the inputs that a
convolution waits for are in 16. Arithmetic per element of the state: decay 1, outer product 1, sum 1, read-out 2; the
delta rule reads the state once more, 2.
"""

from typing import Final

from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Mix
from teto.physics.mixers import ConstantState

__all__ = ["gated_delta", "kimi_delta", "mamba1", "mamba2", "short_convolution", "state_bytes_per_element"]

_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}
_CONVOLUTION_BYTES: Final = 2
_LINEAR_FLOPS, _DELTA_FLOPS = 5, 7


def state_bytes_per_element(fields: Fields, name: str) -> int:
    """Bytes of one element of the recurrent state, by the field that states its dtype."""
    dtype = fields.take(name) or "float32"
    if not isinstance(dtype, str) or dtype not in _BYTES:
        fields.fail(name, "float32, bfloat16 or float16")
    return _BYTES[dtype]


def _state(*, elements: int, element_bytes: int, flops: int, channels: int, kernel: int) -> ConstantState:
    return ConstantState(
        state_bytes=elements * element_bytes + (kernel - 1) * channels * _CONVOLUTION_BYTES,
        flops_per_token=elements * flops + 2 * kernel * channels,
    )


def gated_delta(fields: Fields) -> Mix:
    """Gated delta net of Qwen3-Next and Qwen3.5: query, key, value and output gate, and two scalars for each head."""
    width, kernel = fields.count("hidden_size"), fields.count("linear_conv_kernel_dim")
    key_heads, value_heads = fields.count("linear_num_key_heads"), fields.count("linear_num_value_heads")
    key_dim, value_dim = fields.count("linear_key_head_dim"), fields.count("linear_value_head_dim")
    key, value = key_heads * key_dim, value_heads * value_dim
    channels = 2 * key + value
    return Mix(
        mixer=_state(
            elements=value_heads * key_dim * value_dim,
            element_bytes=state_bytes_per_element(fields, "mamba_ssm_dtype"),
            flops=_DELTA_FLOPS,
            channels=channels,
            kernel=kernel,
        ),
        params=width * (2 * key + 2 * value + 2 * value_heads) + value * width,
        others=kernel * channels + 2 * value_heads + value_dim,
    )


def kimi_delta(fields: Fields, width: int) -> Mix:
    """Kimi delta attention: a decay for each channel through a narrow projection, a gate of full or narrow rank."""
    n_heads, dim = fields.count("num_heads"), fields.count("head_dim")
    kernel, inner = fields.count("short_conv_kernel_size"), n_heads * dim
    fields.ignore("gate_lower_bound")
    narrow = dim * (width + inner)
    gate = width * inner if fields.flag("use_full_rank_gate", otherwise=False) else narrow
    return Mix(
        mixer=_state(
            elements=n_heads * dim * dim, element_bytes=4, flops=_DELTA_FLOPS, channels=3 * inner, kernel=kernel
        ),
        params=4 * width * inner + narrow + gate + width * n_heads,
        others=3 * kernel * inner + n_heads + inner + dim,
    )


def mamba1(
    width: int, *, inner: int, state: int, rank: int, kernel: int, conv_bias: bool, bias: bool, has_inner_norms: bool
) -> Mix:
    """Mamba: input and gate, a convolution, the three inputs of the state, and the way out."""
    norms = rank + 2 * state if has_inner_norms else 0
    return Mix(
        mixer=_state(
            elements=inner * state, element_bytes=4, flops=_LINEAR_FLOPS, channels=inner, kernel=kernel
        ),
        params=width * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * width,
        # The decay's logarithm for each element, a skip and a step bias for each channel.
        others=kernel * inner + inner * (state + 2) + (inner if conv_bias else 0)
        + (2 * inner + width if bias else 0) + norms,
    )  # fmt: skip


def mamba2(
    width: int, *, n_heads: int, head_dim: int, groups: int, state: int, kernel: int, element_bytes: int,
    conv_bias: bool, bias: bool,
) -> Mix:  # fmt: skip
    """Mamba-2: one projection for gate, input, the state's two vectors and a step for each head."""
    inner = n_heads * head_dim
    channels = inner + 2 * groups * state
    into = inner + channels + n_heads
    return Mix(
        mixer=_state(
            elements=inner * state, element_bytes=element_bytes, flops=_LINEAR_FLOPS, channels=channels, kernel=kernel
        ),
        params=width * into + inner * width,
        others=kernel * channels + (channels if conv_bias else 0) + 3 * n_heads + inner + (into + width if bias else 0),
    )


def short_convolution(width: int, *, kernel: int, bias: bool) -> Mix:
    """LFM2's: two gates around a convolution over the last few inputs."""
    return Mix(
        mixer=ConstantState(
            state_bytes=(kernel - 1) * width * _CONVOLUTION_BYTES, flops_per_token=2 * width * kernel + 2 * width
        ),
        params=4 * width * width,
        others=kernel * width + (5 * width if bias else 0),
    )
