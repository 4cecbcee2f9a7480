"""Figures in a text with what they count, in digits or words, in six languages. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from functions.chat.words import stop_words
from shared.analysis import fold

OTHER = "?"  # the unit of what is counted by a word that is no measure: seats, users, projects


class Figure(NamedTuple):
    """A number as text, so that 40, forty and 40.0 are equal; the unit is empty where none stands beside it."""

    value: str
    unit: str
    per: str = ""  # month, of 20 euros a month

    def agrees(self, other: Figure) -> bool:
        """Whether both may be the same figure: 20 euros are neither 20 seats nor 20 days, nor 20 euros a year."""
        rates = not self.per or not other.per or self.per == other.per
        return self.value == other.value and rates and self.alike(other)

    def alike(self, other: Figure) -> bool:
        """Whether both count the same, as far as they say."""
        return not self.unit or not other.unit or self.unit == other.unit


_UNITS = {
    word: unit
    for unit, words in {
        "eur": "€ euro euros eur", "usd": "$ dollar dollars dolar dolares dollari usd", "gbp": "£ gbp pound pounds libra libras",
        "%": "% percent prozent",
        "second": "second seconds segundo segundos seconde secondes sekunde sekunden secondi sec secs",
        "minute": "minute minutes minuto minutos minuten minuti min mins",
        "hour": "hour hours hora horas heure heures stunde stunden ora ore h hr hrs",
        "day": "day days dia dias jour jours tag tage tagen giorno giorni werktag werktage werktagen arbeitstag arbeitstage arbeitstagen kalendertage kalendertagen",
        "week": "week weeks semana semanas semaine semaines woche wochen settimana settimane",
        "month": "month months mes meses mois monat monate monaten mese mesi",
        "year": "year years ano anos an ans annee annees jahr jahre jahren anno anni",
        "night": "night nights noche noches nuit nuits nacht nachte notte notti noite noites",
        "person": "person persons people persona personas personne personnes personen persone pessoa pessoas",
        "kb": "kb kib", "mb": "mb mib", "gb": "gb gib", "tb": "tb tib", "kg": "kg", "km": "km",
    }.items()
    for word in words.split()
}  # fmt: skip
_RATES = _UNITS | {
    "monthly": "month", "mensual": "month", "mensuales": "month", "mensuel": "month", "mensuels": "month",
    "monatlich": "month", "mensili": "month", "mensile": "month", "mensais": "month", "mensal": "month",
    "yearly": "year", "annually": "year", "anual": "year", "anuales": "year", "annuels": "year", "annuel": "year",
    "jahrlich": "year", "annuali": "year", "annuale": "year", "anuais": "year", "daily": "day", "weekly": "week",
}  # fmt: skip
_TIMES = {
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "year",
    "night",
    "person",
}  # what a price is for
_CURRENCIES = {"eur", "usd", "gbp"}
_SPAN = {"en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve veinte",
    "fr": "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt",
    "de": "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn zwanzig",
    "it": "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti",
    "pt": "zero um dois tres quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete dezoito dezenove vinte"}  # fmt: skip
_TENS = {"en": "thirty forty fifty sixty seventy eighty ninety hundred thousand million",
    "es": "treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil millon",
    "fr": "trente quarante cinquante soixante septante huitante nonante cent mille million",
    "de": "dreissig vierzig funfzig sechzig siebzig achtzig neunzig hundert tausend million",
    "it": "trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille milione",
    "pt": "trinta quarenta cinquenta sessenta setenta oitenta noventa cem mil milhao"}  # fmt: skip
_ALSO = {"en": {"dozen": 12}, "es": {"ciento": 100, "veintiun": 21}, "fr": {"vingts": 20, "cents": 100},
    "pt": {"cento": 100, "duas": 2, "catorze": 14, "dezasseis": 16, "dezassete": 17, "dezanove": 19}}  # fmt: skip
_ARTICLES = {"a", "an", "one", "un", "una", "uno", "une", "ein", "eine", "einen", "einem", "einer", "eins", "um", "uma"}  # fmt: skip
_AND = {"and", "y", "et", "und", "e"}
_PERCENT = re.compile(r"\b(?:por ciento|por cento|per cento|pour cent|per cent)\b")
_NUMBER = r"\d{1,3}(?: \d{3})+(?!\d)|\d+(?:[.,]\d+)*"
_TOKEN = re.compile(rf"{_NUMBER}|[$€£%]|[^\W\d_]+|[,;:.!?()|]")


def figures(text: str, language: str, *, articles: bool = False) -> list[Figure]:
    """The figures of a text in order. `articles`: "a month" counts as 1, for texts that figures are looked up in."""
    plain = (
        fold(unicodedata.normalize("NFKC", text))
        .replace("quatre-vingt", "huitante ")
        .replace("huitante s", "huitante ")
    )
    tokens = _TOKEN.findall(_PERCENT.sub("%", plain))
    found: list[Figure] = []
    at = 0
    while at < len(tokens):
        value, length = _value(tokens, at, language)
        if value is None:
            if articles and tokens[at] in _ARTICLES:
                found.append(Figure("1", _unit(tokens, at - 1, at + 1, language)))
            at += 1
            continue
        unit = _unit(tokens, at - 1, at + length, language)
        found.append(Figure(value, unit, _rate(tokens[at + length :], unit, language)))
        at += length
    return found


@lru_cache(maxsize=16)
def number_words(language: str) -> dict[str, int]:
    """Number words of a language (English where it is not known) without accents."""
    code = language if language in _SPAN else "en"
    small = dict(zip(_SPAN[code].split(), range(21), strict=True))
    tens = dict(zip(_TENS[code].split(), [*range(30, 100, 10), 100, 1000, 1_000_000], strict=True))
    found = small | tens | _ALSO.get(code, {})
    for ten, value in [("veinti", 20)] if code == "es" else tens.items() if code == "it" else ():
        stem = ten.removesuffix("a") if code == "it" else ten
        found |= {
            joined: value + n
            for unit, n in small.items()
            if 0 < n < 10
            for joined in (ten + unit, stem + unit)
        }
    if code == "de":
        units = {"ein" if n == 1 else unit: n for unit, n in small.items() if 0 < n < 10}
        found |= {f"{unit}und{ten}": value + n for unit, n in units.items() for ten, value in ({"zwanzig": 20} | tens).items() if value < 100}  # fmt: skip
    for one in _ARTICLES & found.keys():  # an article as a rule
        del found[one]
    return found


def _value(tokens: list[str], at: int, language: str) -> tuple[str | None, int]:
    """The number that begins at a token, and of how many tokens it is."""
    if tokens[at][0].isdigit():
        return _digits(tokens[at]), 1
    known = number_words(language) | dict.fromkeys(_ARTICLES - {"a", "an"}, 1)
    if tokens[at] not in number_words(language):
        return None, 1
    total, current, end = 0, 0, at
    previous = 0
    while end < len(tokens):
        step = end + (tokens[end] in _AND and previous >= 20)
        word = known.get(tokens[step]) if step < len(tokens) else None
        fits = previous == 0 or (word or 0) >= 100 or (previous >= 20 and (word or 0) < previous)
        if word is None or not fits:
            break
        if word >= 1000:
            total, current = total + max(1, current) * word, 0
        else:
            current = max(1, current) * word if word == 100 else current + word
        previous, end = word, step + 1
    return str(total + current), max(1, end - at)


def _digits(token: str) -> str:
    """Digits in one spelling: no thousands' separators, a point for decimals, no zeros that say nothing."""
    token = "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in token).replace(" ", "")
    groups = re.split(r"[.,]", token)
    if (
        len(groups) > 1
        and all(len(group) == 3 for group in groups[1:])
        and len(groups[0]) <= 3
        and groups[0] != "0"
    ):
        return "".join(groups)
    if len(groups) == 2:
        return (groups[0].lstrip("0") or "0") + (f".{rest}" if (rest := groups[1].rstrip("0")) else "")
    if (
        len(groups) > 2
        and all(len(group) == 3 for group in groups[1:-1])
        and len(set(re.findall("[.,]", token))) == 2
    ):
        return f"{''.join(groups[:-1])}.{groups[-1]}".rstrip("0").rstrip(".")
    return token if len(groups) > 2 else token.lstrip("0") or "0"


