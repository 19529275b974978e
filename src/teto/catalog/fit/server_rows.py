"""Reads measurements of servers under load, and says of each row that cannot be used why.

ML.ENERGY v3 (vLLM 0.11.1 on H100 and B200): a closed loop keeps `max_num_seqs` requests going; figures are of the
steady state, power of the GPUs alone, `batch` is the measured running batch, and the time between tokens is the
median one: it belongs to a step without prompts, as long as fewer prompts than steps arrive.
aiconfigurator's silicon sample (TensorRT-LLM, SGLang and vLLM on H100, H200, B200, GB200), most of it from
InferenceMAX: all users start at once, each sends its next request when the last is answered, ten requests a user;
lengths are uniform from 0.8 to 1 of the stated ones, 0.9 in the mean. Time per output token is the mean.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Final, Literal

from teto.catalog.fit.observe import identify, shape_key
from teto.catalog.fit.rows import Row, read_rows
from teto.physics.device import Device
from teto.physics.parallel import shared_cache_bytes
from teto.physics.precision import FORMATS, Dtype, Format, WeightBytes, weigh
from teto.physics.shape import Shape

__all__ = ["ASSUMED_PROMPT_TOKENS", "TEXT_PROMPT_TOKENS", "Kind", "ServerRow", "read_mlenergy", "read_silicon"]

Kind = Literal["dense", "moe", "hybrid"]

# Text only: prompts of images and videos have an unknown number of tokens, and wait for a CPU to prepare them.
# Mean prompts of chat and of the reasoning task follow from the rows whose running batch fills the KV memory.
TEXT_PROMPT_TOKENS: Final = {"lm-arena-chat": 400.0, "gpqa": 250.0, "sourcegraph-fim": 800.0}
# Assumed: about the least that rows with full KV memory allow. Nothing is fitted to these.
ASSUMED_PROMPT_TOKENS: Final = {"image-chat": 700.0, "video-chat": 5000.0}
_QUANTS: Final = {"bfloat16": "bf16", "fp4": "nvfp4", "": "bf16"}
# Meta's own FP8 weights of 405B: feed-forward only (The Llama 3 Herd of Models, 2024, section 6.2).
_FEED_FORWARD_FP8: Final = Format(
    name="fp8, feed-forward only", mixer_bits=16, dense_bits=8, expert_bits=8, head_bits=16, table_bits=16,
    compute=("fp8", "bf16"),
)  # fmt: skip
_RANDOM_LENGTHS_MEAN: Final = 0.9
_USABLE_MEMORY: Final = 0.9  # of the device's: what the engines reserve by default for weights and cache
_NODE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """One server under one load. `running` is None where only the number of users is known.

    `flops_per_s` is one device's rate in the dtype that multiplies. `slots` is how many sequences of the mean
    length the memory holds. `spreads_sequences`: each device decodes its own sequences (attention data parallel).
    """

    device: Device
    shape: Shape
    shape_key: str
    weights: WeightBytes
    quant: str
    kind: Kind
    engine: str
    n_devices: int
    flops_per_s: float
    prompt_tokens: float
    output_tokens: float
    users: float
    running: float | None
    slots: float
    spreads_sequences: bool
    spreads_experts: bool
    itl_s: float
    ttft_s: float | None = None
    tokens_per_s: float | None = None
    power_w: float | None = None
    j_per_token: float | None = None


def _flops_per_s(device: Device, weight_format: Format) -> float | None:
    """MXFP4 weights multiply with 8-bit activations where the device has 4-bit units, elsewhere in 16 bits."""
    wanted: tuple[Dtype, ...] = weight_format.compute
    if weight_format.name == "mxfp4" and "fp4" in device.flops_per_s:
        wanted = ("fp8", *wanted)
    rate = device.rate(wanted)
    return None if rate is None else rate.flops_per_s


def _known(row: Row, dropped: Counter[str]) -> tuple[Device, Shape, Format] | None:
    quant = "mxfp4" if "gpt-oss" in row.model else _QUANTS.get(row.quant, row.quant)
    found = identify(row.device, row.model, quant, dropped)
    if found is None:
        return None
    device, shape, name = found
    is_meta_fp8 = "Llama-3.1-405B-Instruct-FP8" in row.model
    return device, shape, _FEED_FORWARD_FP8 if is_meta_fp8 else FORMATS[name]


def _slots(
    device: Device, shape: Shape, weights: WeightBytes, *, n_devices: int, split: int, tokens: float, quant: str
) -> float:
    """Sequences whose caches fit; engines keep an 8-bit cache beside weights of 8 and 4 bits."""
    element_bytes = 1.0 if quant in {"fp8", "nvfp4"} else 2.0
    room = n_devices * _USABLE_MEMORY * (device.memory_bytes or float("inf")) - weights.resident_bytes
    return max(1.0, room // float(shared_cache_bytes(shape, tokens, element_bytes, split)))


def read_mlenergy(
    folder: Path, dropped: Counter[str], prompt_tokens: Mapping[str, float] = TEXT_PROMPT_TOKENS
) -> list[ServerRow]:
    """The rows of these tasks whose device and model are in the catalog; `dropped` counts the others."""
    rows = read_rows(folder, "mlenergy_v3.csv")
    return [found for row in rows if (found := _mlenergy(row, prompt_tokens, dropped)) is not None]


def _mlenergy(row: Row, prompt_tokens: Mapping[str, float], dropped: Counter[str]) -> ServerRow | None:
    task = row.notes.get("task", "")
    if task not in prompt_tokens:
        dropped["prompts of images or videos: tokens not stated, and prepared on a CPU"] += 1
        return None
    known = _known(row, dropped)
    if known is None or row.batch is None or row.output_tokens is None or row.itl_s is None:
        return None
    device, shape, weight_format = known
    weights = weigh(shape, weight_format)
    rate = _flops_per_s(device, weight_format)
    is_hybrid = "Hybrid" in row.notes.get("arch", "")
    return ServerRow(
        device=device,
        shape=shape,
        shape_key=shape_key(shape),
        weights=weights,
        quant=weight_format.name,
        kind="moe" if shape.is_moe else "hybrid" if is_hybrid else "dense",
        engine="vllm",
        n_devices=row.n_devices or 1,
        flops_per_s=rate or float("inf"),
        prompt_tokens=prompt_tokens[task],
        output_tokens=row.output_tokens,
        users=row.batch,
        running=row.batch,
        slots=max(1.0, row.batch),
        spreads_sequences=int(row.notes.get("dp") or 1) > 1,
        spreads_experts=int(row.notes.get("ep") or 1) > 1,
        itl_s=row.itl_s,
        tokens_per_s=row.decode_tokens_per_s,
        power_w=row.power_w,
        j_per_token=row.j_per_token,
    )


def _parallel(row: Row) -> dict[str, int]:
    return {key: int(row.notes[key]) for key in ("tp", "dp", "moe_tp", "ep") if row.notes.get(key)}


def _true_devices(row: Row, sizes: dict[str, int]) -> int | None:
    """Devices, where the sample multiplied two names of the same degree: as many rows prove that stand under both.

    InferenceMAX states "tp 8, ep 8" for eight devices whose experts are spread; the sample made it moe_tp 8 × ep 8
    = 64 (and tp 4 × dp 4 = 16). The same times stand there again under eight (four) devices.
    """
    if row.n_devices is None or "dp" not in sizes:
        return row.n_devices
    experts, both = sizes.get("ep", 1), sizes.get("moe_tp", 1)
    is_squared = (experts == both > 1) or (sizes.get("tp", 1) == sizes["dp"] > 1)
    return isqrt(row.n_devices) if is_squared else row.n_devices


def _unusable(row: Row) -> str | None:
    """Why a row of the silicon sample cannot be used; None: it can."""
    if row.notes.get("mode") != "agg":
        return "disaggregated: how many devices decode is not stated"
    if not row.notes.get("concurrency") or row.itl_s is None or row.n_devices is None:
        return "concurrency, devices or time per token not stated"
    if "DeepSeek-R1" in row.model:
        return "DeepSeek-R1: the plain runs stand again under DeepSeek-V3, the others predict several tokens a step"
    if row.device == "gb200" and row.n_devices > _NODE:
        return "GB200 in degrees that no engine splits by (12, 20, 72): the total of a disaggregated system"
    return None


def read_silicon(folder: Path, dropped: Counter[str]) -> list[ServerRow]:
    """The rows of aggregated servers that can be identified, without repeats; `dropped` counts the others."""
    found: dict[object, ServerRow] = {}
    for row in read_rows(folder, "aic_silicon_server.csv"):
        reason = _unusable(row)
        if reason is not None:
            dropped[reason] += 1
            continue
        one = _silicon(row, dropped)
        if one is None:
            continue
        key = (row.device, row.model, row.engine, one.n_devices, row.prompt_tokens, row.output_tokens, one.users,
               row.itl_s, row.ttft_s)  # fmt: skip
        if key in found:
            dropped["the same row again"] += 1
        found.setdefault(key, one)
    return list(_not_limited(found.values(), dropped))


def _not_limited(rows: Iterable[ServerRow], dropped: Counter[str]) -> Iterator[ServerRow]:
    for row in rows:
        decoding_s = row.output_tokens * row.itl_s
        if row.users <= row.slots and row.ttft_s is not None and row.ttft_s > 2 * decoding_s:
            dropped["most of a call is spent waiting, with memory to spare: a limit that is not stated"] += 1
            continue
        yield row


def _silicon(row: Row, dropped: Counter[str]) -> ServerRow | None:
    known = _known(row, dropped)
    sizes = _parallel(row)
    n_devices = _true_devices(row, sizes)
    if known is None or n_devices is None or row.itl_s is None:
        return None
    if row.prompt_tokens is None or row.output_tokens is None:
        return None
    device, shape, weight_format = known
    weights = weigh(shape, weight_format)
    if weights.resident_bytes > 0.95 * n_devices * (device.memory_bytes or float("inf")):
        dropped["the weights do not fit the devices stated"] += 1
        return None
    mean = _RANDOM_LENGTHS_MEAN if row.notes.get("silicon_concurrency") else 1.0
    prompt, output = mean * row.prompt_tokens, mean * row.output_tokens
    spreads = sizes.get("dp", 1) > 1 and sizes.get("tp", 1) == 1
    users = float(row.notes["concurrency"])
    if sizes.get("dp", 1) == 1 and row.batch is not None:
        users = min(users, row.batch)  # several replicas: `batch` is one's
    return ServerRow(
        device=device,
        shape=shape,
        shape_key=shape_key(shape),
        weights=weights,
        quant=weight_format.name,
        kind="moe" if shape.is_moe else "dense",
        engine=row.engine.split()[0],
        n_devices=n_devices,
        flops_per_s=_flops_per_s(device, weight_format) or float("inf"),
        prompt_tokens=prompt,
        output_tokens=output,
        users=users,
        running=None,
        slots=_slots(
            device,
            shape,
            weights,
            n_devices=n_devices,
            split=1 if spreads else n_devices,
            tokens=prompt + output / 2,
            quant=weight_format.name,
        ),
        spreads_sequences=spreads,
        spreads_experts=sizes.get("ep", 1) > 1,
        itl_s=row.itl_s,
        ttft_s=row.ttft_s,
    )
