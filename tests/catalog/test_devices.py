"""The catalog of devices: figures against the vendors' sheets, and no figure that cannot be."""

import re
from collections import defaultdict
from typing import Final, get_args

import pytest

from teto.catalog.devices import DeviceEntry, Fact, all_devices, decode_devices, find_device
from teto.catalog.devices import _index as index_names
from teto.errors import ConfigError, UnknownNameError
from teto.physics.device import Family
from teto.units import GIB

ENTRIES: Final = all_devices()
RATED: Final = [entry for entry in ENTRIES if entry.half_precision is not None]
BANDWIDTH: Final = 'mem_bandwidth_bytes_per_s = { value = 1e12, kind = "vendor", source = "a sheet", date = "2025-01" }'


def _text(*lines: str, bandwidth: str = BANDWIDTH) -> bytes:
    """A file with one device of 1 TB/s, and these lines after it."""
    head = ("[[device]]", 'id = "made-up"', 'name = "Made Up"', 'family = "gddr"', bandwidth)
    return "\n".join((*head, *lines)).encode()


def _rate(dtype: str, flops_per_s: float) -> str:
    return f'flops_per_s.{dtype} = {{ value = {flops_per_s}, kind = "vendor", source = "a sheet", date = "2025" }}'


def _facts(entry: DeviceEntry) -> list[Fact]:
    values = [getattr(holder, key) for holder in (entry, entry.flops_per_s) for key in holder.__struct_fields__]
    return [value for value in values if isinstance(value, Fact)]


@pytest.mark.parametrize(
    ("name", "bandwidth_gb_per_s"),
    [
        ("RTX 4090", 1008),
        ("H100", 3350),
        ("NVIDIA H200", 4800),
        ("B200", 8000),
        ("MI300X", 5300),
        ("Apple M2 Ultra", 800),
        ("M1", 68.25),
        ("A100-80GB", 2039),
        ("Radeon 8060S", 256),
    ],
)
def test_bandwidth_is_the_sheets(name: str, bandwidth_gb_per_s: float) -> None:
    """Bandwidth is the one that the vendor's sheet prints."""
    assert find_device(name).mem_bandwidth_bytes_per_s.value == pytest.approx(bandwidth_gb_per_s * 1e9)


def test_bandwidth_is_width_times_rate() -> None:
    """384 bit at 21 Gbit/s are 1,008 GB/s, and 2 channels of 8 bytes at 3,200 MT/s are 51.2."""
    assert find_device("rtx-4090").mem_bandwidth_bytes_per_s.value == pytest.approx(384 / 8 * 21e9)
    assert find_device("ryzen-9-5950x").mem_bandwidth_bytes_per_s.value == pytest.approx(2 * 8 * 3200e6)


@pytest.mark.parametrize(
    ("name", "ridge_flops_per_byte"),
    [("h100-sxm", 989 / 3.35), ("rtx-4090", 165.2 / 1.008), ("b200", 2250 / 8), ("m2-ultra-76-core-gpu", 27.24 / 0.8)],
)
def test_the_ridge_is_dense(name: str, ridge_flops_per_byte: float) -> None:
    """The ridge divides the dense 16-bit rate: 989 TFLOP/s and 3.35 TB/s make 295.2 FLOP/B on H100."""
    found = find_device(name).ridge_flops_per_byte
    assert found == pytest.approx(ridge_flops_per_byte, rel=2e-3)


def test_geforce_accumulates_at_half_rate() -> None:
    """GeForce's 16-bit rate is with 32-bit accumulation, twice the shaders', and a workstation card's is four times."""
    for name, multiple in (("rtx-4090", 2), ("rtx-3090", 2), ("rtx-5090", 2), ("rtx-6000-ada", 4), ("rtx-a6000", 4)):
        rates = find_device(name).flops_per_s
        assert rates.bf16 is not None
        assert rates.fp32 is not None
        assert rates.bf16.value / rates.fp32.value == pytest.approx(multiple, rel=0.02)


def test_memory_is_binary_on_a_card() -> None:
    """A card of 24 GB holds 24 x 2^30 bytes; Apple's chips come with several sizes and have none."""
    memory = find_device("rtx-4090").memory_bytes
    assert memory is not None
    assert memory.value == 24 * GIB
    assert find_device("M3 Max").memory_bytes is None


def test_variants_with_fewer_cores_have_their_own_bandwidth() -> None:
    """M3 Max and M4 Max lose a quarter of the memory channels with the smaller GPU."""
    for name, bandwidth_gb_per_s in (
        ("Apple M3 Max 10P+4E+30GPU", 300),
        ("Apple M3 Max 12P+4E+40GPU", 400),
        ("Apple M4 Max 10P+4E+32GPU", 410),
        ("Apple M4 Max", 546),
    ):
        assert find_device(name).mem_bandwidth_bytes_per_s.value == bandwidth_gb_per_s * 1e9