def _unit(tokens: list[str], before: int, after: int, language: str) -> str:
    """What stands beside a number: a measure within two words, a currency before it, or some other word."""
    following = tokens[after : after + 2]
    skipped = stop_words(language)
    for place, word in enumerate(following):
        if word in _UNITS:
            return _UNITS[word]
        if not word[0].isalpha() or word in skipped:
            following = following[:place]
            break
    of_another = before > 0 and tokens[before - 1][0].isdigit()  # "5 € 20"
    if before >= 0 and _UNITS.get(tokens[before]) in _CURRENCIES and not of_another:
        return _UNITS[tokens[before]]
    return OTHER if following else ""


def _rate(tokens: list[str], unit: str, language: str) -> str:
    """For how long: a measure of time after the unit with nothing between them but "a", "per", "al"."""
    if unit in _TIMES:
        return ""
    for place, word in enumerate(tokens[:4]):
        if _RATES.get(word) in _TIMES and place:
            return _RATES[word]
        if place and word not in _ARTICLES and word not in stop_words(language):
            break
    return ""


def beside(text: str, language: str) -> set[str]:
    """The words of numbers in a text and of the measures beside them, which count as figures and not as words."""
    known = number_words(language)
    tokens = _TOKEN.findall(fold(text))
    found: set[str] = set()
    for at, token in enumerate(tokens):
        if token in known or token[0].isdigit():
            found |= {token} | {word for word in tokens[at + 1 : at + 3] if word in _UNITS}
            found |= {word for word in tokens[max(0, at - 1) : at] if _UNITS.get(word) in _CURRENCIES}
    return found
