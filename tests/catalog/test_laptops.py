"""Readings of the parts of laptops."""

import pytest

from teto.catalog.devices import all_devices
from teto.catalog.laptops import laptop_readings, part_of
from teto.catalog.models import find_model


def test_readings_are_of_a_group() -> None:
    """A group gets the readings whose prefix it starts with, those named most closely first; others get none."""
    strix = laptop_readings("ryzen-ai-max-395")
    assert [found.origin.groups for found in strix] == ["ryzen-ai-max-395", "ryzen-ai-"]
    assert [found.origin.groups for found in laptop_readings("ryzen-ai-7-350")] == ["ryzen-ai-"]
    assert laptop_readings("snapdragon-x-elite") == ()


def test_the_published_readings() -> None:
    """Llama-3.1-8B: 1.24 W at 7.6 tokens a second on the NPU, 4.5 W at 10.3 on the CPU."""
    (found,) = laptop_readings("ryzen-ai-7-350")
    read = {(one.part, one.engine): one for one in found.reading if one.model == "llama-3.1-8b"}
    assert (read["npu", "FastFlowLM"].power_w, read["npu", "FastFlowLM"].tokens_per_s) == (1.24, 7.6)
    assert (read["cpu", "LM Studio"].power_w, read["cpu", "LM Studio"].tokens_per_s) == (4.5, 10.3)
    assert len(found.of("npu")) == 6


def test_names_are_those_of_the_catalog() -> None:
    """Every reading is of a model that the catalog has, by its id, and of a group that it has."""
    groups = {entry.group for entry in all_devices() if entry.group is not None}
    for found in laptop_readings("ryzen-ai-max-395"):
        assert any(group.startswith(found.origin.groups) for group in groups)
        assert all(find_model(one.model).id == one.model for one in found.reading)


@pytest.mark.parametrize(("family", "part"), [("cpu", "cpu"), ("apu", "igpu"), ("npu", "npu"), ("hbm", None)])
def test_parts(family: str, part: str | None) -> None:
    """A device's family says which part of a package it is."""
    assert part_of(family) == part
