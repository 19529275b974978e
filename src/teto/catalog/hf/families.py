"""Which family reads which `model_type`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from teto.catalog.hf import dense, gemma, hybrid, latent, moe
from teto.catalog.hf.fields import Fields
from teto.catalog.hf.parts import Stack

__all__ = ["BEYOND", "FAMILIES", "Family"]


@dataclass(frozen=True, slots=True)
class Family:
    """How a family's layers are read; the rest holds where the config does not say.

    `is_tied` is whether the head is the input table, `defaults` are fields that published configs leave out.
    """

    read: Callable[[Fields], Stack]
    is_tied: bool = False
    defaults: Mapping[str, int] = field(default_factory=dict)


FAMILIES: Final[Mapping[str, Family]] = {
    "deepseek_v2": Family(latent.deepseek_v2),
    "deepseek_v3": Family(latent.deepseek),
    "deepseek_v32": Family(latent.deepseek),
    "gemma": Family(gemma.gemma, is_tied=True),
    "gemma2": Family(gemma.gemma2, is_tied=True),
    "gemma3_text": Family(gemma.gemma3, is_tied=True, defaults=gemma.GEMMA3_DEFAULTS),
    "gemma4_text": Family(gemma.gemma4, is_tied=True),
    "glm4_moe": Family(moe.glm4_moe),
    "glm4_moe_lite": Family(latent.deepseek),
    "glm_moe_dsa": Family(latent.deepseek),
    "gpt_oss": Family(moe.gpt_oss),
    "granite": Family(dense.granite, is_tied=True),
    "jamba": Family(hybrid.jamba),
    "kimi_k2": Family(latent.deepseek),
    "kimi_linear": Family(hybrid.kimi_linear),
    "lfm2": Family(hybrid.lfm2, is_tied=True),
    "llama": Family(dense.llama),
    "llama4_text": Family(moe.llama4),
    "mamba": Family(hybrid.mamba, is_tied=True),
    "mamba2": Family(hybrid.mamba_2),
    "mimo": Family(dense.qwen2),
    "mimo_v2_flash": Family(moe.mimo_v2),
    "minimax_m2": Family(moe.minimax_m2),
    "ministral3": Family(dense.mistral),
    "mistral": Family(dense.mistral),
    "mixtral": Family(moe.mixtral),
    "nemotron-nas": Family(dense.nemotron_nas),
    "nemotron_h": Family(hybrid.nemotron_h),
    "phi3": Family(dense.phi3),
    "qwen2": Family(dense.qwen2),
    "qwen2_5_vl": Family(dense.qwen2),
    "qwen2_5_vl_text": Family(dense.qwen2),
    "qwen2_moe": Family(moe.qwen2_moe),
    "qwen2_vl": Family(dense.qwen2),
    "qwen3": Family(dense.qwen3),
    "qwen3_5_moe_text": Family(hybrid.qwen_next),
    "qwen3_5_text": Family(hybrid.qwen_next),
    "qwen3_moe": Family(moe.qwen3_moe),
    "qwen3_next": Family(hybrid.qwen_next),
    "qwen3_vl_moe_text": Family(moe.qwen3_moe),
    "qwen3_vl_text": Family(dense.qwen3),
    "smollm3": Family(dense.smollm3, is_tied=True),
    "step3p7": Family(moe.step3),
}

# Known, with fields that no mixer of `physics` expresses: an error that names them is better than a wrong ceiling.
BEYOND: Final[Mapping[str, str]] = {
    "deepseek_ref": "'compress_ratios', attention over compressed positions",
    "deepseek_v4": "'compress_ratios', attention over compressed positions",
    "minimax_m3": "'sparse_attention_config', a selection of blocks under grouped-query attention",
}
