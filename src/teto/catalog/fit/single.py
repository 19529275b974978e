"""One request on one device: llama.cpp as llama-bench and as users ran it, and the other families of this kind."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from teto.catalog.fit.families import NVIDIA, NVIDIA_GROUPS, TENSOR, Family, Loaded, Use
from teto.catalog.fit.localscore import LOCALSCORE
from teto.catalog.fit.observe import Observation, observed
from teto.catalog.fit.other_engines import OTHER_ENGINES
from teto.catalog.fit.rows import read_rows
from teto.catalog.fit.single_rows import Identified, identified, is_possible, prompt, run
from teto.physics.roofline import decode_step

__all__ = ["SINGLE"]

_LEAST_PROMPT_TOKENS: Final = 256  # of shorter prompts the stated speed is that of the server, not of the device


def _llama_bench(files: tuple[str, ...], select: Callable[[Identified], bool]) -> Callable[[Path], Loaded]:
    """llama-bench: `tg N` is a run of N steps from the stated context, `pp N` is one prompt."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [
            row
            for file in files
            for row in read_rows(folder, file)
            if row.n_devices == 1 and row.notes.get("rpc") != "True"
        ]
        found = [one for one in identified(rows, dropped) if select(one)]
        prompts = [one for one in found if not _is_broken_prompt(one, dropped)]
        return Loaded(
            decode=[step for one in found if (step := run(one)) is not None],
            prefill=[whole for one in prompts if (whole := prompt(one)) is not None],
            dropped=dropped,
        )

    return load


def _is_broken_prompt(found: Identified, dropped: Counter[str]) -> bool:
    is_broken = found.device.name == "a100-sxm-80gb" and found.quant == "f16"
    if is_broken:
        dropped["prefill of F16 on the A100 is stated slower than Q4_K_M by ten"] += 1
    return is_broken


def _as_users_ran(select: Callable[[Identified], bool]) -> Callable[[Path], Loaded]:
    """What users submitted to localmaxxing: one request, one token a step, llama.cpp or ollama."""

    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [
            row
            for row in read_rows(folder, "localmaxxing_cache.csv")
            if row.decode_tokens_per_s and row.n_devices == 1 and row.batch == 1
        ]
        found = [one for one in identified(rows, dropped) if select(one)]
        plain = [one for one in found if _is_plain(one, dropped)]
        long = [one for one in plain if (one.row.prompt_tokens or 0) >= _LEAST_PROMPT_TOKENS]
        return Loaded(
            decode=[_answer(one) for one in plain],
            prefill=[whole for one in long if (whole := prompt(one)) is not None],
            dropped=dropped,
        )

    return load


def _is_plain(found: Identified, dropped: Counter[str]) -> bool:
    notes = found.row.notes
    if notes.get("spec") != "False" or notes.get("mtp") != "False":
        dropped["several tokens a step"] += 1
        return False
    if not found.row.engine.startswith(("llama.cpp", "ollama")):
        dropped["another engine"] += 1
        return False
    if not is_possible(_answer(found)):
        dropped["faster than the device's memory allows: another model than stated, or several tokens a step"] += 1
        return False
    return True


def _answer(found: Identified) -> Observation:
    """The step in the middle of the answer."""
    row = found.row
    context = (row.prompt_tokens or 0) + (row.output_tokens or 0) / 2 + 1
    return observed(
        device=found.device,
        shape=found.shape,
        work=decode_step(found.shape, found.weights, context_tokens=context, is_expected=True),
        quant=found.quant,
        measured_s=1 / (row.decode_tokens_per_s or 1),
        context_tokens=context,
    )


_BENCHES: Final = "xiongjiedai_llama3.csv"
_PLAIN: Final = ("f16", "q8_0", "q4_0")
_XIONGJIEDAI: Final = "XiongjieDai/GPU-Benchmarks-on-LLM-Inference, llama.cpp of May 2024"
_KYUZ0: Final = "kyuz0/amd-strix-halo-toolboxes"
_LOCALMAXXING: Final = "localmaxxing (AlexsJones/llmfit)"
_ADA: Final = r"^rtx-(4\d\d\d|[2-6]\d00-ada|3500-ada|5\d\d\d)|^l4"
_AMPERE: Final = r"^rtx-(30\d\d|a\d)|^a(10|40)$"
_DECODE: Final = ("weights_fraction", "cache_fraction", "layer_overhead_s")
_NO_CACHE: Final = ("weights_fraction", "layer_overhead_s")
_PROMPT: Final = ("compute_fraction", "attention_fraction")
_GDDR, _HBM, _MOE = "GDDR, batch 1", "HBM, batch 1", "MoE on one device"


