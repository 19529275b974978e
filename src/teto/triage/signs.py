"""The words by which requests are recognised: English and Portuguese, matched on text without accents.

Each name holds patterns separated by semicolons, matched between word boundaries. They say what a request asks
when its whole answer is in the request; the last four are signs that it is not.
"""

import re
from typing import Final

__all__ = [
    "ANY_TASK",
    "CHOICE",
    "CLASSIFY",
    "EXPERT",
    "EXTRACT",
    "FROM_TEXT",
    "LANGUAGE",
    "OF_THE_WORLD",
    "OPEN",
    "REFERS_TO_TEXT",
    "REWRITE",
    "YES_NO",
]


def _words(patterns: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(pattern.strip() for pattern in patterns.split(";")) + r")\b")


# Tasks.
LANGUAGE: Final = _words(
    r"(?:which|what) (?:human )?language; identify the language; (?:detect|name) the language; "
    r"language (?:is|of) (?:this|the); language (?:is )?it is written; written in(?: which| what)?; "
    r"(?:em )?(?:que|qual)(?: e)?(?: [oa])? (?:idioma|lingua); "
    r"(?:identifique|detecte|diga|informe) (?:o|em que|em qual|qual o|a) (?:idioma|lingua); "
    r"(?:idioma|lingua) (?:do|da|deste|desta|em que)"
)
CLASSIFY: Final = _words(
    r"classif\w+; categori[sz]e\w*; categor(?:y|ies|ia|ias); label\w*; rotul\w+; sentiment\w*; "
    r"tag (?:this|the|it); route; spam; ham; urgen\w+; priorit\w+; prioridade; intent\w*; inten\w+; topic; "
    r"topico; tema; assunto; tone; tom; positiv\w+; negativ\w+; neutr\w+; reclama\w+; elogio; complaint; "
    r"encaminh\w+; triage; (?:which|what) team; setor; departa?ment\w*; toxic\w*"
)
REWRITE: Final = _words(
    r"rewrite; rephrase; reword; proofread; "
    r"(?:fix|correct) (?:the |any |all )?(?:spelling|grammar|typos?|punctuation|errors?|mistakes?|"
    r"sentence|text|this); "
    r"correct (?:it|this|the); "
    r"make (?:it|this|the \w+|this \w+) (?:\w+ ){0,2}(?:formal|polite|plural|singular|passive|active|"
    r"shorter|friendlier|professional|informal); "
    r"(?:change|convert|turn|put|transform|switch)\b.{0,60}\b(?:past|present|future|plural|singular|"
    r"passive|active|formal|informal|polite|upper ?case|lower ?case|third person|first person|"
    r"question|negative|affirmative)(?: tense)?; "
    r"replace (?:the )?(?:word|every|all|name); remove (?:the )?(?:word|every|all|name|extra|duplicate); "
    r"capitali[sz]e; reescrev\w+; reformul\w+; parafrase\w*; corrij\w+; corrig\w+; revise; revisar; "
    r"(?:passe|coloque|ponha|transforme|converta|mude|troque|deixe|torne|passar|"
    r"colocar)\b.{0,60}\b(?:passado|preterito|presente|futuro|plural|singular|passiva|ativa|formal|"
    r"informal|educad\w+|maiuscul\w+|minuscul\w+|pessoa|pergunta|negativa|interrogativa|afirmativa); "
    r"(?:substitua|remova|retire|troque|apague|elimine) (?:a|o|as|os|toda|todas|todo|"
    r"todos)? ?(?:palavra|nome|termo|express\w+|ocorrencia|repeti\w+)"
)
EXTRACT: Final = _words(
    r"extract\w*; pull (?:out )?(?:the|out); get the; find the; parse; fill in; return the; capture; "
    r"extra(?:ia|ir|iam|cao); identifique (?:o|a|os|as); retorne (?:o|a|os|as); capture (?:o|a|os|as); "
    r"obtenha; preencha; localize"
)
# A label set, or the order to answer with one.
CHOICE: Final = _words(
    r"\w+(?:,| ,)? (?:or|ou) \w+; \w+ ?/ ?\w+; \w+, \w+; one of; one word; uma (?:das|palavra|unica); "
    r"apenas; only; just; somente; entre; "
    r"(?:answer|reply|respond|responda|output|return|escolha|choose|pick|opcoes|options|labels|"
    r"categories|categorias)"
)
# A question about a text, and the words that refer to one.
YES_NO: Final = _words(
    r"yes(?:,| ,)? or no; yes ?/ ?no; (?:answer|reply|respond|say)(?: only| just| with)*:? [\\x22\x27]?yes; "
    r"sim(?:,| ,)? ou nao; sim ?/ ?nao; (?:responda|diga)(?: apenas| so| somente|"
    r" com)*:? [\\x22\x27]?sim; y/n; "
    r"s/n"
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
    r"refactor\w*; write (?:a|an|the|some|me); draft; prove; proof; derive; step[- ]by[- ]step; plan; "
    r"compare; analy[sz]e\w*; recommend\w*; suggest\w*; brainstorm\w*; trade-?offs?; algorithm\w*; "
    r"calculate; compute; solve; how (?:many|much|long|far|old); pros and cons; best way; strategy; "
    r"estimate; optimi[sz]e\w*; function; code; python; javascript; typescript; sql; regex; api; "
    r"schema design; database; debug; unit tests?; class; expli\w+; justifi\w+; por ?que; "
    r"como (?:fazer|posso|devo|funciona|seria|voce); projet[eao]\w*; arquitetur\w+; implement\w+; "
    r"refator\w+; (?:escreva|crie|faca|monte|elabore) (?:um|uma|o|a|os|as); redija; prov[ea]; demonstr\w+; "
    r"deduz\w+; passo a passo; planej\w+; plano; compar[ea]\w*; analis[ea]\w*; recomend\w+; sugira; "
    r"suger\w+; algoritmo\w*; calcul\w+; resolva; quant(?:o|a|os|as); vantagens; melhor forma; estrategia; "
    r"estime; otimiz\w+; funcao; codigo; banco de dados; classe; testes? unitarios?"
)
# ... by an expert ...
EXPERT: Final = _words(
    r"legal\w*; lawful; law; juridic\w+; statut\w+; court; liab\w+; enforceab\w+; contract; contrato; "
    r"clause; clausula; gdpr; lgpd; crime; criminal; penal; civil; tribut\w+; fiscal; tax; medic[ao]l?\w*; "
    r"clinic\w+; diagnos\w+; symptom\w*; sintoma\w*; patient\w*; paciente\w*; dosage; dose; disease; "
    r"doenca; lawyer; advogad\w+; patholog\w+; scientific\w*; chemical\w*; quimic\w+; species; especie"
)
# ... or knowledge of the world, unless the request says that the text is the source.
OF_THE_WORLD: Final = _words(
    r"true or false; true/false; statement; claim; facts?; verdadeir\w+; fals[oa]; afirmacao; fato; "
    r"historically; capital of; capital d[aeo]"
)
FROM_TEXT: Final = _words(r"according to; based (?:only )?on; segundo; de acordo com; com base")

ANY_TASK: Final = re.compile("|".join(signs.pattern for signs in (LANGUAGE, CLASSIFY, REWRITE, EXTRACT, YES_NO)))
