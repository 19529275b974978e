"""Every word on a chart, in English and Portuguese, and figures as each language writes them."""

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["Lang", "Words", "floored", "rounded"]

Lang = Literal["en", "pt"]

_TEXTS: dict[str, tuple[str, str]] = {
    # token
    "token.title": ("The price of one token", "O preço de um token"),
    "token.prefill": (
        "1. Prefill: the whole prompt goes in at once",
        "1. Prefill: o prompt inteiro entra de uma vez",
    ),
    "token.prompt": ("{n} prompt tokens, one pass over the weights", "{n} tokens de prompt, uma passagem pelos pesos"),
    "token.decode": (
        "2. Decode: all the weights are read again for every token",
        "2. Decode: todos os pesos são lidos de novo a cada token",
    ),
    "token.decode.active": (
        "2. Decode: all the active weights are read again for every token",
        "2. Decode: todos os pesos ativos são lidos de novo a cada token",
    ),
    "token.nth": ("token {n}", "token {n}"),
    "token.step": (
        "each pass: {weights} weights + {kv} KV (pale top), {flops}",
        "cada passagem: {weights} de pesos + {kv} de KV (topo claro), {flops}",
    ),
    "token.batch": ("one pass serves {n} requests", "uma passagem atende {n} pedidos"),
    "token.yield.one": ("each gets one token", "cada um recebe um token"),
    "token.yield": (
        "each gets {n} tokens on average (speculation)",
        "cada um recebe em média {n} tokens (especulação)",
    ),
    "token.ceiling": ("3. The ceiling", "3. O teto"),
    "token.bandwidth": ("{rate} memory bandwidth", "{rate} de banda de memória"),
    "token.bytes": ("{bytes} read per pass", "{bytes} lidos por passagem"),
    "token.bytes.one": ("{bytes} read per token", "{bytes} lidos por token"),
    "token.rate": ("{rate} compute", "{rate} de computação"),
    "token.flops": ("{flops} per pass", "{flops} por passagem"),
    "token.times": ("× {n} tokens per pass", "× {n} tokens por passagem"),
    "token.most": ("{rate} tok/s", "{rate} tok/s"),
    "token.each": ("at most, for each request", "no máximo, para cada pedido"),
    "token.beaten": ("at most: no code beats it", "no máximo: nenhum código passa disso"),
    "token.together": ("{rate} tok/s for all {n} together", "{rate} tok/s para todos os {n} juntos"),
    "token.estimate": ("estimate: {rate} tok/s, {share} of it", "estimativa: {rate} tok/s, {share} dele"),
    "token.measured": ("measured: {rate} tok/s, {share} of it", "medido: {rate} tok/s, {share} dele"),
    "token.scale": ("Time of one answer, to scale", "O tempo de uma resposta, em escala"),
    "token.scale.prefill": ("prefill {time}", "prefill {time}"),
    "token.scale.decode": ("decode {time} for {n} tokens", "decode {time} para {n} tokens"),
    "token.desc": (
        "Prefill of {n} tokens: {flops}, {bytes}, {time}. One decode pass: {step}, {step_time}. Ceiling {rate} tok/s.",
        "Prefill de {n} tokens: {flops}, {bytes}, {time}. Um passo de decode: {step}, {step_time}. Teto {rate} tok/s.",
    ),
    "time.estimated": ("{time} estimated", "{time} estimados"),
    "time.least": ("{time} at least", "{time} no mínimo"),
    # waterfall
    "fall.title": (
        "4. From the ceiling to the estimate: one decode pass",
        "4. Do teto à estimativa: uma passagem de decode",
    ),
    "fall.title.ceiling": (
        "4. What the ceiling is made of: one decode pass",
        "4. De que o teto é feito: uma passagem de decode",
    ),
    "fall.axis": ("time of one pass (ms)", "tempo de uma passagem (ms)"),
    "fall.total": ("{time} = {rate} tok/s", "{time} = {rate} tok/s"),
    "fall.ceiling": ("CEILING", "TETO"),
    "fall.estimate": ("ESTIMATE", "ESTIMATIVA"),
    "fall.measured": ("MEASURED", "MEDIDO"),
    "weights": ("weights", "pesos"),
    "KV": ("KV", "KV"),
    "compute beyond memory": ("compute beyond memory", "computação além da memória"),
    "efficiency": ("efficiency", "eficiência"),
    "overhead": ("overhead", "custo fixo"),
    "links": ("links", "interconexão"),
    "interference": ("prefill interference", "interferência do prefill"),
    "prefill interference": ("prefill interference", "interferência do prefill"),
    "queue": ("queue", "fila"),
    "limit.memory": ("memory-bound", "limitado pela memória"),
    "limit.compute": ("compute-bound", "limitado pela computação"),
    "limit.overhead": ("overhead-bound", "limitado pelo custo fixo"),
    # roofline
    "roof.title": ("Roofline: what binds prefill and decode", "Roofline: o que limita prefill e decode"),
    "roof.x": ("arithmetic intensity (FLOP per byte)", "intensidade aritmética (FLOP por byte)"),
    "roof.y": ("FLOP/s", "FLOP/s"),
    "roof.memory": ("memory {rate}", "memória {rate}"),
    "roof.compute": ("compute {rate}", "computação {rate}"),
    "roof.ridge": ("ridge {figure} FLOP/B", "joelho {figure} FLOP/B"),
    "roof.left": ("memory-bound", "limitado pela memória"),
    "roof.right": ("compute-bound", "limitado pela computação"),
    "roof.prefill": ("{n} tok", "{n} tok"),
    "roof.decode": ("×{n}", "×{n}"),
    "roof.unknown": ("compute rate unknown: no roof drawn", "taxa de computação desconhecida: sem patamar"),
    "roof.key.decode": ("decode, × batch", "decode, × lote"),
    "roof.key.prefill": ("prefill, prompt tokens", "prefill, tokens do prompt"),
    "roof.key.ceiling": ("hollow: ceiling", "vazado: teto"),
    "roof.key.estimate": ("filled: estimate", "cheio: estimativa"),
    "roof.key.measured": ("cross: measured", "xis: medido"),
    "roof.point": (
        "{phase} {name}: {intensity} FLOP/B, {rate} at most",
        "{phase} {name}: {intensity} FLOP/B, {rate} no máximo",
    ),
    # placement
    "map.title": ("Local time over cloud time", "Tempo local sobre tempo da nuvem"),
    "map.x": ("prompt tokens", "tokens do prompt"),
    "map.y": ("answer tokens", "tokens da resposta"),
    "map.local": ("LOCAL WINS", "LOCAL GANHA"),
    "map.cloud": ("CLOUD WINS", "NUVEM GANHA"),
    "map.unfit": ("DOES NOT FIT", "NÃO CABE"),
    "map.key": ("local ÷ cloud", "local ÷ nuvem"),
    "map.key.cloud": ("cloud faster ↑", "nuvem mais rápida ↑"),
    "map.key.local": ("local faster ↓", "local mais rápido ↓"),
    "map.equal": ("1×: equal", "1×: igual"),
    "map.key.unfit": ("does not fit", "não cabe"),
    "map.desc": (
        "Of {n} points, local is faster in {local}, the cloud in {cloud}, and {unfit} do not fit.",
        "De {n} pontos, o local é mais rápido em {local}, a nuvem em {cloud}, e {unfit} não cabem.",
    ),
    # deferral
    "defer.title": ("What deferring buys", "O que se ganha ao delegar"),
    "defer.x": ("share of calls deferred to the large model", "fração das chamadas delegadas ao modelo grande"),
    "defer.y": ("mean quality", "qualidade média"),
    "defer.y.share": ("right answers", "respostas certas"),
    "defer.score": ("this score", "este escore"),
    "defer.random": ("random", "aleatório"),
    "defer.perfect": ("perfect error detector", "detector de erros perfeito"),
    "defer.oracle": ("oracle", "oráculo"),
    "defer.cpt50": ("CPT(50) {share}", "CPT(50) {share}"),
    "defer.cpt80": ("CPT(80) {share}", "CPT(80) {share}"),
    "defer.apgr": ("APGR {figure}", "APGR {figure}"),
    "defer.auroc": ("AUROC {figure}", "AUROC {figure}"),
    "defer.no_gap": ("no gap between the models", "sem diferença entre os modelos"),
    "defer.desc": (
        "{n} rows; the small model alone {small}, the large one {large}.",
        "{n} linhas; o modelo pequeno sozinho {small}, o grande {large}.",
    ),
    # tree
    "tree.title": ("Where a call goes, and why", "Para onde vai a chamada, e por quê"),
    "tree.key": ("thick arrow: what this call answers", "seta grossa: o que esta chamada responde"),
    "tree.yes": ("yes", "sim"),
    "tree.no": ("no", "não"),
    "tree.local": ("LOCAL", "LOCAL"),
    "tree.cloud": ("CLOUD", "NUVEM"),
    "tree.neither": ("NEITHER", "NENHUM"),
}

