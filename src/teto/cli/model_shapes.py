"""`teto models catalog` and `teto models show`: shapes of models, with the source of their figures."""

from typing import TYPE_CHECKING, Any, Final

import click

from teto.cli.asked import json_text
from teto.units import show_bytes

if TYPE_CHECKING:
    from teto.catalog.resolve import ResolvedModel
    from teto.physics.shape import Block, Shape

__all__ = ["list_shapes", "show_shape"]

_CONTEXTS: Final = (4096, 32_768, 131_072)
_FORMATS: Final = ("bf16", "fp8", "q8_0", "q4_k_m")


@click.command("catalog")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_shapes(*, as_json: bool) -> None:
    """List the models whose sizes teto knows: what `teto ceiling`, `whatif` and `plan` take by name."""
    from teto.catalog.models import all_models

    rows = [
        {
            "id": entry.id,
            "name": entry.name,
            "total_params": entry.shape.total_params,
            "active_params": entry.shape.active_params,
            "kv_bytes_per_token": entry.shape.kv_bytes_per_token(),
            "native_format": entry.native_format,
        }
        for entry in all_models()
    ]
    if as_json:
        click.echo(json_text(rows))
        return
    width = max(len(str(row["id"])) for row in rows)
    click.echo(f"{'id':{width}}  {'total':>9}  {'active':>9}  {'KV/token':>9}  format")
    for entry in all_models():
        shape = entry.shape
        click.echo(
            f"{entry.id:{width}}  {shape.total_params / 1e9:7.2f} B  {shape.active_params / 1e9:7.2f} B  "
            f"{show_bytes(shape.kv_bytes_per_token()):>9}  {entry.native_format or 'unknown'}"
        )


@click.command("show")
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_shape(model: str, *, as_json: bool) -> None:
    """Show what MODEL is made of: a name of `teto models catalog`, a hub id, a .gguf file or a config.json."""
    from teto.catalog.resolve import resolve_shape

    found = resolve_shape(model)
    facts = _facts(found.shape, found.source, quoted=found.quoted, exact=found.exact)
    if as_json:
        click.echo(json_text(facts))
        return
    _print(found.shape, facts)


def _facts(shape: "Shape", source: str, *, quoted: Any, exact: "ResolvedModel | None") -> dict[str, Any]:
    from teto.physics.precision import FORMATS, weigh

    if exact is not None:
        held = {"file": (exact.weights.resident_bytes, exact.weights.decode_bytes)}
    else:
        weights = {name: weigh(shape, FORMATS[name]) for name in _FORMATS}
        held = {name: (one.resident_bytes, one.decode_bytes) for name, one in weights.items()}
    limit = shape.context_limit_tokens
    contexts = [n for n in _CONTEXTS if limit is None or n <= limit] or [limit or 1]
    return {
        "name": shape.name,
        "source": source,
        "total_params": shape.total_params,
        "active_params_without_input_table": shape.active_params,
        "quoted": quoted,
        "layers": shape.n_layers,
        "width": shape.width,
        "context_limit_tokens": limit,
        "kv_bytes_per_token": shape.kv_bytes_per_token(),
        "kv_bytes": {str(n): float(shape.kv_bytes(n)) for n in contexts},
        "blocks": [_block(block) for block in shape.blocks],
        "formats": {name: {"held_bytes": one, "read_bytes": other} for name, (one, other) in held.items()},
    }


def _block(block: "Block") -> dict[str, Any]:
    experts = block.experts
    return {
        "layers": block.count,
        "mixer": "none" if block.mixer is None else type(block.mixer).__name__,
        "window_tokens": getattr(block.mixer, "window_tokens", None),
        "mixer_params": block.mixer_params,
        "dense_params": block.dense_params,
        "experts": None if experts is None else experts.n_experts,
        "active_experts": None if experts is None else experts.n_active,
        "expert_params": None if experts is None else experts.expert_params,
    }


def _print(shape: "Shape", facts: dict[str, Any]) -> None:
    quoted = facts["quoted"]
    beside = "" if quoted is None else f" (quoted: {_billions(quoted['total_params'])}"
    active = "" if quoted is None else f" (quoted: {_billions(quoted['active_params'])}; {quoted['source']})"
    click.echo(f"model     {facts['name']}")
    click.echo(f"source    {facts['source']}")
    click.echo(f"total     {shape.total_params / 1e9:.3f} B parameters{beside + ')' if beside else ''}")
    click.echo(f"active    {shape.active_params / 1e9:.3f} B a token, without the input table{active}")
    limit = facts["context_limit_tokens"]
    click.echo(f"context   {'unknown' if limit is None else f'{limit:,} tokens'}")
    held = ", ".join(f"{show_bytes(size)} at {int(n):,}" for n, size in facts["kv_bytes"].items())
    click.echo(f"KV        {show_bytes(facts['kv_bytes_per_token'])} a token in 16 bits; {held}")
    for block in facts["blocks"]:
        window = "" if block["window_tokens"] is None else f", window {block['window_tokens']:,}"
        routed = "" if block["experts"] is None else f", {block['active_experts']} of {block['experts']} experts"
        params = block["mixer_params"] + block["dense_params"]
        click.echo(f"          {block['layers']} x {block['mixer']}{window}, {params / 1e6:,.1f} M dense{routed}")
    for name, sizes in facts["formats"].items():
        click.echo(
            f"{name:9} {show_bytes(sizes['held_bytes']):>8} held, {show_bytes(sizes['read_bytes']):>8} read a token"
        )


def _billions(params: float | None) -> str:
    return "not stated" if params is None else f"{params / 1e9:g} B"
