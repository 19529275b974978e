"""The words by which requests are recognised: English and Portuguese, matched on text without accents.

Each name holds patterns separated by semicolons, matched between word boundaries. They say what a request asks
when its whole answer is in the request; from `OPEN` on they are signs that it is not.
"""

import re
from typing import Final

__all__ = [
    "ABOUT_LANGUAGES",
    "CHOICE",
    "CLASSIFY",
    "CODE",
    "EXPERT",
    "EXTRACT",
    "FROM_TEXT",
    "LANGUAGE",
    "NEGATED",
    "OF_THE_WORLD",
    "OPEN",
    "ORDERS",
    "REFERS_TO_TEXT",
    "REWRITE",
    "TASKS",
    "YES_NO",
]


def _words(patterns: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(pattern.strip() for pattern in patterns.split(";")) + r")\b")


_TONGUE = (
    r"(?:english|portuguese|spanish|french|italian|german|dutch|swedish|polish|turkish|japanese|ingles|portugues|"
    r"espanhol|frances|italiano|alemao|holandes|sueco|polones|turco|japones)"
)
_FORM = (
    r"(?:past|present|future|plural|singular|passive|active|formal\w*|informal\w*|polite|upper ?case|lower ?case|"
    r"third person|first person|question|negative|affirmative|passado|preterito|presente|futuro|passiva|ativa|"
    r"educad\w+|maiuscul\w+|minuscul\w+|pessoa|pergunta|negativa|interrogativa|afirmativa|shorter|friendlier|"
    r"professional)"
)
_FIELD = (
    r"(?:names?|dates?|number|code|e-?mail|amount|price|total|city|address|phone|nome|data|numero|codigo|valor|preco|"
    r"cidade|bairro|telefone|endereco|pedido)"
)

