"""What other planners predict for a measured row: one small adapter for each, so that all answer the same question.

    pip install llmfit==1.1.17 servcalc==0.1.0 ridgepoint==0.1.2 aiconfigurator==0.12.0 "fire<0.6"
    pip install --no-deps llm-analysis==0.2.2   # alone: its pin on huggingface-hub excludes ridgepoint's

None of them is a dependency of this project: install them in an environment of their own, beside it. Each is imported
when it is first asked. A peer that is absent, or whose inputs cannot say the case, raises `PeerUnavailable` with the
reason, so that a benchmark can say how many rows each peer answered. Every peer gets the same figures of model and
device where it takes figures, its own defaults for the rest, and memory enough to fit: these are runs that did fit.

What is compared: tokens/s of decode, all sequences of the batch together, from the gap between tokens; and the time
to the first token. What the peers are:

- flat factor: one line, 0.55 · bandwidth / bytes of the weights, as llmfit documents it (docs/how-it-works.md).
- llmfit (MIT): the same from its binary, with its own nominal bytes a parameter (0.5 at Q4_K_M, where files have
  about 0.6), and its terms for mixtures of experts; decode does not depend on the context. One device, one sequence.
- servcalc (MIT): a roofline with efficiency curves by engine, which its author calls priors. One device, dense.
- ridgepoint (MIT): 0.61 · bandwidth / (weights + KV) of eleven devices that it knows; n devices divide the time by n.
- llm-analysis (Apache-2.0, last released in 2023): a roofline of layers with efficiency 1 by default; "advised" uses
  0.65 of the bandwidth, the middle of the 0.6 to 0.7 that its own warning gives for inference.
- aiconfigurator (Apache-2.0): interpolates kernels measured on data-centre GPUs under vLLM, SGLang or TensorRT-LLM.
  Some of the rows published with it are what it was checked against: not held-out data for it.
"""

import importlib
import json
import logging
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["PEERS", "Case", "Peer", "PeerUnavailable"]

_T = TypeVar("_T")

_FLAT_EFFICIENCY = 0.55  # llmfit: docs/how-it-works.md and llmfit-core/src/plan.rs, "efficiency"
_ADVISED_BANDWIDTH_FRACTION = 0.65  # llm_analysis/analysis.py, the warning in `infer`
_AMPLE_BYTES = 4096 * 10**9
_SAME_BANDWIDTH_FRACTION = 0.05
_LLMFIT_TIMEOUT_S = 60.0


class PeerUnavailable(Exception):  # noqa: N818 - the absence of an answer, which the benchmark counts
    """The peer is not installed, or cannot express the case: the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One measured row, as the peers can be asked about it.

    Full attention in every layer. The batch is of sequences that decode at once; `n_devices` share every step (tensor
    parallel): layers that are split over devices one after the other are no case for any of these peers.
    `flops_per_s` is the dense peak of one device in the computing dtype, None where it is unknown.
    Decode starts at a context of `prompt_tokens` (1 where a bench starts with an empty cache).
    """

    model: str
    engine: str
    quant: str
    weight_bytes: float
    n_params: float
    n_layers: int
    hidden_size: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    intermediate_size: int
    vocab_size: int
    device: str
    mem_bandwidth_bytes_per_s: float
    flops_per_s: float | None
    prompt_tokens: int
    output_tokens: int
    batch: int = 1
    n_devices: int = 1
    link_bytes_per_s: float | None = None
    tied_embeddings: bool = False
    attention_bias: bool = False
    n_active_params: float | None = None
    n_experts: int = 0
    n_experts_per_token: int = 0

    @property
    def context_tokens(self) -> int:
        """Mean context of a sequence while it decodes."""
        return self.prompt_tokens + self.output_tokens // 2


@dataclass(frozen=True, slots=True)
class Peer:
    """A planner by name, with what it can be asked: tokens/s of decode, seconds to the first token (None: cannot)."""

    name: str
    tokens_per_s: Callable[[Case], float]
    ttft_s: Callable[[Case], float] | None


def flat_factor_tokens_per_s(case: Case) -> float:
    """0.55 · bandwidth / bytes of the weights; one device, one sequence, dense."""
    _require(case, one_device=True, one_sequence=True, dense=True)
    return _FLAT_EFFICIENCY * case.mem_bandwidth_bytes_per_s / case.weight_bytes


# llmfit: a binary, asked about a hardware profile and a model that are written for the case.

