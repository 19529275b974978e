"""FastFlowLM on NPUs, and SGLang on one H20: engines of which few devices were measured."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Final

from teto.catalog.fit.families import Family, Loaded, Use
from teto.catalog.fit.observe import Observation, observed
from teto.catalog.fit.rows import Row, read_rows
from teto.catalog.fit.single_rows import Identified, identified, step_of_run
from teto.physics.roofline import decode_step, prefill

__all__ = ["OTHER_ENGINES"]

_NPU_FORMAT: Final = "q4_1"  # 4 bits and a scale and an offset each block; the vendor states "4-bit Q4NX" only
_RUN_TOGETHER: Final = re.compile(r"^(LLaMA3\.\d|Qwen\d|Gemma\d)(?=[\dE]+(\.\d)?B)")  # "LLaMA3.21B" is Llama 3.2 1B
_SPEED: Final = re.compile(r"= ([\d.]+) t/s")
_SGLANG_BATCH_TOKENS: Final = 8192  # a prompt goes through SGLang in passes of this many, its default here
_H20_FORMATS: Final = {"AWQ-INT4": "int4", "GPTQ-INT4": "int4"}


def _npu_row(row: Row) -> Row:
    """With the catalog's words for the device and the model."""
    return replace(
        row, device=row.device.split(" with ")[0], model=_RUN_TOGETHER.sub(r"\1-", row.model), quant=_NPU_FORMAT
    )


def _on_npu(folder: Path) -> Loaded:
    """Decode at a stated context; the vendor's own figures."""
    dropped: Counter[str] = Counter()
    rows = [
        _npu_row(row)
        for row in read_rows(folder, "npu_fastflowlm.csv")
        if row.decode_tokens_per_s and row.device.startswith("AMD XDNA2 NPU")
    ]
    return Loaded(decode=[_npu_step(one) for one in identified(rows, dropped)], dropped=dropped)


def _npu_step(found: Identified) -> Observation:
    context = found.row.context_start_tokens or 1
    return observed(
        device=found.device,
        shape=found.shape,
        work=decode_step(found.shape, found.weights, context_tokens=context, is_expected=True),
        quant=found.quant,
        measured_s=1 / (found.row.decode_tokens_per_s or 1),
        context_tokens=context,
    )


def _on_h20(folder: Path) -> Loaded:
    """The time of a whole answer, prompt included: (prompt + answer) over the stated speed."""
    dropped: Counter[str] = Counter()
    rows = [
        replace(row, quant=_H20_FORMATS.get(row.quant, row.quant))
        for row in read_rows(folder, "qwen3_h20_speed.csv")
        if row.n_devices == 1 and row.engine.startswith("SGLang")
    ]
    found = list(identified(rows, dropped))
    dense = [one for one in found if not one.shape.is_moe]
    if len(dense) < len(found):
        dropped["the only mixture of experts: nothing else would predict it"] = len(found) - len(dense)
    return Loaded(decode=[_h20_answer(one) for one in dense], dropped=dropped)


def _h20_answer(found: Identified) -> Observation:
    n_prompt, n_answer = int(found.row.prompt_tokens or 1), int(found.row.output_tokens or 1)
    speed = _SPEED.search(found.row.notes["Speed"])
    if speed is None:
        raise ValueError(f"a row of the H20 states no speed: {found.row.notes}")
    prompt_work = prefill(
        found.shape, found.weights, n_tokens=n_prompt, batch_tokens=_SGLANG_BATCH_TOKENS, is_expected=True
    )
    answer = observed(
        device=found.device,
        shape=found.shape,
        work=step_of_run(found.shape, found.weights, n_steps=n_answer, start_context_tokens=n_prompt),
        quant=found.quant,
        measured_s=(n_prompt + n_answer) / float(speed.group(1)),
        context_tokens=n_prompt + n_answer / 2,
    )
    passes = -(-n_prompt // _SGLANG_BATCH_TOKENS)
    return replace(answer, n_steps=n_answer, prompt_work=prompt_work, prompt_passes=passes)


_H20: Final = "QwenLM/Qwen3 speed benchmark, SGLang 0.4.6 on one H20"
_WHOLE: Final = ("weights_fraction", "cache_fraction", "compute_fraction", "attention_fraction", "layer_overhead_s")
OTHER_ENGINES: Final = (
    Family(
        id="fastflowlm-npu", table="NPU, FastFlowLM", source="ROCm/FastFlowLM benchmarks, published by the vendor",
        load=_on_npu, decode_terms=("weights_fraction", "cache_fraction", "layer_overhead_s"), n_forms_tried=1,
        use=Use(engine="FastFlowLM", device_families=("npu",)),
    ),
    Family(
        id="sglang-h20-dense", table="H20, whole answers", source=_H20,
        load=_on_h20, decode_terms=_WHOLE, n_forms_tried=1,
        use=Use(engine="SGLang 0.4.6", device_families=("hbm",), is_moe=False),
    ),
)  # fmt: skip
