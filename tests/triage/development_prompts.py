"""Prompts that the recogniser was developed on; the held-out ones are benchmarks/data/decision_prompts.jsonl."""

from typing import Final

# ruff: noqa: E501 - prompts are as long as they are

__all__ = ["CLOSED", "OPEN"]

_EN: Final = "You are a classifier. Answer only with one of: billing, technical, sales."
_PT: Final = "Você classifica avaliações de clientes. Responda apenas: positivo, negativo ou neutro."
_FIX: Final = "Correct the spelling of the user's sentence. Return only the corrected sentence."

# (expected task, system message or "", user message)
CLOSED: Final = (
    ("classify", "", "Classify the sentiment: 'adorei o atendimento'. Answer positive or negative."),
    ("classify", "", "Is this review positive or negative? Answer with one word. Review: it broke on the first day"),
    ("classify", "", 'Sentiment (positive/negative/neutral): "The screen is gorgeous but the battery is a joke."'),
    ("classify", _EN, "My invoice shows two charges for the same month."),
    ("classify", "", "Label the message below as spam or not spam.\n\nYou won a cruise! Reply with your card number."),
    (
        "classify",
        "",
        "Which team should handle this ticket: hardware, network, accounts?\nTicket: my laptop will not turn on",
    ),
    (
        "classify",
        "",
        "What is the urgency of this email? Choose low, medium or high.\n---\nThe whole site is down, customers cannot pay.",
    ),
    (
        "classify",
        "",
        "Intent of the user message (cancel, upgrade, refund): <message>I want my money back for the broken lamp</message>",
    ),
    (
        "classify",
        "",
        "Pick the topic of this headline from sports, politics, technology: Senate passes budget after long night",
    ),
    (
        "classify",
        "",
        'Respond with only one word, formal or informal, for the tone of: "hey dude, whats up with that report"',
    ),
    (
        "classify",
        "",
        'Classifique o sentimento do texto: "Que decepção, chegou quebrado". Responda positivo ou negativo.',
    ),
    ("classify", _PT, "A entrega atrasou duas semanas e ninguém respondeu."),
    ("classify", "", "O e-mail abaixo é spam? Responda spam ou não spam.\n\nGanhe dinheiro rápido sem sair de casa!!!"),
    (
        "classify",
        "",
        "Para qual setor encaminhar: financeiro, suporte ou vendas? Mensagem: não consigo entrar na minha conta",
    ),
    ("classify", "", "Qual a prioridade (baixa, média, alta) deste chamado?\nChamado: o servidor de produção caiu"),
    ("classify", "", 'Tema da manchete, escolha entre esporte, economia e cultura: "Inflação recua pelo terceiro mês"'),
    ("classify", "", "Diga se o comentário é elogio ou reclamação: «o garçom foi muito atencioso»"),
    ("classify", "", 'In which language is this written? "Guten Morgen, wie geht es Ihnen?"'),
    ("classify", "", "Identify the language of the text. Text: Ik heb een kat en een hond"),
    ("classify", "", "What language is the following sentence in? Answer with the name only.\nLa vita è bella"),
    ("classify", "", 'Em que idioma está escrito: "Where is the station?"'),
    ("classify", "", "Qual é a língua deste texto?\n\nBuenos días, ¿cómo está usted?"),
    ("classify", "", "Identifique o idioma da frase a seguir: «Je voudrais un café»"),
    (
        "closed_qa",
        "",
        "Text: The store opens at 9 and closes at 18 on weekdays. Question: is it open at 20? Answer yes or no.",
    ),
    (
        "closed_qa",
        "",
        "Based on the notice below, may dogs enter? yes/no\n\nNotice: Only guide dogs are allowed inside the market hall.",
    ),
    (
        "closed_qa",
        "",
        'Read the message: "I\'ll bring the cake on Saturday, Ana brings drinks." Does Ana bring the cake? Reply yes or no.',
    ),
    (
        "closed_qa",
        "",
        "De acordo com o texto, a reunião foi cancelada? Responda sim ou não.\nTexto: A reunião de quinta passou para sexta às 10h.",
    ),
    ("closed_qa", "", 'Leia o aviso: "A piscina fecha às segundas para limpeza." A piscina abre na segunda? (sim/não)'),
    (
        "closed_qa",
        "Responda só sim ou não, com base no texto.",
        "Texto: O pedido saiu para entrega hoje cedo e chega até as 18h.\nO pedido já chegou?",
    ),
    ("rewrite", "", 'Correct the spelling: "I recieve alot of emials"'),
    ("rewrite", _FIX, "She dont likes apples"),
    ("rewrite", "", "Rewrite in a formal tone: hey, can u send me the doc asap"),
    ("rewrite", "", 'Change this sentence to the past tense: "She walks to school every day."'),
    ("rewrite", "", "Fix the punctuation of this sentence: where are you going said Tom"),
    ("rewrite", "", 'Convert to passive voice: "The cat chased the mouse."'),
    ("rewrite", "", "Replace the word 'big' with 'large' in: The big house has a big door."),
    ("rewrite", "", 'Corrija a ortografia: "nós vai na praia amanha"'),
    ("rewrite", "", "Reescreva em linguagem formal: oi, me manda o relatório logo"),
    ("rewrite", "", 'Passe para o plural: "O menino comprou a bola."'),
    ("rewrite", "", "Coloque a frase no passado: Ela canta no coral"),
    ("rewrite", "", 'Remova a palavra "muito" da frase: Estou muito cansado e muito feliz.'),
    ("extract", "", 'Extract the order number from: "Hello, my order #88231 has not arrived."'),
    ("extract", "", 'Extraia a data da mensagem: "A consulta ficou para 12/03/2025 às 14h."'),
)