_TO_PORTUGUESE = str.maketrans(",.", ".,")


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language."""

    lang: Lang

    def say(self, key: str, **figures: str) -> str:
        """The text of that key; figures come as `units` shows them and are rewritten for the language."""
        written = {name: self.figure(figure) for name, figure in figures.items()}
        return _TEXTS[key][0 if self.lang == "en" else 1].format(**written)

    def cause(self, cause: str) -> str:
        """A cause of lost time; one that the table lacks is shown as it came."""
        return self.say(cause) if cause in _TEXTS else cause

    def figure(self, shown: str) -> str:
        """A shown quantity with this language's decimal and thousands marks."""
        return shown if self.lang == "en" else shown.translate(_TO_PORTUGUESE)

    @property
    def axis_label(self) -> str:
        """The expression that writes an axis's figures in this language."""
        if self.lang == "en":
            return "datum.label"
        return "replace(replace(replace(datum.label, /,/g, '_'), '.', ','), /_/g, '.')"


def floored(tokens_per_s: float) -> str:
    """A ceiling, rounded down; what is a whole number but for the last bits of a float stays whole."""
    nudged = tokens_per_s * (1 + 1e-12)
    return f"{math.floor(nudged):,}" if nudged >= 10 else f"{math.floor(nudged * 10) / 10:.1f}"


def rounded(tokens_per_s: float) -> str:
    """A speed that was estimated or measured."""
    return f"{tokens_per_s:,.0f}" if tokens_per_s >= 100 else f"{tokens_per_s:.1f}"
