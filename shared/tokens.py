"""How many tokens a text has for an embedding model, without the model: a cheap estimate, seldom too low.

Fitted on the pieces of XLM-RoBERTa's vocabulary (multilingual-e5), by kind of character, on 15,000 passages in seven
languages with code and tables; models with smaller pieces for other scripts cut what is longer themselves.
"""

from __future__ import annotations

import re

MODEL_TOKENS = 512  # what e5 reads; what comes after is not in the vector
HEADER_TOKENS = 132  # title, section, summary, keywords and questions before the text (shared/prompts.py)
CHUNK_TOKENS = MODEL_TOKENS - HEADER_TOKENS
_PIECE = re.compile(
    "(?P<run>[A-Za-z0-9+/]{48,})|(?P<rule>([!-~\u2500-\u257f])\\3{3,})"
    "|(?P<cjk>[\u0610-\u061a\u064b-\u065f\u1200-\u137f\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af])"
    "|(?P<digits>\\d+)|(?P<capitals>[A-ZÀ-Þ]{2,}(?![a-zß-ÿ]))|(?P<latin>[a-zß-ÿ]+|[A-ZÀ-Þ][a-zß-ÿ]*)|(?P<word>(?:[^\\W\\d_]|[\u0591-\u05c7\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])+)|(?P<bar>\\|)"
    "|(?P<mark>[!-~])|(?P<symbol>[^\\s\\w])"
)


def estimated_tokens(text: str) -> int:
    """Tokens of `text`, nearly always at least what the model counts."""
    total = 3.0  # both ends, and the prefix that e5 wants
    for match in _PIECE.finditer(text):
        kind, size = match.lastgroup, match.end() - match.start()
        if kind == "latin":  # a common word is one piece; long ones and identifiers fall into many
            total += 1 + 0.28 * max(0, size - 4) + 0.3 * max(0, size - 20)
        elif kind == "capitals":
            total += 1 + 0.5 * (size - 2)
        elif kind == "word":  # Greek, Cyrillic, Arabic, Hebrew, Indic, Thai: shorter pieces
            total += 1 + 0.4 * max(0, size - 3) + 0.3 * max(0, size - 20)
        elif kind == "digits":  # two digits a piece, and a blank of its own before every second number
            total += 0.3 + 0.85 * ((size + 1) // 2)
        elif kind == "cjk":
            total += 0.85  # two characters are often one piece
        elif kind == "run":  # keys, images in base64: two characters are seldom a piece
            total += 0.8 * size
        elif kind == "rule":
            total += 1 + size / 4  # lines drawn with dashes
        elif kind == "bar":
            total += 2  # table bars stand between blanks: each is two pieces
        elif kind == "mark":
            total += 1
        else:
            total += 2  # emoji and signs, mostly two pieces
    return int(total) + 1
