"""Several devices that share every step: what each of them reads again, and what they send each other.

Tensor parallel splits each matrix, and attention by its KV heads: with more devices than KV heads every head is
kept, and read, more than once; a latent cache has one head, so every device reads all of it. Data-parallel
attention gives each device its own sequences instead, and with them the whole of the attention weights.
Source: Megatron-LM (Shoeybi et al. 2019); two all-reduces a layer, each of 2 (n - 1) / n of the activations.
Known error: experts are taken as equally busy on all devices. How unequal they are, the data does not settle: one
of the two data sets of servers asks for 1.5 times the mean, the other for none.
"""

from teto.physics.mixers import FullAttention, LatentAttention, Mixer, Passes, Traffic
from teto.physics.shape import Shape
from teto.physics.values import Values, larger

__all__ = ["copies_of_cache", "exchanged_bytes", "shared_cache_bytes", "shared_decode", "shared_prefill"]

_ACTIVATION_BYTES = 2


def exchanged_bytes(shape: Shape, n_devices: Values, n_tokens: Values) -> Values:
    """Bytes that one device sends for so many tokens in one step: two all-reduces of 16-bit activations a layer."""
    return 2 * shape.n_whole_layers * (2 * (n_devices - 1) / n_devices) * shape.width * _ACTIVATION_BYTES * n_tokens


def copies_of_cache(mixer: Mixer, n_devices: Values) -> Values:
    """How many devices keep the same position of a layer's cache in tensor parallel."""
    if isinstance(mixer, FullAttention):
        return larger(n_devices / mixer.n_kv_heads, 1.0)
    if isinstance(mixer, LatentAttention):
        return 1.0 * n_devices
    return 1.0 + 0.0 * n_devices


def shared_cache_bytes(shape: Shape, context_tokens: Values, element_bytes: Values, n_devices: Values) -> Values:
    """Bytes that all devices together keep for one sequence, the copies counted."""
    kept: Values = 0.0
    for block in shape.blocks:
        if block.mixer is not None:
            one = block.mixer.cache_bytes(context_tokens, element_bytes)
            kept = kept + block.count * copies_of_cache(block.mixer, n_devices) * one
    return kept


def shared_decode(shape: Shape, context_tokens: Values, element_bytes: Values, n_devices: Values) -> Traffic:
    """One step of one sequence, all layers: what all devices together read, the copies counted."""
    n_bytes: Values = 0.0
    flops: Values = 0.0
    for block in shape.blocks:
        if block.mixer is not None:
            one = block.mixer.decode(context_tokens - 1, 1, element_bytes)
            n_bytes = n_bytes + block.count * copies_of_cache(block.mixer, n_devices) * one.bytes
            flops = flops + block.count * one.flops
    return Traffic(n_bytes, flops)


def shared_prefill(shape: Shape, n_tokens: Values, element_bytes: Values, n_devices: Values) -> Traffic:
    """A prompt in one pass, all layers: what all devices together read, the copies counted."""
    n_bytes: Values = 0.0
    flops: Values = 0.0
    passes = Passes(0.0, n_tokens, n_tokens, 1.0)
    for block in shape.blocks:
        if block.mixer is not None:
            one = block.mixer.prefill(passes, element_bytes)
            n_bytes = n_bytes + block.count * copies_of_cache(block.mixer, n_devices) * one.bytes
            flops = flops + block.count * one.flops
    return Traffic(n_bytes, flops)