# (system message or "", user message): none of these may be called closed
OPEN: Final = (
    ("", "Is Canberra the capital of Australia? Answer yes or no."),
    ("", "True or false: Napoleon was born in France."),
    (
        "",
        'Is the following statement true? "The Great Wall of China is visible from the Moon with the naked eye." Answer yes or no.',
    ),
    ("", "A água ferve a 90 graus ao nível do mar? Responda sim ou não."),
    ("", 'Verdadeiro ou falso: "Machado de Assis escreveu O Guarani em 1857."'),
    ("", "Who wrote The Brothers Karamazov?"),
    ("", "Quem pintou a Guernica e em que ano?"),
    ("", 'Classify this clause as enforceable or not under Brazilian law: "The tenant waives all rights."'),
    ("", 'Classify the patient\'s symptoms as urgent or not: "chest pain for two hours"'),
    ("", 'Explain why the sentiment of this review is negative: "it broke on day one"'),
    ("", "Write a poem about autumn."),
    ("", "Escreva um e-mail pedindo desculpas ao cliente pelo atraso."),
    ("", "Design a rate limiter for a distributed API. Discuss trade-offs."),
    ("", "Write a Python function that merges overlapping intervals."),
    ("", "Refactor this code:\n```python\ndef f(x):\n    return x+1\n```"),
    ("", "A train leaves at 3 pm at 60 km/h and another at 4 pm at 80 km/h. When do they meet?"),
    ("", "Quantos dias há entre 3 de março e 20 de maio?"),
    ("", "Compare PostgreSQL and MongoDB for an events store."),
    ("", "Plan a three-day trip to Recife with two children."),
    ("", "Proponha uma arquitetura de filas para processar pagamentos."),
    ("", 'Translate to German: "The contract ends in May."'),
    ("", "Hello!"),
    ("", "What do you think about remote work?"),
    ("", "Prove that the square root of 2 is irrational."),
    ("", 'Classify these species: "platypus, whale, bat" as mammal or not.'),
    ("", 'Which of these countries is larger: "Chad or Niger"? Answer with one word.'),
    ("", "What language is spoken in Suriname?"),
    ("", "Qual linguagem de programação devo aprender para trabalhar com dados?"),
    ("You are a helpful assistant.", "Summarise the causes of the First World War."),
    ("", "Is this function correct? Answer yes or no.\n\ndef add(a, b): return a - b"),
    ("", "Corrija o bug deste código: for i in range(10) print(i)"),
    ("", "Which programming language is best for embedded systems?"),
)