_LLMFIT_QUANTS = {
    **{q: q for q in ("F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K", "MXFP4")},
    "AWQ": "AWQ-4bit",
    "GPTQ": "GPTQ-Int4",
}


def llmfit_tokens_per_s(case: Case) -> float:
    """What `llmfit plan` gives for the model on the GPU path."""
    _require(case, one_device=True, one_sequence=True)
    quant = _translated(case.quant, _LLMFIT_QUANTS, "llmfit")
    asked = ("plan", "bench/case", "--context", str(case.context_tokens), "--quant", quant)
    paths = _llmfit(_as_llmfit_sees(case), asked)["run_paths"]
    found = next((path["estimated_tps"] for path in paths if path["path"] == "gpu"), None)
    if found is None:
        raise PeerUnavailable("llmfit: no estimate on the GPU path")
    return float(found)


def llmfit_ttft_s(case: Case) -> float:
    """The prompt divided by the prefill rate that `llmfit info` gives; the weights' format does not count there."""
    _require(case, one_device=True, one_sequence=True, peak=True)
    rate = _llmfit(_as_llmfit_sees(case), ("info", "bench/case"))["models"][0]["prefill_tps"]
    if not rate:
        raise PeerUnavailable("llmfit: no estimate of prefill")
    return case.prompt_tokens / float(rate)


def _as_llmfit_sees(case: Case) -> Case:
    """The case without what llmfit is not told, so that equal questions are asked once."""
    return replace(case, model="", engine="", device="", quant="", weight_bytes=0.0, prompt_tokens=0, output_tokens=0)


@cache
def _llmfit(case: Case, arguments: tuple[str, ...]) -> Any:
    binary = _imported("llmfit", "llmfit").find_llmfit_bin()
    bandwidth = case.mem_bandwidth_bytes_per_s / 1e9
    hardware = {
        "total_ram_gb": _AMPLE_BYTES / 1e9,
        "unified_memory": True,  # the only kind whose GPU memory a profile can set
        "gpu_memory_bandwidth_gbps": bandwidth,
        "ddr_bandwidth_gbps": bandwidth,
        **({"gpu_compute_tflops_fp16": case.flops_per_s / 1e12} if case.flops_per_s else {}),
    }
    profile = {"schema_version": 1, "name": "case", "match": {"gpu_name_contains": "case"}, "hardware": hardware}
    with tempfile.TemporaryDirectory() as folder:
        profile_path, models_path = Path(folder, "case.json"), Path(folder, "models.json")
        profile_path.write_text(json.dumps(profile))
        models_path.write_text(json.dumps([_llmfit_model(case)]))
        # An empty home: what a user has measured or downloaded must not answer for the planner.
        environment = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder, "LLMFIT_CUSTOM_MODELS": str(models_path)}
        command = [str(binary), "--profile", str(profile_path), *arguments, "--json"]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_LLMFIT_TIMEOUT_S, check=True
            )
            return json.loads(done.stdout)
        except subprocess.CalledProcessError as error:
            raise PeerUnavailable(f"llmfit: {error.stderr.strip()}") from error
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise PeerUnavailable(f"llmfit: {error}") from error


def _llmfit_model(case: Case) -> dict[str, Any]:
    experts = {
        "is_moe": True,
        "num_experts": case.n_experts,
        "active_experts": case.n_experts_per_token,
        "active_parameters": int(case.n_active_params or case.n_params),
        "moe_intermediate_size": case.intermediate_size,
    }
    return {
        "name": "bench/case",
        "provider": "bench",
        "parameter_count": f"{case.n_params / 1e9:.2f}B",
        "parameters_raw": int(case.n_params),
        **dict.fromkeys(("min_ram_gb", "recommended_ram_gb", "min_vram_gb"), 1.0),
        "quantization": "Q4_K_M",
        "context_length": 1 << 20,
        "use_case": "General chat",
        **_hf_config(case),
        **(experts if case.n_experts else {}),
    }


# servcalc

