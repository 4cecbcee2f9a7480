"""The estimate of tokens against the embedded model's own count."""

from __future__ import annotations

import numpy as np
import pytest

from shared.embedding import EmbeddedE5
from shared.tokens import estimated_tokens

PROSE = "You may return the product within thirty days of delivery, in its box, at no cost to you. "
SAMPLES = {
    "english": PROSE * 8,
    "german": "Die Rückgabe ist innerhalb von dreißig Tagen nach der Lieferung ohne Angabe von Gründen möglich. "
    * 6,
    "russian": "Вы можете вернуть товар в течение тридцати дней со дня получения. " * 8,
    "arabic": "يمكنك إرجاع المنتج خلال ثلاثين يوما من تاريخ الاستلام. " * 8,
    "hindi": "आप अपने उत्पाद को तीस दिनों के भीतर वापस कर सकते हैं। " * 8,
    "japanese": "商品の到着後三十日以内であれば、返品を受け付けます。" * 10,
    "chinese": "收到商品后三十天内可以退货" * 12,
    "korean": "제품을 수령한 날로부터 삼십 일 이내에 반품하실 수 있습니다. " * 8,
    "code": "for (const item of client.items({limit: 10})) { console.log(item.name, item['id']); }\n" * 8,
    "table": "| c5ad.2xlarge | 8 | 16 | `obi.stat.tcp` |\n" * 12,
    "addresses": "https://www.example.com/a/b/c-d-e?utm_source=x&id=8f3a9c#frag " * 8,
    "base64": "ODM5YTcxOGRhZjQ0NzE0NGZiYWE2ZDBkZGI1ZmE5NjE0NjQ4NzhhNGQ2Mz" * 6,
}


@pytest.fixture(scope="module")
def model() -> EmbeddedE5:
    embedder = EmbeddedE5()
    embedder.load()
    return embedder


@pytest.mark.parametrize("name", SAMPLES)
def test_the_estimate_is_seldom_too_low_and_not_far_too_high(model: EmbeddedE5, name: str) -> None:
    real = model._model.token_count(SAMPLES[name])
    # 10 %: what the room for the header bears; more than 2.5 times would make chunks small without need
    assert real * 0.9 <= estimated_tokens(SAMPLES[name]) <= real * 2.5


@pytest.mark.parametrize("text", [PROSE * 400, "返品" * 8000, "x" * 50_000, "-" * 50_000])
def test_a_text_far_above_the_window_is_cut_before_the_model(model: EmbeddedE5, text: str) -> None:
    kept = model._window(text, False)
    assert text.startswith(kept)
    assert model._model.token_count(kept) <= 512


def test_a_text_within_the_window_is_not_cut(model: EmbeddedE5) -> None:
    assert model._window(PROSE, False) == PROSE
    vector = model._encode([PROSE], is_query=False)
    assert np.allclose(vector, model._model.encode([PROSE], False))
