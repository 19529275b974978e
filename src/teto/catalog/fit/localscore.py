"""LocalScore: nine tests of llamafile, run by many people on many devices.

Each row is the mean of the nine tests of its public definition, which mix prompts of 16 to 4096 tokens and answers
of 16 to 3072: the cache is counted at that mean, and gets no efficiency of its own, since no row tells it from the
weights. The time to the first token is the mean over the nine prompts, and includes a decode step.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from teto.catalog.fit.families import BEFORE_TENSOR, NVIDIA, NVIDIA_GROUPS, TENSOR, Family, Loaded, Use
from teto.catalog.fit.observe import Observation, observed
from teto.catalog.fit.rows import Row, read_rows
from teto.catalog.fit.single_rows import LLAMA_CPP_BATCH_TOKENS, Identified, identified, mean_work, step_of_run
from teto.catalog.models import find_model
from teto.catalog.resolve import find_format
from teto.physics.device import Device
from teto.physics.precision import weigh
from teto.physics.roofline import Work, prefill

__all__ = ["LOCALSCORE"]

# Prompt and answer tokens of each test (LocalScore's own definition, 2025).
_TESTS: Final = (
    (1024, 16), (4096, 256), (2048, 256), (2048, 768), (1024, 1024), (1280, 3072), (384, 1152), (64, 1024), (16, 1536),
)  # fmt: skip
_CONTEXT_TOKENS: Final = sum(prompt + answer / 2 for prompt, answer in _TESTS) / len(_TESTS)
_LONGEST_TOKENS: Final = max(prompt + answer for prompt, answer in _TESTS)
_PROMPT_TOKENS: Final = sum(prompt for prompt, _ in _TESTS) / len(_TESTS)
_PASSES: Final = sum(-(-prompt // LLAMA_CPP_BATCH_TOKENS) for prompt, _ in _TESTS) / len(_TESTS)

# A host with 512-bit vectors: beside it llamafile is 2 to 13 times slower, on every GPU. LLVM's name of the host stands
# in brackets, but Zen 5 has none there.
_WIDE_HOST: Final = re.compile(r"\((znver[45]|sapphirerapids)\)|Ryzen [3579] 9\d{3}|Ryzen AI")

Selector = Callable[[Row, Device], bool]


@cache
def _step(model: str, quant: str) -> Work:
    """The mean decode step of the nine tests."""
    shape = find_model(model).shape
    weights = weigh(shape, find_format(quant))
    return mean_work([step_of_run(shape, weights, n_steps=n, start_context_tokens=prompt) for prompt, n in _TESTS])


@cache
def _prompt(model: str, quant: str) -> Work:
    """The mean prompt of the nine tests."""
    shape = find_model(model).shape
    weights = weigh(shape, find_format(quant))
    return mean_work(
        [prefill(shape, weights, n_tokens=n, batch_tokens=LLAMA_CPP_BATCH_TOKENS, is_expected=True) for n, _ in _TESTS]
    )


def _observed_step(found: Identified) -> Observation | None:
    speed = found.row.decode_tokens_per_s
    if not speed:
        return None
    return observed(
        device=found.device,
        shape=found.shape,
        work=_step(found.shape.name, found.quant),
        quant=found.quant,
        measured_s=1 / speed,
        context_tokens=_CONTEXT_TOKENS,
    )


def _observed_prompt(found: Identified) -> Observation | None:
    """The mean time to the first token less one decode step."""
    row = found.row
    if not row.ttft_s or not row.decode_tokens_per_s or found.device.rate(find_format(found.quant).compute) is None:
        return None
    seconds = row.ttft_s - 1 / row.decode_tokens_per_s
    if seconds <= 0:
        return None
    return observed(
        device=found.device,
        shape=found.shape,
        work=_prompt(found.shape.name, found.quant),
        quant=found.quant,
        measured_s=seconds,
        context_tokens=_PROMPT_TOKENS,
        n_passes=_PASSES,
    )


def _localscore(select: Selector) -> Callable[[Path], Loaded]:
    def load(folder: Path) -> Loaded:
        dropped: Counter[str] = Counter()
        rows = [row for row in read_rows(folder, "localscore_2025-07.csv") if row.decode_tokens_per_s]
        found = [one for one in identified(rows, dropped) if select(one.row, one.device)]
        return Loaded(
            decode=[step for one in found if (step := _observed_step(one)) is not None],
            prefill=[prompt for one in found if (prompt := _observed_prompt(one)) is not None],
            dropped=dropped,
        )

    return load


_SOURCE: Final = "LocalScore results of March to July 2025 (d893a/localscore-insights), llamafile"
_APPLE, _GPU, _CPU = "Apple on LocalScore", "other GPUs on LocalScore", "CPUs from spec sheets"
_AMD: Final = r"^(rx|radeon|pro-w|w7)"
_SERVER: Final = r"^(epyc|xeon|threadripper|ampereone)"
_NOT_SERVER: Final = rf"^(?!{_SERVER.removeprefix('^')})"
_PORTABLE: Final = r"(.*\d(u|h|hs|hx|hq|hk|p|y|z|v|g\d|ge)(-cpu)?$|ryzen-ai)"
_MOBILE: Final = _NOT_SERVER + _PORTABLE
_DESKTOP: Final = rf"{_NOT_SERVER}(?!{_PORTABLE})"


def _gpu(pattern: str, *, beside_wide: bool, windows: bool | None = None) -> Selector:
    matcher = re.compile(pattern)

    def select(row: Row, device: Device) -> bool:
        return (
            "GPU" in row.device_kind
            and device.family in {"gddr", "hbm"}
            and bool(matcher.search(device.name))
            and bool(_WIDE_HOST.search(row.notes.get("cpu", ""))) == beside_wide
            and (windows is None or (row.notes.get("os") == "Windows") == windows)
        )

    return select


def _of(kind: str, device_families: tuple[str, ...], pattern: str) -> Selector:
    matcher = re.compile(pattern)
    return lambda row, device: (
        kind in row.device_kind and device.family in device_families and bool(matcher.search(device.name))
    )


def _family(
    id_: str, table: str, select: Selector, use: Use, *, n_forms_tried: int, groups: tuple[tuple[str, str], ...] = ()
) -> Family:
    return Family(
        id=id_,
        table=table,
        source=_SOURCE,
        load=_localscore(select),
        decode_terms=("weights_fraction", "layer_overhead_s"),
        prefill_terms=("compute_fraction",),
        prefill_groups=groups,
        use=use,
        n_forms_tried=n_forms_tried,
        context_range_tokens=(1.0, float(_LONGEST_TOKENS)),
    )


def _apple(id_: str, pattern: str) -> Family:
    use = Use(engine="llama.cpp", device_families=("apple",), id_pattern=pattern)
    return _family(id_, _APPLE, _of("GPU", ("apple",), pattern), use, n_forms_tried=6)


def _nvidia(id_: str, engine: str, *, beside_wide: bool, windows: bool) -> Family:
    pattern = NVIDIA if beside_wide else TENSOR
    use = Use(engine=engine, device_families=("gddr", "hbm"), id_pattern=pattern)
    select = _gpu(pattern, beside_wide=beside_wide, windows=windows)
    return _family(id_, _GPU, select, use, n_forms_tried=16, groups=() if windows else NVIDIA_GROUPS)


def _older(id_: str, engine: str, pattern: str, *, beside_wide: bool, n_forms_tried: int) -> Family:
    use = Use(engine=engine, device_families=("gddr", "hbm"), id_pattern=pattern)
    return _family(id_, _GPU, _gpu(pattern, beside_wide=beside_wide), use, n_forms_tried=n_forms_tried)


def _cpu(id_: str, pattern: str) -> Family:
    use = Use(engine="llama.cpp", device_families=("cpu",), id_pattern=pattern)
    return _family(id_, _CPU, _of("CPU", ("cpu", "apu"), pattern), use, n_forms_tried=3)


_BESIDE_WIDE: Final = "llamafile on a host with AVX-512"
LOCALSCORE: Final = (
    _apple("llamafile-apple-m1", r"^m1"),
    _apple("llamafile-apple-m2-on", r"^m[2-9]"),
    _older("llamafile-nvidia-before-tensor", "llama.cpp", BEFORE_TENSOR, beside_wide=False, n_forms_tried=7),
    _older("llamafile-amd", "llama.cpp", _AMD, beside_wide=False, n_forms_tried=6),
    _nvidia("llamafile-nvidia-linux", "llamafile", beside_wide=False, windows=False),
    _nvidia("llamafile-nvidia-windows", "llamafile on Windows", beside_wide=False, windows=True),
    _nvidia("llamafile-nvidia-linux-wide-host", _BESIDE_WIDE, beside_wide=True, windows=False),
    _nvidia("llamafile-nvidia-windows-wide-host", f"{_BESIDE_WIDE}, Windows", beside_wide=True, windows=True),
    _older("llamafile-amd-wide-host", _BESIDE_WIDE, _AMD, beside_wide=True, n_forms_tried=6),
    _cpu("llamafile-cpu-desktop", _DESKTOP),
    _cpu("llamafile-cpu-mobile", _MOBILE),
    _cpu("llamafile-cpu-server", _SERVER),
)