def _named(pattern: str) -> Callable[[Identified], bool]:
    matcher = re.compile(pattern)
    return lambda one: bool(matcher.search(one.device.name))


def _of(family: str, pattern: str = "", *, is_moe: bool | None = None) -> Callable[[Identified], bool]:
    is_named = _named(pattern)
    return lambda one: one.device.family == family and is_named(one) and (is_moe is None or one.shape.is_moe == is_moe)


def _generation(id_: str, pattern: str, use: Use) -> Family:
    return Family(
        id=id_, table=_GDDR, source=_XIONGJIEDAI, load=_llama_bench((_BENCHES,), _named(pattern)),
        decode_terms=_DECODE, prefill_terms=_PROMPT, prefill_groups=NVIDIA_GROUPS, n_forms_tried=17, use=use,
    )  # fmt: skip


def _strix_halo(id_: str, table: str, *, is_moe: bool) -> Family:
    return Family(
        id=id_, table=table, source=_KYUZ0, load=_llama_bench(("strix_halo_kyuz0.csv",), _of("apu", is_moe=is_moe)),
        decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=2,
        use=Use(engine="llama.cpp", device_families=("apu",), is_moe=is_moe),
    )  # fmt: skip


def _users(id_: str, table: str, load: Callable[[Path], Loaded], use: Use, *, n_forms_tried: int) -> Family:
    return Family(
        id=id_, table=table, source=_LOCALMAXXING, load=load, decode_terms=_NO_CACHE,
        prefill_terms=("compute_fraction",), n_forms_tried=n_forms_tried, use=use,
    )  # fmt: skip


def _apple(id_: str, table: str, formats: tuple[str, ...], *, is_plain: bool, engine: str) -> Family:
    """Metal's kernels for plain formats come closer to the bandwidth than those for mixed ones."""
    is_apple = _of("apple")
    load = _llama_bench(
        (_BENCHES, "misc_pages_issues.csv"), lambda one: is_apple(one) and (one.quant in _PLAIN) == is_plain
    )
    return Family(
        id=id_, table=table, source=f"{_XIONGJIEDAI}; llama.cpp discussion 4167, November 2023", load=load,
        decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=8,
        use=Use(engine=engine, device_families=("apple",), is_moe=False, formats=formats),
    )  # fmt: skip


SINGLE: Final = (
    _generation(
        "llamacpp-gddr-ada", _ADA,
        Use(engine="llama.cpp", device_families=("gddr",), id_pattern=TENSOR, released_from="2022-09", is_moe=False),
    ),
    _generation(
        "llamacpp-gddr-ampere", _AMPERE,
        Use(engine="llama.cpp", device_families=("gddr",), id_pattern=TENSOR, released_before="2022-09", is_moe=False),
    ),
    Family(
        id="llamacpp-hbm", table=_HBM, source=_XIONGJIEDAI,
        load=_llama_bench((_BENCHES,), _of("hbm")),
        decode_terms=_DECODE, prefill_terms=_PROMPT, n_forms_tried=4,
        use=Use(engine="llama.cpp", device_families=("hbm",)),
    ),
    _strix_halo("llamacpp-apu-dense", "Strix Halo, dense, with depth", is_moe=False),
    _strix_halo("llamacpp-apu-moe", _MOE, is_moe=True),
    _users(
        "llamacpp-moe-nvidia", _MOE, _as_users_ran(_of("gddr", NVIDIA, is_moe=True)),
        Use(engine="llama.cpp", device_families=("gddr",), id_pattern=NVIDIA, is_moe=True),
        n_forms_tried=11,
    ),
    _users(
        "llamacpp-moe-apple", _MOE, _as_users_ran(_of("apple", is_moe=True)),
        Use(engine="llama.cpp", device_families=("apple",), is_moe=True),
        n_forms_tried=3,
    ),
    _apple(
        "llamacpp-apple-plain", "Apple, llama-bench, F16, Q8_0, Q4_0", _PLAIN, is_plain=True, engine="llama.cpp"
    ),
    *LOCALSCORE,
    _users(
        "llamacpp-dense-nvidia", "NVIDIA, dense, as users ran it", _as_users_ran(_of("gddr", NVIDIA, is_moe=False)),
        Use(engine="llama.cpp as users ran it", device_families=("gddr",), id_pattern=NVIDIA, is_moe=False),
        n_forms_tried=3,
    ),
    _apple(
        "llamacpp-apple-mixed", "Apple, llama-bench, Q4_K_M", (), is_plain=False, engine="llama.cpp of May 2024"
    ),
    *OTHER_ENGINES,
)  # fmt: skip
