"""The weight format that a config states: quantization where there is one, else the dtype."""

from collections.abc import Mapping
from typing import Any, Final

from teto.catalog.hf.fields import FIX, shown
from teto.errors import ConfigError

__all__ = ["stated_format"]

_DTYPES: Final = {"bfloat16": "bf16", "float16": "f16", "float32": "fp32"}
_ALGORITHMS: Final = {
    "FP8": "fp8", "NVFP4": "nvfp4", "W4A16_AWQ": "int4", "W4A8_AWQ": "int4", "INT4_AWQ": "int4",
    "W8A8_SQ_PER_CHANNEL": "int8",
}  # fmt: skip
_BY_BITS: Final = {4: "int4", 8: "int8"}


def stated_format(config: Mapping[str, Any], beside: Mapping[str, Any] | None, *, where: str) -> tuple[str | None, str]:
    """The name of the format and how it is stated, or None and why there is no name for it.

    Args:
        config: The content of config.json.
        beside: The content of hf_quant_config.json, where that file exists.
        where: What the config is called in errors.

    Raises:
        ConfigError: a part of the quantization is not of the kind that it must be.
    """
    text = config.get("text_config") or {}
    quantization = config.get("quantization_config") or text.get("quantization_config")
    if not quantization and beside is not None:
        quantization = beside.get("quantization")
    if quantization:
        return _quantized(_object(quantization, "quantization_config", where), where)
    dtype = next(
        (found for part in (config, text) for key in ("dtype", "torch_dtype") if (found := part.get(key))), None
    )
    if dtype is None:
        return None, "no dtype is stated"
    if not isinstance(dtype, str):
        raise ConfigError(f"{where}: the dtype must be a name, found {shown(dtype)}.", fix=FIX)
    found_format = _DTYPES.get(dtype.removeprefix("torch."))
    return found_format, f"dtype {dtype}" if found_format else f"dtype {dtype} has no format"


def _object(value: Any, name: str, where: str) -> Mapping[str, Any]:
    """The value, which must be an object; an empty one where it is absent."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: field {name!r} must be an object, found {shown(value)}.", fix=FIX)
    return value


def _quantized(quantization: Mapping[str, Any], where: str) -> tuple[str | None, str]:
    method, algorithm = quantization.get("quant_method", "modelopt"), quantization.get("quant_algo")
    bits = quantization.get("bits")
    for name, value, kinds in (("quant_method", method, str), ("quant_algo", algorithm, str), ("bits", bits, int)):
        if value is not None and not isinstance(value, kinds):
            expected = "a name" if kinds is str else "a whole number"
            raise ConfigError(f"{where}: field {name!r} must be {expected}, found {shown(value)}.", fix=FIX)
    if quantization.get("quantized_layers") or quantization.get("moe_quant_algo"):
        return None, f"{method} mixes formats between layers"
    if algorithm in _ALGORITHMS:
        return _ALGORITHMS[algorithm], f"quantized by {method} to {algorithm}"
    if method in {"fp8", "mxfp4"}:
        return method, f"quantized by {method}"
    if method in {"awq", "gptq"} and bits in _BY_BITS:
        return _BY_BITS[bits], f"quantized by {method} to {bits} bits"
    if method == "compressed-tensors":
        return _compressed(quantization, where)
    return None, f"quantized by {method}, which has no format here"


def _compressed(quantization: Mapping[str, Any], where: str) -> tuple[str | None, str]:
    """One group of weights for all linear layers; where attention is left out, only experts are packed."""
    groups = list(_object(quantization.get("config_groups"), "config_groups", where).values())
    if len(groups) != 1:
        return None, "compressed-tensors mixes formats between layers"
    group = _object(groups[0], "config_groups", where)
    weights, inputs = _object(group.get("weights"), "weights", where), group.get("input_activations")
    bits, kind = weights.get("num_bits"), weights.get("type")
    described = f"compressed-tensors to {shown(bits)}-bit {kind if isinstance(kind, str) else shown(kind)}"
    ignored = quantization.get("ignore")
    if isinstance(ignored, list | tuple) and any("self_attn" in name for name in ignored if isinstance(name, str)):
        is_mxfp4 = (bits, kind, weights.get("group_size")) == (4, "float", 32)
        return "mxfp4" if is_mxfp4 else None, f"{described} in experts only"
    if bits == 8:
        return "fp8" if kind == "float" else "int8", described
    if (bits, kind, inputs) == (4, "int", None):
        return "int4", described
    return ("nvfp4", described) if (bits, kind) == (4, "float") else (None, described)