# Tasks.
LANGUAGE: Final = _words(
    rf"languages?; idiomas?; linguas?; lang; written in; {_TONGUE}(?:, | or | ou | e | and ){_TONGUE}; "
    rf"{_TONGUE}, {_TONGUE}"
)
CLASSIFY: Final = _words(
    r"classif\w+; categori[sz]e\w*; categor(?:y|ies|ia|ias); label\w*; rotul\w+; sentiment\w*; tags?; tagging; "
    r"route; spam; ham; urgen\w+; priorit\w+; prioridade; intent\w*; inten\w+; topics?; topico; tema; assunto; tone; "
    r"tom; positiv\w+; negativ\w+; neutr\w+; reclama\w+; elogio; complaint; encaminh\w+; triage; (?:which|what) team; "
    r"setor; departa?ment\w*; toxic\w*; moderac\w+; moderat\w+; emoc\w+; emotion; editoria; registro; classe d\w+"
)
REWRITE: Final = _words(
    r"rewrit\w+; rephras\w+; reword; proofread; "
    r"(?:fix|correct) (?:the |any |all )?(?:spelling|grammar|typos?|punctuation|errors?|mistakes?|sentence|text|this); "
    r"correct (?:it|this|the); shorten; "
    rf"(?:make|change|convert|turn|put|transform|switch)\b.{{0,60}}\b{_FORM}(?: tense)?; "
    r"replace (?:the )?(?:word|every|all|name); (?:remove|drop) (?:the )?(?:word|every|all|name|extra|duplicate|part); "
    r"capitali[sz]e; passive voice; voz passiva; voz ativa; "
    r"reescr\w+; reformul\w+; parafrase\w*; corrij\w+; corrig\w+; revise; revisar; "
    rf"(?:passe|coloque|ponha|transforme|converta|mude|troque|deixe|torne|passar|colocar)\b.{{0,60}}\b{_FORM}; "
    r"(?:substitua|remova|retire|tire|troque|apague|elimine) (?:(?:a|o|as|os|toda|todas|todo|todos|tudo) )?"
    r"(?:palavra|nome|termo|express\w+|ocorrencia|repeti\w+|que esta|parte|trecho); "
    r"(?:substitua|troque)\b.{1,40}\bpor"
)
EXTRACT: Final = _words(
    r"extract\w*; pull (?:out )?(?:the|out); get the; find the (?!next); parse; fill in; return the; capture; "
    r"extra(?:ia|ir|iam|cao); identifique (?:o|a|os|as); retorne (?:o|a|os|as); capture (?:o|a|os|as); obtenha; "
    rf"preencha; localize; (?:return|reply with|give|output) (?:only )?(?:the )?(?:\w+ )?{_FIELD}; "
    rf"(?:informe|devolva|devolve|retorne|diga|responda)(?: com)?(?: apenas| somente| so)? (?:a |o |as |os )?"
    rf"(?:\w+ )?{_FIELD}; (?:which|what) (?:\w+ )?{_FIELD}; (?:que|qual) (?:e )?(?:a |o )?{_FIELD}"
)
# A label set, or the order to answer with one.
CHOICE: Final = _words(
    r"\w+(?:,| ,)? (?:or|ou) \w+; \w+ ?[/|] ?\w+; \w+, \w+; one of; one word; uma (?:das|palavra|unica); "
    r"apenas; only; just; somente; entre; "
    r"(?:answer|reply|respond|responda|output|return|escolh\w+|choose|pick|opcoes|options|labels|"
    r"categories|categorias)"
)
# A question about a text, and the words that refer to one.
YES_NO: Final = _words(
    r"[\x22\x27]?yes[\x22\x27]?,? or [\x22\x27]?no; yes ?[/|] ?no; "
    r"(?:answer|reply|respond|say)(?: only| just| with| strictly)*:? [\x22\x27]?yes; "
    r"[\x22\x27]?sim[\x22\x27]?,? ou [\x22\x27]?nao; sim ?[/|] ?nao; "
    r"(?:responda|diga)(?: apenas| so| somente| com)*:? [\x22\x27]?sim; y/n; s/n"
)
REFERS_TO_TEXT: Final = _words(
    r"text; passage; message; e-?mail; review; note; paragraph; notice; ticket; comment; tweet; post; "
    r"according to; based on; above; below; following; this (?:sentence|log|chat|reply|policy); sentence; "
    r"memo; policy; log; texto; mensagem; trecho; aviso; bilhete; comentario; avaliacao; segundo; "
    r"de acordo com; com base; acima; abaixo; seguinte; recado; comunicado; frase; paragrafo; anuncio; "
    r"nota; conversa"
)
# Signs that the answer is not in the request: more is asked for ...
OPEN: Final = _words(
    r"explain\w*; why; how (?:do|does|would|should|can|could|to); design; architect\w*; implement\w*; "
    r"refactor\w*; write (?:a|an|some|me); draft; prove; proof; derive; step[- ]by[- ]step; plan; "
    r"compare; analy[sz]e\w*; recommend (?:a|an|the|me|some|which); suggest\w*; brainstorm\w*; trade-?offs?; "
    r"algorithm\w*; calculate; compute; solve; how (?:many|much|long|far|old); pros and cons; best way; strategy; "
    r"estimate; optimi[sz]e\w*; function; (?:this|your) code; code review; python; javascript; typescript; sql; "
    r"regex; api; database; debug; unit tests?; expli\w+; justifi\w+; por ?que; "
    r"como (?:fazer|posso|devo|funciona|seria|voce); projet[eao]\w*; arquitetur\w+; implement\w+; "
    r"refator\w+; (?:escreva|crie|faca|monte|elabore) (?:um|uma); redija; prov[ea]; demonstr\w+; "
    r"deduz\w+; passo a passo; planej\w+; plano; compar[ea]\w*; analis[ea]\w*; recomende\w*; sugira; "
    r"suger\w+; algoritmo\w*; calcul\w+; resolva; quant(?:o|a|os|as); vantagens; melhor forma; estrategia; "
    r"estime; otimiz\w+; funcao; (?:este|esse|deste|desse|o seu) codigo; banco de dados; testes? unitarios?"
)
NEGATED: Final = _words(r"(?:without|no|do not|don.t|sem|nao) (?:expl|justif|compl|analis|analy)\w+")
# A question about languages themselves, or programming ones, is not about the language of a text.
ABOUT_LANGUAGES: Final = _words(
    r"programming languages?; programming; spoken; speak\w*; official; learn\w*; programacao; falad[oa]s?; falam; "
    r"oficial; oficiais; aprend\w+"
)
# ... of a programmer (looked for in the given text too) ...
CODE: Final = re.compile(
    r"\bdef \w+\(|\bfunction\b.*[({]|=>|\breturn \w+.*[;+*/(-]|\bfor \w+ in |\bSELECT\b.+\bFROM\b|[;{]\s*$"
    r"|\w\(\w*\)\s*[{;]|\buse[A-Z]\w+\(|\bimport \w+\n|\bclass \w+[:({]|</\w+>\s*$.*<\w+ \w+=",
    re.MULTILINE,
)
# ... of an expert ...
EXPERT: Final = _words(
    r"legal\w*; lawful; law; juridic\w+; statut\w+; court; liab\w+; enforceab\w+; clause; clausula; gdpr; lgpd; crime; "
    r"criminal; penal; tribut\w+; fiscal; tax\w*; medical\w*; medicina; clinic\w+; diagnos\w+; symptom\w*; sintoma\w*; "
    r"dosage; dose; disease; doenca; lawyer; advogad\w+; patholog\w+; scientific\w*; cientific\w+; chemical\w*; "
    r"quimic\w+; species; especie; literari\w+; literary; complexity; complexidade; evidence; evidencia"
)
# ... or knowledge of the world, unless the request says that the text is the source.
OF_THE_WORLD: Final = _words(
    r"true or false; true/false; statement; claim; facts?; verdadeir\w+; fals[oa]; afirmacao; fato; "
    r"historically; capital of; capital d[aeo]"
)
FROM_TEXT: Final = _words(r"according to; based (?:only )?on; segundo; de acordo com; com base; going by")

# What only an instruction says, by which paragraphs that ask are told from paragraphs that are given: a task, or
# less surely an order to answer.
TASKS: Final = re.compile("|".join(signs.pattern for signs in (LANGUAGE, CLASSIFY, REWRITE, EXTRACT, YES_NO)))
ORDERS: Final = _words(
    r"answer; reply; respond; responda; return; choose; pick; escolha; devolva; retorne; options; opcoes; output; saida"
)
