"""The catalog of models: every entry is whole, its sizes are those it is known for, and names mean one model."""

from datetime import date

import pytest

from tests.catalog.configs import CONFIGS, SHARED_CONFIGS, config_of
from teto.catalog.hf_config import read_hf_config, read_hf_config_file
from teto.catalog.models import ModelEntry, Quoted, all_models, decode_models, find_model
from teto.errors import ConfigError, UnknownNameError
from teto.physics.precision import FORMATS

ENTRIES = all_models()
FROM_FILES = [
    (entry, file)
    for entry in ENTRIES
    if entry.source.startswith(("config.json of ", "text_config in config.json of "))
    and (
        file := SHARED_CONFIGS / f"{entry.source.split(' of ')[1].split(',')[0].replace('/', '--')}_config.json"
    ).is_file()
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_whole(entry: ModelEntry) -> None:
    """An entry has a shape, a name, where and when its config was read; formats that names state exist."""
    assert entry.id == entry.id.lower()
    assert entry.name
    assert entry.source
    assert date.fromisoformat(entry.read_on).isoformat() == entry.read_on
    assert entry.shape.name == entry.id
    assert all(stated == "unnamed" or stated in FORMATS for stated in entry.formats.values())
    assert entry.native_format is None or entry.native_format in FORMATS


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_size_is_that_of_the_name(entry: ModelEntry) -> None:
    """A name that states its parameters is right, but for rounding, and for tables that some makers leave out."""
    stated = [part for part in entry.id.split("-") if part[0].isdigit() and part[-1] in "bm"]
    sized = [float(part[:-1]) * (1e9 if part.endswith("b") else 1e6) for part in stated if "x" not in part]
    if sized:
        assert 0.85 < entry.shape.total_params / sized[0] < 1.35


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.quoted], ids=lambda entry: entry.id)
def test_the_size_is_the_quoted_one(entry: ModelEntry) -> None:
    """A quoted total is right within 3 %; an active figure may count the input table, or leave out the head."""
    assert entry.quoted is not None
    assert entry.quoted.total_params == pytest.approx(entry.shape.total_params, rel=0.03)
    assert entry.quoted.active_params is not None
    active, table = entry.shape.active_params, entry.shape.table_params
    assert 0.9 * (active - entry.shape.head_params) < entry.quoted.active_params < 1.05 * (active + table)


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("deepseek-v2", 236, 21),
        ("deepseek-v3", 671, 37),
        ("deepseek-r1", 671, 37),
        ("mixtral-8x7b", 46.7, 12.9),
        ("mixtral-8x22b", 141, 39),
        ("qwen3-30b-a3b", 30.5, 3.3),
        ("qwen3-235b-a22b", 235, 22),
        ("qwen3-coder-480b-a35b", 480, 35),
        ("qwen3-next-80b-a3b", 80, 3),
        ("llama-4-scout", 109, 17),
        ("llama-4-maverick", 400, 17),
        ("kimi-k2", 1000, 32),
        ("glm-4.5-air", 106, 12),
        ("glm-5", 744, 40),
        ("minimax-m2.5", 230, 10),
        ("gpt-oss-20b", 21, 3.6),
        ("gpt-oss-120b", 117, 5.1),
        ("nemotron-3-nano-30b-a3b", 31.6, 3.2),
    ],
)
def test_figures_that_everyone_quotes(model: str, total: float, active: float) -> None:
    """Models with experts show the billions that they are known for beside the computed ones."""
    quoted = find_model(model).quoted
    assert quoted is not None
    assert (quoted.total_params, quoted.active_params) == (total * 1e9, active * 1e9)


@pytest.mark.skipif(not FROM_FILES, reason="the published configs are not at hand")
def test_entries_are_those_of_the_published_configs() -> None:
    """An entry that names a config as its source has the shape that the config itself gives."""
    for entry, file in FROM_FILES:
        published = read_hf_config_file(file)
        assert published.shape.blocks == entry.shape.blocks, entry.id
        assert published.shape.total_params == entry.shape.total_params, entry.id
        assert published.shape.context_limit_tokens == entry.shape.context_limit_tokens, entry.id


