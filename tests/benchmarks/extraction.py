"""Extractors of main content, measured: `python tests/benchmarks/extraction.py DATA` (DATA holds html/index.jsonl).

F1 is that of words against the expected text, as multisets. The page sets differ in what is expected: `readability`
rows have what Readability.js made of them (a reference tool, which favours its own kind), `charset` rows the whole
text, `trafilatura` rows and the hand-made pages have words that must and must not stand there (checks).
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import trafilatura
from lxml import html

from functions.indexing import charset, main_content
from tests.indexing.html_pages import PAGES, Made

Extractor = Callable[[str], str]


def tokens(text: str) -> Counter[str]:
    """Words, and characters of scripts without blanks; Markdown's marks are none."""
    return Counter(re.findall(r"[\u3040-\u9fff]|[^\W_\u3040-\u9fff]+", text.casefold()))


def f1(found: str, expected: str) -> float:
    a, b = tokens(found), tokens(expected)
    return 2 * (a & b).total() / (a.total() + b.total()) if a or b else 1.0


def by_trafilatura(**options: Any) -> Extractor:
    return lambda text: (
        trafilatura.extract(text, output_format="markdown", include_comments=False, **options) or ""
    )


def readability(convert: str) -> Extractor:
    def extract(text: str) -> str:
        from readability import Document

        summary = Document(text).summary(html_partial=True)
        if convert == "html2text":
            import html2text

            return html2text.html2text(summary)
        from markdownify import markdownify

        return markdownify(summary, heading_style="ATX", strip=["a", "img"])

    return extract


def resiliparse(text: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(text, main_content=True, preserve_formatting=True)


def landmark(text: str) -> str:
    found = main_content.landmark(html.document_fromstring(text))
    return main_content.to_markdown(found) if found is not None else ""


def ours(text: str) -> str:
    from functions.indexing.hidden import remove_hidden

    tree = html.document_fromstring(text)
    remove_hidden(tree)
    return main_content.main_content(tree)


EXTRACTORS: dict[str, Extractor] = {
    "trafilatura default": by_trafilatura(),
    "trafilatura precision": by_trafilatura(favor_precision=True),
    "trafilatura recall": by_trafilatura(favor_recall=True),
    "trafilatura fast": by_trafilatura(fast=True),
    "trafilatura recall fast": by_trafilatura(fast=True, favor_recall=True),
    "trafilatura no tables": by_trafilatura(include_tables=False),
    "readability markdownify": readability("markdownify"),
    "readability html2text": readability("html2text"),
    "resiliparse": resiliparse,
    "landmark only": landmark,
    "ours": ours,
}


def real_pages(folder: Path) -> list[Made]:
    rows = [json.loads(line) for line in (folder / "html/index.jsonl").open(encoding="utf-8")]
    found = []
    for row in rows:
        file = next(
            p for p in (folder / "html" / row["file"], folder / "html/pages" / row["file"]) if p.exists()
        )
        must = tuple(row["must_contain"] or ())
        found.append(
            Made(
                row["id"],
                file.read_bytes(),
                row["expected_text"] or "",
                must,
                tuple(row["must_not_contain"] or ()),
            )
        )
    return found


def main(folder: Path, chosen: list[str]) -> None:
    kinds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = [n for n in EXTRACTORS if not chosen or n in chosen]
    seconds = Counter[str]()
    for page in [*real_pages(folder), *PAGES]:
        kind = page.name.split("-")[0] if page not in PAGES else "made"
        text = charset.decoded(page.raw, page.charset, html=True)
        line = []
        for name in names:
            start = time.perf_counter()
            try:
                found = EXTRACTORS[name](text)
            except ImportError:
                raise
            except Exception as error:  # noqa: BLE001 - what a library cannot read counts as nothing found
                found = f"{type(error).__name__}"
            seconds[name] += time.perf_counter() - start
            flat = " ".join(found.replace("\\", "").split())
            checks = [" ".join(w.split()) in flat for w in page.must] + [w not in flat for w in page.must_not]
            score = f1(found, page.text)
            if page.text:
                kinds[kind][name].append(score)
            if page.must:
                kinds[f"{kind} checks"][name].append(sum(checks) / len(checks))
            if "\ufffd" in flat or re.search("[\x80-\x9f]|Ã[\x80-\xbf©±¡³]", flat):
                kinds["mojibake pages"][name].append(1.0)
            misses = [w for w, ok in zip((*page.must, *page.must_not), checks, strict=True) if not ok]
            line.append(f"{score:.3f}{'/' + str(len(misses)) if checks else ''}")
            if name == "ours" and misses:
                print("   ours misses or keeps:", misses)
        print(f"{page.name[:44]:45}", *(f"{cell:>8}" for cell in line))
    print(f"\n{'mean':26}", *(f"{k:>18}" for k in kinds), f"{'worst':>8} {'seconds':>8}")
    for name in names:
        worst = min(
            score
            for k, by in kinds.items()
            if "checks" not in k and "mojibake" not in k
            for score in by[name]
        )
        cells = [f"{(sum if 'mojibake' in k else mean)(by[name] or [0.0]):18.3f}" for k, by in kinds.items()]
        print(f"{name:26}", *cells, f"{worst:8.3f} {seconds[name]:8.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
