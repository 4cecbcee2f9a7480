"""Sentences of a page that speak to a model instead of a reader: cut from what is embedded, and reported.

Only a sentence that *is* such an instruction is cut, with what follows in its block: text that tells about
instructions ("an attacker may write …"), quotes them or shows them in code is a page on the subject. This is one layer of several: what is
retrieved is delimited as data in the prompts, and no tool is reachable from it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator

QUOTE_CHARS = 120  # of a cut sentence in the report: enough to find it on the page

# what may stand before an imperative
_OPENING = (
    r"(?:[\s>*_#\-–—•|(\[\"'“”«„]|\d+[.)])*"
    r"(?:(?:important|urgent|attention|note|warning|new instructions?|system(?: override| prompt| message)?|ai|assistant|"
    r"chatgpt|hey|hello|hi|ok|okay|please|now|and|then|instead|first|por favor|s'il (?:te|vous) pla[iî]t|bitte|per favore|"
    r"importante|wichtig)[\s,:!.*\-–]+){0,4}(?:you (?:must|should|will|have to)(?: now)? )?"
)
_IGNORE = "|".join((
    # English: verb, anything short, what came before or what rules the model, its name
    r"(?:ignore|disregard|forget|override|bypass|discard|do not follow|don't follow)\s+(?:(?:all|any|every|each|the|of|these|those|"
    r"your|my|and|everything)\s+){0,4}(?:previous|prior|above|preceding|earlier|foregoing|former|system|original|initial|"
    r"existing|other|past|safety)\s+(?:(?!error|warning|log|commit)\w+\s+){0,2}?(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|"
    r"messages?|context|orders?|programming)\b(?!\s+(?:when|unless|if you (?:use|are using|have|want|do|already|prefer|run|only|need))\b)",
    r"(?:ignore|disregard|forget|override) (?:all |any )?(?:of )?your (?:\w+ )?(?:instructions?|rules|guidelines|prompts?|training|programming)\b",
    r"(?:ignore|disregard|forget) (?:everything|all|anything) (?:(?:you (?:were|have been|'ve been) (?:told|instructed|taught))|"
    r"(?:that (?:came|comes|was said) )?(?:above|before)\b)",
    r"(?:ignor[ae]|olvid[ae]|descart[ae]|no sigas|haz caso omiso de|omite)\s+(?:a\s+)?(?:(?:tod[ao]s?|cualquier|las?|los|tus|sus|de)\s+){0,3}"
    r"(?:instrucciones|órdenes|ordenes|indicaciones|reglas|directrices)(?:\s+(?:anteriores|previas|del sistema|originales|iniciales)\b|\s*[.,:;!])",
    r"(?:ignor(?:e[sz]?|er)|oublie[sz]?|oublier|ne (?:tiens|tenez) pas compte)\s+(?:de\s+)?(?:(?:tout(?:e?s)?|les?|tes|vos|des)\s+){0,3}"
    r"(?:instructions?|consignes|règles|directives)\s+(?:pr[ée]c[ée]dentes|ant[ée]rieures|ci-dessus|du syst[èe]me|initiales)\b",
    r"(?:ignorier(?:e|en sie|t)?|vergiss|vergessen sie|missachte[nt]?(?: sie)?)\s+(?:(?:alle?|die|deine|ihre|sämtliche)\s+){0,3}"
    r"(?:vorherigen|bisherigen|vorangegangenen|vorigen|obigen|früheren|ursprünglichen)\s+(?:\w+\s+)?(?:anweisungen|instruktionen|befehle|regeln|vorgaben|prompts?)\b",
    r"(?:ignora(?:te|re)?|dimentica(?:te)?|scarta)\s+(?:(?:tutt[ei]|le|gli|i|tue|vostre)\s+){0,3}(?:istruzioni|regole|indicazioni|direttive)\s+"
    r"(?:precedenti|anteriori|di sistema|iniziali|originali)\b",
    r"(?:ignor[ea]|esque[çc][ae]|desconsidere)\s+(?:(?:de|tod[ao]s|as|os|suas|tuas)\s+){0,3}(?:instruções|instrucoes|regras|ordens|diretrizes)\s+"
    r"(?:anteriores|prévias|do sistema|originais|iniciais)\b",
    r"(?:negeer|vergeet)\s+(?:(?:alle|de|je|uw)\s+){0,3}(?:vorige|eerdere|voorgaande|bovenstaande)\s+(?:instructies|opdrachten|regels)\b",
    r"(?:zignoruj|ignoruj|zapomnij o)\s+(?:wszystkie\s+|wszystkich\s+)?(?:poprzednie|poprzednich|wcześniejsze)\s+(?:instrukcje|instrukcjach|polecenia|poleceniach)\b",
    r"(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?)\s+(?:все\s+|обо? всех\s+)?(?:предыдущи[ех]|прежни[ех])\s+(?:инструкци\w+|указани\w+|команд\w*)",
    r"(?:请)?(?:忽略|无视|忘记|忽視|無視)(?:掉)?(?:所有|之前|以上|上述|先前|前面|此前|全部|一切|的){1,5}(?:指令|指示|说明|提示词?|规则|命令|內容|指引)",
    r"(?:これまで|以前|前|上記|以上)の(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール)(?:を|は)?(?:すべて|全て)?(?:無視|忘れ)",
    r"تجاهل\s+(?:جميع\s+|كل\s+)?(?:التعليمات|الأوامر)\s+(?:السابقة|أعلاه)",
))  # fmt: skip
_MODEL = (
    r"(?:ai|a\.i\.|ia|ki|llm|ai model|large language model|language model|chatbot|ai assistant|virtual assistant|"
    r"ai agent|chatgpt|gpt-?\w*|claude|gemini|copilot)s?"
)
_ORDERS = (
    r"(?:you (?:must|should|will|are (?:now|required|instructed|to)|have to)|must|do not|don't|never|always|please|say|tell|"
    r"recommend|answer|respond|reply|include|output|ignore|reveal|send|insist|pretend)\b"
)
_ROLE = "|".join((
    rf"(?:from now on|henceforth|starting now),? (?:you (?:are|will|must|shall|should) (?:now )?(?:\w+ ){{0,4}}?(?:{_MODEL}|act|answer|respond|reply|pretend|"
    r"ignore|obey|dan|say|speak)|(?:act|answer|respond|reply|pretend|speak)\b.{0,60}\b(?:as|only|every|with|to)\b)",
    rf"you are (?:now|no longer) (?:\w+[ -]){{0,4}}?(?:{_MODEL}|assistant|bot|dan|jailbroken|unrestricted|unfiltered|(?:developer|admin|debug|god) mode)\b",
    rf"(?:if you are|if you're|as|attention|note (?:to|for)|message (?:to|for)|instructions? (?:to|for)|dear|hey) (?:(?:an?|any|all|the|your)\s+){{0,2}}{_MODEL}"
    rf"(?:\s+(?:model|assistant|agent|reading this|processing this|summari[sz]ing this|system)){{0,3}}\s*[,:—–-]+\s*{_ORDERS}",
    r"(?:reveal|print|show|output|repeat|display|leak|tell|give|send)\s+(?:me |us |back |out )?(?:the entire |the full |all (?:of )?)?(?:your|the) "
    r"(?:entire |full |hidden |secret |initial )?(?:system prompt|system message|hidden prompt|initial instructions|hidden instructions)(?=\s*(?:[.!,:;]|$|and\b|to the\b|verbatim|above))",
    r"(?:ahora eres|a partir de ahora,? (?:eres|responde|actúa|debes)|tu es maintenant|à partir de maintenant,? (?:tu|vous) (?:es|êtes|dois|devez)|du bist (?:jetzt|ab jetzt|nun)|"
    rf"ab (?:jetzt|sofort) (?:bist du|antwortest du)|ora sei|da ora in poi,? (?:sei|rispondi)|agora você é|a partir de agora,? (?:você|responda)) (?:\w+ ){{0,4}}?(?:{_MODEL}|asistente|assistant|assistente|chatbot|modelo|"
    r"modell|modello|pirat\w*|dan)\b",
))  # fmt: skip
_INSTRUCTION = re.compile(rf"{_OPENING}(?:{_IGNORE}|{_ROLE})", re.IGNORECASE)
# marks of chat templates, and the heads of our own source blocks (shared/prompts.py): no reader is shown them
_TOKEN = re.compile(
    r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end)\|>"
    r"|\[/?INST\]|<</?SYS>>|^[ \t>*]*\[Source \d+: [^\]\n]*\](?![(\[])"
    r"|^#{2,4} ?(?:system|instruction|assistant|human)s?:[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_CODE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(`+)[^`\n]+\1")
_BLOCK = re.compile(r"(?:[^\n]+\n?)+")
_STARTS = re.compile(r"(?:(?<=[.!?:;…]) |(?<=[.!?][*_\"'”)]) |(?<=[。！？؟]) ?|\n|\| )")
_HINT = re.compile(
    r"ignor|disregard|forget|overrid|bypass|discard|follow|olvid|descart|omi[st]|oubli|compte|vergi|vergess|missacht|dimentic|scarta|"
    r"esque|desconsid|negeer|vergeet|zapom|игнор|забудь|忽|无视|無視|忘|تجاهل|from now on|henceforth|starting now|you are no|if you|"
    r"as an|attention|note |message |instruction|dear|hey|prompt|ahora|partir|maintenant|bist du|du bist|ora sei|agora",
    re.IGNORECASE,
)


def quarantined(markdown: str) -> tuple[str, tuple[str, ...]]:
    """The text without what speaks to a model, and short quotes of what was cut."""
    pieces: list[str] = []
    quotes: list[str] = []
    end = 0
    for code in [*_CODE.finditer(markdown), None]:
        prose = markdown[end : code.start() if code else len(markdown)]
        pieces.append(_BLOCK.sub(lambda m: _kept(m.group(), quotes), prose))
        if code:
            pieces.append(code.group())
            end = code.end()
    return ("".join(pieces), tuple(quotes)) if quotes else (markdown, ())


# marks that are gone when the Markdown is read: escapes, entities, emphasis, links, tags
_MARKS = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])|(?P<entity>&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|\w{2,31});)"
    r"|\*+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|\[(?=[^\]\n]*\]\([^)\n]*\))|\]\([^)\n]*\)|(?<!<)</?[A-Za-z][^<>\n]*>|<!--.*?-->"
)


def _kept(block: str, quotes: list[str]) -> str:
    """A block up to where it starts to speak to a model."""
    flat, places = _flattened(block)
    at = min((places[start] for start in _instructions(flat)), default=None)
    if at is None:
        return block
    quotes.append(" ".join(block[at:].split())[:QUOTE_CHARS])
    kept = block[:at].rstrip()
    return f"{kept}\n" if kept.strip("#>*-|_~ \t") else "\n"


def _flattened(block: str) -> tuple[str, list[int]]:
    """A block as a model will read it, and where in the block each of its characters stands."""
    if not _MARKS.search(block) and block.isascii():
        return block, list(range(len(block) + 1))
    flat: list[str] = []
    places: list[int] = []

    def add(text: str, start: int, step: int) -> None:
        for offset, char in enumerate(text):
            wide = unicodedata.normalize("NFKC", char) if char > "\x7f" else char  # Ｉｇｎｏｒｅ, 𝐈𝐠𝐧𝐨𝐫𝐞
            flat.append(wide)
            places.extend([start + offset * step] * len(wide))

    end = 0
    for mark in _MARKS.finditer(block):
        add(block[end : mark.start()], end, 1)
        add(mark["escaped"] or html.unescape(mark["entity"] or ""), mark.start(), 0)
        end = mark.end()
    add(block[end:], end, 1)
    return "".join(flat), [*places, len(block)]


def _instructions(block: str) -> Iterator[int]:
    inline = [m.span() for m in _INLINE.finditer(block)]
    for token in _TOKEN.finditer(block):
        if not any(start <= token.start() < stop for start, stop in inline):
            yield block.rfind("\n", 0, token.start()) + 1
    if _HINT.search(block):  # few blocks: the long patterns are tried on these only
        for start in (0, *(m.end() for m in _STARTS.finditer(block))):
            if not _quoted(block, start) and _INSTRUCTION.match(block, start):
                yield start


def _quoted(block: str, start: int) -> bool:
    """Whether a sentence is said by somebody: it opens with a quotation mark after a colon or a comma."""
    before = block[:start].rstrip()
    return block[start : start + 1] in "\"“”«„'‘`" and before.endswith((":", ",", "：", "—"))
