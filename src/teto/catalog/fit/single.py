"""One request on one device: llama.cpp and llamafile on GPUs, Apple chips, CPUs, and mixtures of experts."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from teto.catalog.fit.families import Family, Loaded, Use
from teto.catalog.fit.observe import Observation, identify, observed
from teto.catalog.fit.rows import Row, read_rows
from teto.catalog.resolve import find_format
from teto.physics.device import Device
from teto.physics.mixers import Traffic
from teto.physics.precision import WeightBytes, weigh
from teto.physics.roofline import Work, decode, decode_step, prefill
from teto.physics.shape import Shape

__all__ = ["SINGLE"]

_LLAMA_CPP_BATCH_TOKENS: Final = 512  # a prompt goes through llama.cpp in passes of this many
_SPILLS_ABOVE: Final = 0.97  # of the memory: what is larger than that does not stay in it
_QUANT_IN_NAME: Final = re.compile(r"[-_.](UD-)?(I?Q\d\w*|BF16|F16|MXFP4\w*)$", re.IGNORECASE)
_WIDE_HOSTS: Final = ("znver4", "znver5", "sapphirerapids")
_HOST: Final = re.compile(r"\(([\w-]+)\)\s*$")

Selector = Callable[[Row, Device], bool]


def _share(work: Work, n: float) -> Work:
    """The mean of `n` steps."""

    def part(traffic: Traffic) -> Traffic:
        return Traffic(traffic.bytes / n, traffic.flops / n)

    return Work(linear=part(work.linear), attention=part(work.attention), head=part(work.head))


def _weights(row: Row, shape: Shape, quant: str) -> WeightBytes:
    """The format's bytes; where the source states the file's, scaled to them."""
    weights = weigh(shape, find_format(quant))
    if row.weight_bytes is None or "localscore" in row.source:  # LocalScore's are nominal
        return weights
    return weights.scaled(row.weight_bytes / weights.resident_bytes)


def _identified(rows: list[Row], dropped: Counter[str]) -> Iterator[tuple[Row, Device, Shape, str]]:
    for row in rows:
        model = _QUANT_IN_NAME.sub("", row.model)
        quant = _stated_quant(row)
        found = identify(row.device, model, quant, dropped)
        if found is None:
            continue
        device, shape, weight_format = found
        resident = _weights(row, shape, weight_format).resident_bytes
        if device.memory_bytes is not None and resident > _SPILLS_ABOVE * device.memory_bytes:
            dropped["the weights do not fit the memory"] += 1
            continue
        yield row, device, shape, weight_format


def _stated_quant(row: Row) -> str:
    """The row's format; of llama.cpp's dynamic mixes, whose bytes the file states, the nearest plain one."""
    plain = row.quant.upper().removeprefix("UD-").replace("_XL", "_M").replace("Q8_K_M", "Q8_0")
    return plain.split(" (")[0]


def _xiongjiedai(select: Selector) -> Callable[[Path], Loaded]:
    """llama-bench on one device: `tg N` starts from an empty cache, `pp N` is one prompt."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [row for row in read_rows(folder, "xiongjiedai_llama3.csv") if row.n_devices == 1]
        steps: list[Observation] = []
        prompts: list[Observation] = []
        for row, device, shape, quant in _identified(rows, dropped):
            if not select(row, device):
                continue
            weights = _weights(row, shape, quant)
            if row.decode_tokens_per_s and row.output_tokens:
                n = int(row.output_tokens)
                work = _share(decode(shape, weights, n_steps=n, start_context_tokens=0), n)
                steps.append(
                    observed(
                        device=device, shape=shape, work=work, quant=quant,
                        measured_s=1 / row.decode_tokens_per_s, context_tokens=n / 2,
                    )
                )  # fmt: skip
            if row.prefill_tokens_per_s and row.prompt_tokens:
                if device.name == "a100-sxm-80gb" and quant == "f16":
                    dropped["prefill of F16 on the A100 is stated slower than Q4_K_M by ten"] += 1
                else:
                    prompts.append(_prompt(row, device, shape, weights, quant))
        return Loaded(decode=steps, prefill=prompts, dropped=dropped)

    return load