@pytest.mark.parametrize("model", [name for name in CONFIGS if name != "gemma-3-27b"])
def test_entries_are_those_of_the_tests_configs(model: str) -> None:
    """The catalog and the tests' own configs give the same layers."""
    assert find_model(model).shape.blocks == read_hf_config(config_of(model)).shape.blocks


@pytest.mark.parametrize(
    ("name", "found", "native_format"),
    [
        ("llama-3.1-8b", "llama-3.1-8b", "bf16"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b", "bf16"),
        ("  LLAMA 3.1:8B ", "llama-3.1-8b", "bf16"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b", "fp8"),
        ("Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b", "fp8"),
        ("llama-2-7b.Q4_0", "llama-2-7b", "q4_0"),
        ("unsloth/Qwen3.6-27B-GGUF", "qwen3.6-27b", None),
        ("DeepSeek-R1", "deepseek-r1", "fp8"),
        ("openai/gpt-oss-120b", "gpt-oss-120b", "mxfp4"),
    ],
)
def test_a_name_finds_its_model(name: str, found: str, native_format: str | None) -> None:
    """Ids, hub ids and aliases in any case and spacing; a name that states a format brings it along."""
    entry = find_model(name)
    assert (entry.id, entry.native_format) == (found, native_format)


def test_8b_of_llama_3_and_3_1_differ_in_context() -> None:
    """Llama 3 and 3.1 have the same layers, and were made for 8,192 and 131,072 tokens."""
    old, new = find_model("llama-3-8b").shape, find_model("llama-3.1-8b").shape
    assert old.blocks == new.blocks
    assert (old.context_limit_tokens, new.context_limit_tokens) == (8192, 131_072)


def test_an_unknown_name_lists_the_nearest() -> None:
    """A misspelt name is refused with the ones that were meant; one like no other says so."""
    with pytest.raises(UnknownNameError, match=r"'lama-3\.1-8b'; the nearest are llama-3\.1-8b, ") as raised:
        find_model("lama-3.1-8b")
    assert raised.value.fix == "Run `teto models catalog`, or give a .gguf file or a config.json."
    with pytest.raises(UnknownNameError, match=rf"none of the {len(ENTRIES)} has a name like it"):
        find_model("§§§")


def test_a_faulty_file_is_named() -> None:
    """A key that no entry has, or none at all, is an error with the file."""
    text = b'[[model]]\nid = "a"\nname = "A"\nsource = "s"\nread_on = "2026-01-01"\nwidth = 3\n[model.config]\n'
    with pytest.raises(ConfigError, match=r"models/a\.toml is not a list of models: .*width"):
        decode_models(text, file="models/a.toml")
    with pytest.raises(ConfigError, match=r"Correct the entry in models/b\.toml"):
        decode_models(b"[[model]]\n", file="models/b.toml")


def test_an_entry_with_a_strange_config_is_an_error_when_asked() -> None:
    """Reading the catalog reads no config: only the entry that is asked for can fail, and it is named."""
    text = (
        b'[[model]]\nid = "odd"\nname = "Odd"\nsource = "s"\nread_on = "2026-01-01"\n[model.config]\nmodel_type = "x"\n'
    )
    (entry,) = decode_models(text, file="models/odd.toml")
    with pytest.raises(ConfigError, match=r"odd: model_type 'x'"):
        _ = entry.shape


def test_what_is_quoted_names_its_source() -> None:
    """A quoted figure stands with its source, and may be one of the two."""
    assert Quoted(source="a report", total_params=1e9) == Quoted(source="a report", total_params=1e9)
    assert all(entry.quoted.source for entry in ENTRIES if entry.quoted)