def test_links_count_one_direction() -> None:
    """NVLink 4 moves 450 GB/s each way, which sheets print as 900."""
    link = find_device("h100-sxm").link_bytes_per_s
    assert link is not None
    assert link.value == 450e9


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_whole(entry: DeviceEntry) -> None:
    """An entry has a plain id, aliases in lower case that are not its id, and a source for each figure."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.id)
    assert all(alias == alias.lower().strip() for alias in entry.aliases)
    assert entry.id not in entry.aliases
    assert len(set(entry.aliases)) == len(entry.aliases)
    assert all(len(fact.source) > 10 for fact in _facts(entry))


@pytest.mark.parametrize("entry", RATED, ids=lambda entry: entry.id)
def test_no_rate_is_sparse(entry: DeviceEntry) -> None:
    """8-bit rates are at most twice the 16-bit one, except on GeForce, which accumulates integers at full rate."""
    half, rates = entry.half_precision, entry.flops_per_s
    assert half is not None
    geforce = entry.name.startswith("NVIDIA GeForce")
    limits = {"fp8": 2.1, "int8": 4.2 if geforce else 2.1, "fp4": 8.1 if geforce else 6.3}
    for dtype, limit in limits.items():
        fact = getattr(rates, dtype)
        assert fact is None or fact.value <= limit * half.value
    assert rates.bf16 is None or rates.fp16 is None or rates.bf16.value <= rates.fp16.value


def test_the_catalog_is_broad() -> None:
    """There are more than 120 devices, of every family."""
    assert len(ENTRIES) > 120
    assert {entry.family for entry in ENTRIES} == set(get_args(Family))


def test_parts_of_a_package_share_its_memory() -> None:
    """CPU, GPU and NPU of one package have one bandwidth, and a group is never one part alone."""
    groups: dict[str, list[DeviceEntry]] = defaultdict(list)
    for entry in ENTRIES:
        if entry.group is not None:
            groups[entry.group].append(entry)
    assert "ryzen-ai-9-hx-370" in groups
    for parts in groups.values():
        assert len(parts) > 1
        assert len({part.mem_bandwidth_bytes_per_s.value for part in parts}) == 1


def test_the_files_are_read_once() -> None:
    """A second call gives the same entries."""
    assert all_devices() is all_devices()


@pytest.mark.parametrize(
    "name",
    ["rtx-4090", "NVIDIA GeForce RTX 4090", "nvidia  geforce  rtx 4090", "4090", " RTX 4090 ", "4090 24GB"],
)
def test_a_device_is_found_by_id_name_and_alias(name: str) -> None:
    """Case and spaces make no difference."""
    assert find_device(name).id == "rtx-4090"


def test_trademark_signs_make_no_difference() -> None:
    """The name that the operating system prints is found."""
    assert find_device("Intel(R) Core(TM) Ultra 7 155H").id == "core-ultra-7-155h"
    assert find_device("AMD Ryzen™ AI 9 HX 370").id == "ryzen-ai-9-hx-370-cpu"


def test_an_unknown_device_lists_the_nearest() -> None:
    """A misspelt name is refused with those that were meant."""
    with pytest.raises(UnknownNameError, match=r"'RTX 4900'; the nearest are .*rtx-4090") as raised:
        find_device("RTX 4900")
    assert raised.value.fix is not None
    assert "catalog/data/devices" in raised.value.fix


def test_a_name_like_no_other_says_so() -> None:
    """Where nothing is near, no device is suggested."""
    with pytest.raises(UnknownNameError, match=rf"none of the {len(ENTRIES)} has a name like it"):
        find_device("§§§")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (_text('colour = "green"'), "colour"),
        (_text(bandwidth=""), "mem_bandwidth_bytes_per_s"),
        (_text(bandwidth=BANDWIDTH.replace("vendor", "rumoured")), "rumoured"),
        (_text(bandwidth=BANDWIDTH.replace("a sheet", " ")), "a source must be named"),
        (_text(bandwidth=BANDWIDTH.replace("2025-01", "2025-13")), "'2025-13'"),
        (_text(bandwidth=BANDWIDTH.replace("1e12", "-1")), "above 0 and finite, found -1"),
        (_text(bandwidth=BANDWIDTH.replace("1e12", "inf")), "above 0 and finite, found inf"),
        (_text(bandwidth=BANDWIDTH.replace("1e12", "1008")), "'made-up': bandwidth must be within"),
        (_text(_rate("bf16", 165.2)), "'made-up': ridge must be within"),
        (_text(_rate("bf16", 1e14), _rate("fp8", 4e14)), "fp8 is at most 2.1 times the 16-bit rate, found 4"),
        (_text(_rate("fp16", 1e14), _rate("fp4", 16e14)), "fp4 is at most 8.1 times the 16-bit rate, found 16"),
        (_text(_rate("fp64", 1e14)), "fp64"),
        (b"[[device]\n", "is not a list of devices"),
    ],
)
def test_a_faulty_file_is_refused(text: bytes, found: str) -> None:
    """Unknown keys and kinds, missing figures, other units and sparse rates are refused, with the file's name."""
    with pytest.raises(ConfigError, match=r"^devices/made_up\.toml") as raised:
        decode_devices(text, file="devices/made_up.toml")
    assert found in raised.value.message
    assert raised.value.fix == "Correct the entry in devices/made_up.toml."


def test_a_whole_file_is_read() -> None:
    """Rates beside each other are read, and what is not there is unknown."""
    (entry,) = decode_devices(_text(_rate("bf16", 2e14), _rate("fp8", 4e14)), file="devices/made_up.toml")
    assert entry.ridge_flops_per_byte == 200
    assert entry.flops_per_s.fp4 is None
    assert entry.power_w is None


def test_a_name_means_one_device() -> None:
    """Two entries that claim one name, in whatever case, are refused with both ids."""
    entries = decode_devices(_text('aliases = ["RTX  4090"]'), file="made_up.toml")
    with pytest.raises(ConfigError, match=r"'rtx 4090' for '(rtx-4090|made-up)' and '(rtx-4090|made-up)'"):
        index_names([*ENTRIES, *entries])