_SERVCALC_QUANTS = {
    **dict.fromkeys(("F16", "BF16")),
    **{q: f"gguf_{q.lower()}" for q in ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0")},
    "FP8": "fp8",
    "AWQ": "awq",
    "GPTQ": "gptq",
}


def servcalc_tokens_per_s(case: Case) -> float:
    """Its middle estimate for all sequences together, in the steady state of the engine's profile."""
    return float(_servcalc(case).total_tok_s.mid)


def servcalc_ttft_s(case: Case) -> float:
    """Its middle estimate, beside the decode of the batch's other sequences."""
    ttft_ms = _servcalc(case).ttft_ms
    if ttft_ms is None:
        raise PeerUnavailable("servcalc: the batch leaves no room for prefill in its token budget")
    return float(ttft_ms.mid) / 1e3


def _servcalc(case: Case) -> Any:
    """Servcalc's figures at the case's batch."""
    _require(case, one_device=True, dense=True, peak=True)
    servcalc = _imported("servcalc", "servcalc")
    quant = _translated(case.quant, _SERVCALC_QUANTS, "servcalc")
    arch = _imported("vramcalc", "servcalc").Arch.from_config(_hf_config(case))
    total_tokens = case.prompt_tokens + case.output_tokens
    try:
        if case.engine == "llama.cpp":
            profile = servcalc.profiles.ollama(num_parallel=case.batch, num_ctx=total_tokens, quant=quant)
        elif case.engine == "vllm":
            profile = servcalc.profiles.vllm(quant=quant)
        else:
            raise PeerUnavailable(f"servcalc: no profile of the engine {case.engine!r}")
        estimate = servcalc.estimate(
            arch,
            servcalc.GpuSpec(
                case.device, _AMPLE_BYTES, case.mem_bandwidth_bytes_per_s / 1e9, (case.flops_per_s or 0.0) / 1e12
            ),
            workload=servcalc.Workload(case.prompt_tokens, case.output_tokens, (case.batch,)),
            profile=profile,
            weight_bytes=int(case.weight_bytes),
        )
    except (KeyError, ValueError) as error:
        raise PeerUnavailable(f"servcalc: {error}") from error
    return estimate.points[0]


# ridgepoint

_RIDGEPOINT_DEVICES = (
    ("a100", 1555e9, "a100-40gb"),
    ("a100", 2039e9, "a100-80gb"),
    ("3090", 936e9, "rtx3090-24gb"),
    ("h100", 3350e9, "h100-80gb"),
    ("h200", 4800e9, "h200-141gb"),
    ("l40s", 864e9, "l40s-48gb"),
    ("4090", 1008e9, "rtx4090-24gb"),
    ("b200", 8000e9, "b200-192gb"),
    ("gb200", 8000e9, "gb200-192gb"),
    ("5090", 1792e9, "rtx5090-32gb"),
    ("mi300x", 5300e9, "mi300x-192gb"),
)
_RIDGEPOINT_QUANTS = {
    **{q: q.lower() for q in ("BF16", "FP8", "INT8", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K")},
    "F16": "fp16",
    "AWQ": "awq",
    "GPTQ": "gptq",
}


def ridgepoint_tokens_per_s(case: Case) -> float:
    """Its best estimate for one sequence: it gives no rate for a batch."""
    _require(case, one_sequence=True)
    return float(_ridgepoint(case)["decode_tok_s"]["best"])


def ridgepoint_ttft_s(case: Case) -> float:
    """Its best estimate of one prompt's prefill on idle devices; it calls it uncalibrated."""
    _require(case, one_sequence=True)
    return float(_ridgepoint(case)["ttft_s"]["best"])


def _ridgepoint(case: Case) -> Any:
    """The "speed" part of ridgepoint's answer."""
    core = _imported("ridgepoint._core", "ridgepoint")
    try:
        answer = core.fit_shape(
            case.model,
            case.n_layers,
            case.n_layers,
            case.hidden_size,
            int(case.n_params),
            int(case.n_active_params or case.n_params),
            "gqa",  # which covers one KV head per head too
            head_dim=case.head_dim,
            n_heads=case.n_heads,
            n_kv_heads=case.n_kv_heads,
            gpu=_device(case, _RIDGEPOINT_DEVICES, "ridgepoint"),
            count=case.n_devices,
            engine="llamacpp" if case.engine == "llama.cpp" else "vllm",
            dtype=_translated(case.quant, _RIDGEPOINT_QUANTS, "ridgepoint"),
            ctx=case.context_tokens,
            prompt=case.prompt_tokens,
            as_json=True,
        )
        return json.loads(answer)["speed"]
    except ValueError as error:
        raise PeerUnavailable(f"ridgepoint: {error}") from error


# llm-analysis

_LLM_ANALYSIS_WEIGHT_BITS = {"F16": 16, "BF16": 16, "Q8_0": 8, "INT8": 8} | dict.fromkeys(
    ("Q4_K_M", "Q4_0", "AWQ", "GPTQ"), 4
)


def llm_analysis_tokens_per_s(case: Case) -> float:
    """Its decode rate of the batch, with its defaults: every efficiency 1."""
    return float(_llm_analysis(case, None)["decode_tokens_per_sec"])


def llm_analysis_ttft_s(case: Case) -> float:
    """Its prefill of one prompt, with its defaults."""
    _require(case, one_sequence=True)
    return float(_llm_analysis(case, None)["prefill_latency"])


def llm_analysis_advised_tokens_per_s(case: Case) -> float:
    """Its decode rate of the batch, with the fraction of the bandwidth that its warning advises."""
    return float(_llm_analysis(case, _ADVISED_BANDWIDTH_FRACTION)["decode_tokens_per_sec"])


def _llm_analysis(case: Case, bandwidth_fraction: float | None) -> Mapping[str, Any]:
    """The summary of llm-analysis' inference; 16 bits of activations and KV, the nearest weight width it has."""
    _require(case, peak=True)
    if case.n_devices > 1 and case.link_bytes_per_s is None:
        raise PeerUnavailable("llm-analysis: needs the rate of the link between devices")
    config, analysis = (_imported(f"llm_analysis.{name}", "llm-analysis") for name in ("config", "analysis"))
    analysis.logger.setLevel(logging.ERROR)
    # It counts two matrices in an MLP where these models have three: 1.5 times the width gives their bytes.
    expansion = 1.5 * case.intermediate_size / case.hidden_size
    model = config.ModelConfig(
        name=case.model,
        num_layers=case.n_layers,
        n_head=case.n_heads,
        hidden_dim=case.hidden_size,
        vocab_size=case.vocab_size,
        num_key_value_heads=case.n_kv_heads,
        ffn_embed_dim=int(expansion * case.hidden_size),
        expansion_ratio=expansion,
        moe_num_experts=max(case.n_experts, 1),
        moe_top_k=max(case.n_experts_per_token, 1),
    )
    device = config.GPUConfig(
        name=case.device,
        mem_per_GPU_in_GB=_AMPLE_BYTES / 1e9,
        hbm_bandwidth_in_GB_per_sec=case.mem_bandwidth_bytes_per_s / 1e9,
        intra_node_bandwidth_in_GB_per_sec=(case.link_bytes_per_s or 1e9) / 1e9,
        intra_node_min_message_latency=8e-6,  # as in every device file of its own
        peak_fp16_TFLOPS=(case.flops_per_s or 0.0) / 1e12,
    )
    bits = _translated(case.quant, _LLM_ANALYSIS_WEIGHT_BITS, "llm-analysis")
    try:
        planner = analysis.LLMAnalysis(
            model,
            device,
            config.DtypeConfig(name=f"w{bits}a16e16", weight_bits=bits),
            config.ParallelismConfig(tp_size=case.n_devices),
            hbm_memory_efficiency=bandwidth_fraction,
        )
        summary: Mapping[str, Any] = planner.inference(
            batch_size_per_gpu=case.batch, seq_len=case.prompt_tokens, num_tokens_to_generate=case.output_tokens
        )
    except (AssertionError, ValueError) as error:
        raise PeerUnavailable(f"llm-analysis: {error}") from error
    return summary


# aiconfigurator

_AICONFIGURATOR_SYSTEMS = (
    ("a100", 2039e9, "a100_sxm"),
    ("h100", 3350e9, "h100_sxm"),
    ("h200", 4800e9, "h200_sxm"),
    ("b200", 7700e9, "b200_sxm"),
    ("b300", 7750e9, "b300_sxm"),
    ("gb200", 8000e9, "gb200"),
    ("gb300", 8000e9, "gb300"),
    ("l40s", 864e9, "l40s"),
)
_AICONFIGURATOR_QUANTS = {"F16": None, "BF16": None, "FP8": "fp8", "INT8": "int8_wo", "AWQ": "int4_wo"}


def aiconfigurator_tokens_per_s(case: Case) -> float:
    """The batch divided by its time per output token."""
    return case.batch * 1e3 / float(_aiconfigurator(case).tpot)


def aiconfigurator_ttft_s(case: Case) -> float:
    """Its time to the first token beside the batch's other requests."""
    return float(_aiconfigurator(case).ttft) / 1e3


@cache
def _aiconfigurator(case: Case) -> Any:
    """Its estimate: one pass for a single request, requests joining a running batch for more."""
    if case.engine not in {"vllm", "sglang", "trtllm"}:
        raise PeerUnavailable(f"aiconfigurator: has no measurements of the engine {case.engine!r}")
    api = _imported("aiconfigurator.cli.api", "aiconfigurator")
    for name in ("aiconfigurator", "aiconfigurator_core"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        try:
            return api.cli_estimate(
                _aiconfigurator_model(case, Path(folder)),
                _device(case, _AICONFIGURATOR_SYSTEMS, "aiconfigurator"),
                mode="static" if case.batch == 1 else "agg",
                backend_name=case.engine,
                isl=case.prompt_tokens,
                osl=case.output_tokens,
                batch_size=case.batch,
                tp_size=case.n_devices,
                gemm_quant_mode=_translated(case.quant, _AICONFIGURATOR_QUANTS, "aiconfigurator"),
                **({"moe_tp_size": case.n_devices, "moe_ep_size": 1} if case.n_experts else {}),
            )
        except PeerUnavailable:
            raise
        except Exception as error:  # its errors have no root of their own
            raise PeerUnavailable(f"aiconfigurator: {error}") from error


def _aiconfigurator_model(case: Case, folder: Path) -> str:
    """A dense model as a config.json in the folder; experts only by a name whose config it carries."""
    if case.n_experts:
        configs = Path(_imported("aiconfigurator_core", "aiconfigurator").__file__ or "").parent / "model_configs"
        if not (configs / f"{case.model.replace('/', '--')}_config.json").exists():
            raise PeerUnavailable(f"aiconfigurator: carries no config of {case.model}")
        return case.model
    (folder / "config.json").write_text(json.dumps(_hf_config(case)))
    return str(folder)


def _hf_config(case: Case) -> dict[str, Any]:
    """A dense Llama of the case's shape, in the words of a config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "num_hidden_layers": case.n_layers,
        "hidden_size": case.hidden_size,
        "num_attention_heads": case.n_heads,
        "num_key_value_heads": case.n_kv_heads,
        "head_dim": case.head_dim,
        "intermediate_size": case.intermediate_size,
        "vocab_size": case.vocab_size,
        "tie_word_embeddings": case.tied_embeddings,
        "attention_bias": case.attention_bias,
        "max_position_embeddings": 1 << 20,
        "torch_dtype": "bfloat16",
    }


def _imported(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PeerUnavailable(f"{package} is not installed here: {error}") from error


def _require(
    case: Case, *, one_device: bool = False, one_sequence: bool = False, dense: bool = False, peak: bool = False
) -> None:
    if one_device and case.n_devices != 1:
        raise PeerUnavailable("models one device")
    if one_sequence and case.batch != 1:
        raise PeerUnavailable("models one sequence")
    if dense and case.n_experts:
        raise PeerUnavailable("models no mixture of experts")
    if peak and not case.flops_per_s:
        raise PeerUnavailable("needs the device's peak FLOP/s, which the case lacks")


def _translated(name: str, table: Mapping[str, _T], peer: str) -> _T:
    if name not in table:
        raise PeerUnavailable(f"{peer}: has no word for the weight format {name!r}")
    return table[name]


def _device(case: Case, table: tuple[tuple[str, float, str], ...], peer: str) -> str:
    """The peer's name of the device: a word of the name must match, and the bandwidth, for variants share names."""
    words = re.split(r"[^a-z0-9]+", case.device.lower())
    for word, bandwidth, name in table:
        off = abs(case.mem_bandwidth_bytes_per_s / bandwidth - 1)
        if word in words and off <= _SAME_BANDWIDTH_FRACTION:
            return name
    raise PeerUnavailable(f"{peer}: does not know the device {case.device!r} with this bandwidth")


PEERS = (
    Peer("flat factor", flat_factor_tokens_per_s, None),
    Peer("llmfit", llmfit_tokens_per_s, llmfit_ttft_s),
    Peer("servcalc", servcalc_tokens_per_s, servcalc_ttft_s),
    Peer("ridgepoint", ridgepoint_tokens_per_s, ridgepoint_ttft_s),
    Peer("llm-analysis", llm_analysis_tokens_per_s, llm_analysis_ttft_s),
    Peer("llm-analysis, advised", llm_analysis_advised_tokens_per_s, None),
    Peer("aiconfigurator", aiconfigurator_tokens_per_s, aiconfigurator_ttft_s),
)