def _prompt(row: Row, device: Device, shape: Shape, weights: WeightBytes, quant: str) -> Observation:
    assert row.prompt_tokens is not None and row.prefill_tokens_per_s is not None  # noqa: S101, PT018 - the caller looked
    n = int(row.prompt_tokens)
    past = int(row.context_start_tokens or 0)
    work = prefill(shape, weights, n_tokens=n, past_tokens=past, batch_tokens=_LLAMA_CPP_BATCH_TOKENS, is_expected=True)
    return observed(
        device=device,
        shape=shape,
        work=work,
        quant=quant,
        measured_s=n / row.prefill_tokens_per_s,
        context_tokens=past + n,
        n_passes=-(-n // _LLAMA_CPP_BATCH_TOKENS),
    )


def _host_is_wide(row: Row) -> bool:
    """A host with 512-bit vectors: llamafile 0.9 is 2 to 13 times slower beside it, on every GPU."""
    found = _HOST.search(row.notes.get("cpu", ""))
    return found is None or found.group(1) in _WIDE_HOSTS


def _localscore(select: Selector) -> Callable[[Path], Loaded]:
    """LocalScore states no context, so the cache is left out, and its time ends up in the other constants."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [row for row in read_rows(folder, "localscore_2025-07.csv") if row.decode_tokens_per_s]
        steps = []
        for row, device, shape, quant in _identified(rows, dropped):
            if select(row, device) and row.decode_tokens_per_s:
                work = decode_step(shape, _weights(row, shape, quant), context_tokens=1, is_expected=True)
                steps.append(
                    observed(
                        device=device, shape=shape, work=work, quant=quant,
                        measured_s=1 / row.decode_tokens_per_s, context_tokens=1,
                    )
                )  # fmt: skip
        return Loaded(decode=steps, dropped=dropped)

    return load


def _strix_halo(*, is_moe: bool) -> Callable[[Path], Loaded]:
    """llama-bench at several depths on one package, by several back ends."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [row for row in read_rows(folder, "strix_halo_kyuz0.csv") if row.notes.get("rpc") == "False"]
        steps: list[Observation] = []
        prompts: list[Observation] = []
        for row, device, shape, quant in _identified(rows, dropped):
            if shape.is_moe != is_moe:
                continue
            weights = _weights(row, shape, quant)
            if row.prefill_tokens_per_s and row.prompt_tokens:
                prompts.append(_prompt(row, device, shape, weights, quant))
            if row.decode_tokens_per_s:
                n, past = int(row.output_tokens or 1), int(row.context_start_tokens or 0)
                work = _share(decode(shape, weights, n_steps=n, start_context_tokens=past), n)
                steps.append(
                    observed(
                        device=device, shape=shape, work=work, quant=quant,
                        measured_s=1 / row.decode_tokens_per_s, context_tokens=past + n / 2,
                    )
                )  # fmt: skip
        return Loaded(decode=steps, prefill=prompts, dropped=dropped)

    return load


def _localmaxxing_moe(device_families: set[str]) -> Callable[[Path], Loaded]:
    """What users submitted for mixtures of experts: one request, no speculation, llama.cpp or ollama."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [
            row
            for row in read_rows(folder, "localmaxxing_cache.csv")
            if row.decode_tokens_per_s and row.n_devices == 1 and row.batch == 1
        ]
        steps = []
        for row, device, shape, quant in _identified(rows, dropped):
            if device.family not in device_families or not shape.is_moe or row.decode_tokens_per_s is None:
                continue
            if not row.engine.startswith(("llama.cpp", "ollama")):
                continue
            if row.notes.get("spec") != "False" or row.notes.get("mtp") != "False":
                dropped["several tokens a step"] += 1
                continue
            context = (row.prompt_tokens or 0) + (row.output_tokens or 0) / 2 + 1
            work = decode_step(shape, _weights(row, shape, quant), context_tokens=context)
            steps.append(
                observed(
                    device=device, shape=shape, work=work, quant=quant,
                    measured_s=1 / row.decode_tokens_per_s, context_tokens=context,
                )
            )  # fmt: skip
        return Loaded(decode=steps, dropped=dropped)

    return load


_XIONGJIEDAI: Final = "XiongjieDai/GPU-Benchmarks-on-LLM-Inference, llama.cpp of May 2024"
_LOCALSCORE: Final = "LocalScore results of March to July 2025 (d893a/localscore-insights), llamafile"
_LOCALMAXXING: Final = "localmaxxing (AlexsJones/llmfit)"
_ADA: Final = r"^rtx-(4\d\d\d|[2-6]\d00-ada|3500-ada|5\d\d\d)|^l4"
_AMPERE: Final = r"^rtx-(30\d\d|a\d)|^a(10|40)$"
_AMD: Final = r"^(rx|radeon|pro-w|w7)"


def _named(pattern: str) -> Selector:
    matcher = re.compile(pattern)
    return lambda _row, device: bool(matcher.search(device.name))


def _gpu(pattern: str, *, wide: bool) -> Selector:
    matcher = re.compile(pattern)
    return lambda row, device: (
        "GPU" in row.device_kind
        and device.family in {"gddr", "hbm"}
        and bool(matcher.search(device.name))
        and _host_is_wide(row) == wide
    )


def _apple(pattern: str) -> Selector:
    matcher = re.compile(pattern)
    return lambda row, device: (
        "GPU" in row.device_kind and device.family == "apple" and bool(matcher.search(device.name))
    )


_DECODE: Final = ("weights_fraction", "cache_fraction", "layer_overhead_s")
_NO_CACHE: Final = ("weights_fraction", "layer_overhead_s")
_GEFORCE: Final = r"^rtx-\d{4}(-(ti|super|d|\d+gb))*$"
_GROUPS: Final = (("geforce", _GEFORCE), ("workstation", rf"^(?!{_GEFORCE.removeprefix('^')})"))
_PROMPT: Final = ("compute_fraction", "attention_fraction")
_NVIDIA: Final = r"^(?!rx|radeon|pro-w|w7|mi\d|arc)"
_BEFORE_TENSOR: Final = r"^(gtx|mx|titan-xp|quadro-p|p\d|t1200|t4$)"
_FROM_ADA: Final = r"^(rtx-([45]\d{3}|\d{4}-ada|pro)|l4|l40|h\d|b\d|gh|gb)"
_TENSOR: Final = rf"^(?!{_FROM_ADA.removeprefix('^')}|{_BEFORE_TENSOR.removeprefix('^')}|rx|radeon|pro-w|w7|mi\d|arc)"
_GDDR, _HBM, _APPLE = "GDDR, batch 1", "HBM, batch 1", "Apple on LocalScore"
_OTHERS, _CPU, _MOE = "other GPUs on LocalScore", "CPUs from spec sheets", "MoE on one device"

SINGLE: Final = (
    Family(
        id="llamacpp-gddr-ada", table=_GDDR, source=_XIONGJIEDAI, load=_xiongjiedai(_named(_ADA)),
        decode_terms=_DECODE, prefill_terms=_PROMPT, prefill_groups=_GROUPS, n_forms_tried=6,
        use=Use(engine="llama.cpp", device_families=("gddr",), id_pattern=_NVIDIA, released_from="2022-09"),
    ),
    Family(
        id="llamacpp-gddr-ampere", table=_GDDR, source=_XIONGJIEDAI, load=_xiongjiedai(_named(_AMPERE)),
        decode_terms=_DECODE, prefill_terms=_PROMPT, prefill_groups=_GROUPS, n_forms_tried=6,
        use=Use(engine="llama.cpp", device_families=("gddr",), id_pattern=_NVIDIA, released_before="2022-09"),
    ),
    Family(
        id="llamacpp-hbm", table=_HBM, source=_XIONGJIEDAI,
        load=_xiongjiedai(lambda _row, device: device.family == "hbm"),
        decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=2,
        use=Use(engine="llama.cpp", device_families=("hbm",)),
    ),
    Family(
        id="llamafile-apple-m1", table=_APPLE, source=_LOCALSCORE, load=_localscore(_apple("^m1")),
        decode_terms=_NO_CACHE, n_forms_tried=5,
        use=Use(engine="llama.cpp", device_families=("apple",), id_pattern="^m1"),
    ),
    Family(
        id="llamafile-apple-m2-on", table=_APPLE, source=_LOCALSCORE, load=_localscore(_apple("^m[2-9]")),
        decode_terms=_NO_CACHE, n_forms_tried=5,
        use=Use(engine="llama.cpp", device_families=("apple",), id_pattern="^m[2-9]"),
    ),
    Family(
        id="llamafile-nvidia-from-ada", table=_OTHERS, source=_LOCALSCORE,
        load=_localscore(_gpu(_FROM_ADA, wide=False)),
        decode_terms=_NO_CACHE, n_forms_tried=6,
        use=Use(engine="llamafile", device_families=("gddr", "hbm"), id_pattern=_FROM_ADA),
    ),
    Family(
        id="llamafile-nvidia-tensor", table=_OTHERS, source=_LOCALSCORE,
        load=_localscore(_gpu(_TENSOR, wide=False)),
        decode_terms=_NO_CACHE, n_forms_tried=6,
        use=Use(engine="llamafile", device_families=("gddr", "hbm"), id_pattern=_TENSOR),
    ),
    Family(
        id="llamafile-nvidia-before-tensor", table=_OTHERS, source=_LOCALSCORE,
        load=_localscore(_gpu(_BEFORE_TENSOR, wide=False)),
        decode_terms=_NO_CACHE, n_forms_tried=5,
        use=Use(engine="llamafile", device_families=("gddr",), id_pattern=_BEFORE_TENSOR),
    ),
    Family(
        id="llamafile-nvidia-wide-host", table=_OTHERS, source=_LOCALSCORE,
        load=_localscore(_gpu(_NVIDIA, wide=True)),
        decode_terms=_NO_CACHE, n_forms_tried=5,
        use=Use(engine="llamafile on a host with AVX-512", device_families=("gddr", "hbm"), id_pattern=_NVIDIA),
    ),
    Family(
        id="llamafile-amd", table=_OTHERS, source=_LOCALSCORE, load=_localscore(_gpu(_AMD, wide=False)),
        decode_terms=_NO_CACHE, n_forms_tried=2,
        use=Use(engine="llama.cpp", device_families=("gddr",), id_pattern=_AMD),
    ),
    Family(
        id="llamafile-amd-wide-host", table=_OTHERS, source=_LOCALSCORE, load=_localscore(_gpu(_AMD, wide=True)),
        decode_terms=_NO_CACHE, n_forms_tried=2,
        use=Use(engine="llamafile on a host with AVX-512", device_families=("gddr",), id_pattern=_AMD),
    ),
    Family(
        id="llamafile-cpu", table=_CPU, source=_LOCALSCORE,
        load=_localscore(lambda row, device: row.device_kind.startswith("CPU") and device.family in {"cpu", "apu"}),
        decode_terms=_NO_CACHE, n_forms_tried=2,
        use=Use(engine="llama.cpp", device_families=("cpu",)),
    ),
    Family(
        id="llamacpp-apu-dense", table="Strix Halo, dense, with depth", source="kyuz0/amd-strix-halo-toolboxes",
        load=_strix_halo(is_moe=False), decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=1,
        use=Use(engine="llama.cpp", device_families=("apu",), is_moe=False),
    ),
    Family(
        id="llamacpp-apu-moe", table=_MOE, source="kyuz0/amd-strix-halo-toolboxes",
        load=_strix_halo(is_moe=True), decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=1,
        use=Use(engine="llama.cpp", device_families=("apu",), is_moe=True),
    ),
    Family(
        id="llamacpp-moe-users", table="MoE as users submitted it", source=_LOCALMAXXING,
        load=_localmaxxing_moe({"gddr"}), decode_terms=_DECODE, n_forms_tried=2,
        use=Use(engine="llama.cpp as users ran it", device_families=("gddr",), is_moe=True),
    ),
    Family(
        id="llamacpp-moe-users-apple", table="MoE as users submitted it", source=_LOCALMAXXING,
        load=_localmaxxing_moe({"apple"}), decode_terms=_NO_CACHE, n_forms_tried=2,
        use=Use(engine="llama.cpp as users ran it", device_families=("apple",), is_moe=True),
    ),
)  # fmt: skip
