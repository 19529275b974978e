"""The words by which requests are recognised: English and Portuguese, matched on text without accents.

Each name holds patterns separated by semicolons, matched between word boundaries. From `REASONS`
on they are signs that the answer is not in the request; the others tell an instruction from the text it is about.
"""

import re
from typing import Final

__all__ = [
    "CLASSIFY",
    "EXPERT",
    "EXTRACT",
    "FROM_TEXT",
    "LANGUAGE",
    "NEGATED",
    "OF_THE_WORLD",
    "ORDERS",
    "REASONS",
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
# A question that is answered with yes or no.
YES_NO: Final = _words(
    r"[\x22\x27]?yes[\x22\x27]?,? or [\x22\x27]?no; yes ?[/|] ?no; "
    r"(?:answer|reply|respond|say)(?: only| just| with| strictly)*:? [\x22\x27]?yes; "
    r"[\x22\x27]?sim[\x22\x27]?,? ou [\x22\x27]?nao; sim ?[/|] ?nao; "
    r"(?:responda|diga)(?: apenas| so| somente| com)*:? [\x22\x27]?sim; y/n; s/n"
)
# Signs that the answer is not in the request: reasons are asked for, and what takes such a sign back ...
REASONS: Final = _words(
    r"explain\w*; why; how come; step[- ]by[- ]step; justify\w*; justification; trade-?offs?; pros and cons; "
    r"reasoning; "
    r"expli(?:que|car|ca|cando|quem)\w*; justifi(?:que|car|ca|cando|cativa)\w*; por ?que; passo a passo; "
    r"vantagens; desvantagens; fundamente; argumente; raciocinio"
)
NEGATED: Final = _words(
    r"(?:without|no|do not|don.t|never|nor|or|sem|nao|nada de|nem|nunca)(?: \w+){0,2} "
    r"(?:expl|justif|reasoning|raciocinio|argument)\w*"
)
# ... an expert's judgement ...
EXPERT: Final = _words(
    r"lawful; (?:under|by|according to) [\w ]{0,30}\blaws?; juridic\w+; statut\w+; liab\w+; enforceab\w+; gdpr; lgpd; "
    r"penal; tribut\w+; tax (?:rules|law); deductible; dedutive\w+; medical\w*; clinical\w*; diagnos\w+; symptom\w*; "
    r"sintoma\w*; dosage; disease; doenca; lawyer; advogad\w+; patholog\w+; scientifically; cientificamente; "
    r"chemical\w*; quimic\w+; species; especies; literari\w+; literary; (?:time )?complexity; complexidade"
)
# ... or knowledge of the world, unless the request says that the text is the source.
OF_THE_WORLD: Final = _words(
    r"(?:is|are) (?:the following |this |the )?(?:statement|claim|sentence|news)s? (?:factually )?"
    r"(?:true|correct|false); "
    r"factually; fact[- ]check\w*; true or false; verdadeir[oa] ou fals[oa]; historically; capital of; capital d[aeo]; "
    r"a (?:afirmacao|frase|noticia) [\w ]{0,20}(?:verdadeira|falsa|correta|certa)"
)
FROM_TEXT: Final = _words(
    r"according to; based (?:only )?on; going by; segundo; de acordo com; com base; "
    r"(?:the|o|no|do) (?:text|texto|passage|trecho)"
)

# What only an instruction says, by which paragraphs that ask are told from paragraphs that are given: a task, or
# less surely an order to answer.
TASKS: Final = re.compile("|".join(signs.pattern for signs in (LANGUAGE, CLASSIFY, REWRITE, EXTRACT, YES_NO)))
ORDERS: Final = _words(
    r"answer; reply; respond; responda; return; choose; pick; escolha; devolva; retorne; options; opcoes; output; saida"
)
