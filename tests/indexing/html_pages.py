"""Hand-made pages of the kinds that sites have: what must be read of them, and what must not."""

from __future__ import annotations

from dataclasses import dataclass

NAV = (
    '<header><a class="logo" href="/">Acme</a><nav><ul><li><a href="/a">Products menu</a></li>'
    '<li><a href="/b">Company menu</a></li><li><a href="/c">Careers menu</a></li></ul></nav></header>'
)
FOOTER = (
    '<footer><ul><li><a href="/imprint">Imprint link</a></li><li><a href="/privacy">Privacy link</a></li></ul>'
    "<p>Copyright Acme Corporation, all rights reserved.</p></footer>"
)
CHROME = ("Products menu", "Careers menu", "Imprint link", "all rights reserved")


@dataclass(frozen=True)
class Made:
    """A page. `text` is what a reader takes from it, for the benchmark."""

    name: str
    raw: bytes
    text: str
    must: tuple[str, ...]
    must_not: tuple[str, ...] = CHROME
    charset: str = ""


def page(body: str, *, head: str = "", lang: str = "en", around: str = "", title: str = "T") -> str:
    return (
        f'<!doctype html><html lang="{lang}"><head><title>{title}</title>{head}</head><body>{NAV}{around}{body}'
        f"{FOOTER}<script>var tracking = 'script text';</script></body></html>"
    )


SIDEBAR = (
    '<aside class="sidebar"><ul>' + "".join(f'<li><a href="/d{n}">Sidebar entry {n}</a></li>' for n in range(20))
    + '</ul></aside><div class="breadcrumbs"><a href="/">Crumb home</a> / <a href="/d">Crumb docs</a></div>'
)  # fmt: skip
DOCS = page(
    """<main><article><h1>Install the client</h1><p>The client needs Python 3.11 or later, and an account on the
    server that you want to reach.</p><h2>With a package manager</h2>
    <div class="tabs"><ul role="tablist"><li role="tab">pip</li><li role="tab">conda</li></ul>
    <div role="tabpanel"><pre><code class="language-bash">pip install acme-client</code></pre></div>
    <div role="tabpanel" class="hidden"><pre><code class="language-bash">conda install acme-client</code></pre></div></div>
    <h2>First call</h2><p>Import it and connect:</p>
    <div class="highlight"><pre><code class="language-python">from acme import Client

with Client("https://api.example") as client:
    for item in client.items():
        print(item.name)
</code></pre></div><p>Set <code>ACME_TOKEN</code> first. See <a href="/auth">how to authenticate</a>.</p>
    <table><thead><tr><th>Option</th><th>Meaning</th></tr></thead><tbody><tr><td><code>timeout</code></td>
    <td>Seconds until a call fails</td></tr><tr><td>retries</td><td>How often it is tried</td></tr></tbody></table>
    </article></main><nav class="toc"><ul><li><a href="#x">On this page</a></li></ul></nav>""",
    around=SIDEBAR, title="Install the client | Acme",
)  # fmt: skip
DOCS_TEXT = """Install the client The client needs Python 3.11 or later, and an account on the server that you want to
reach. With a package manager pip conda pip install acme-client conda install acme-client First call Import it and
connect: from acme import Client with Client("https://api.example") as client: for item in client.items():
print(item.name) Set ACME_TOKEN first. See how to authenticate. Option Meaning timeout Seconds until a call fails
retries How often it is tried"""

PRICING = page(
    """<section class="hero"><h1>Plans and prices</h1><p>Pick the plan that fits.</p></section>
    <section><table><tr><th>Plan</th><th>Users</th><th>Price</th></tr><tr><td>Small</td><td>5</td><td>9 € a month</td></tr>
    <tr><td>Large</td><td>50</td><td>49 € a month</td></tr></table></section>
    <section class="cards"><div class="card"><h3>Enterprise</h3><p>Ask us for an offer.</p><a class="btn">Contact sales</a></div></section>"""
)
PRICING_TEXT = """Plans and prices Pick the plan that fits. Plan Users Price Small 5 9 € a month Large 50 49 € a month
Enterprise Ask us for an offer. Contact sales"""

PRODUCT_DATA = """<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product",
"name": "Trail Shoe", "offers": {"@type": "Offer", "price": "89.90", "priceCurrency": "EUR",
"availability": "https://schema.org/InStock"}}</script><meta name="description" content="A light shoe for trails.">
<link rel="canonical" href="https://shop.example/trail-shoe">"""
PRODUCT = page(
    """<main><div class="product"><h1>Trail Shoe</h1><p class="lead">A light shoe for rough ground, with a sole that grips
    wet rock.</p><ul class="features"><li>Weight: 260 g</li><li>Drop: 6 mm</li></ul><div class="description">
    <h2>Description</h2><p>The upper is made of recycled polyester and dries within an hour.</p></div>
    <dl><dt>Material</dt><dd>Recycled polyester</dd><dt>Sizes</dt><dd>36 to 47</dd></dl></div></main>
    <section class="related"><h2>You may also like</h2><ul><li><a href="/x">Road Racer offer</a></li>
    <li><a href="/y">City Walker offer</a></li></ul></section>""",
    head=PRODUCT_DATA,
)
PRODUCT_TEXT = """Trail Shoe A light shoe for rough ground, with a sole that grips wet rock. Weight: 260 g Drop: 6 mm
Description The upper is made of recycled polyester and dries within an hour. Material Recycled polyester Sizes 36 to 47"""

FAQ = page(
    """<main><h1>Questions</h1><details><summary>How long may I return it?</summary><p>Thirty days from delivery.</p></details>
    <details><summary>Who pays for the parcel?</summary><p>We do, within the country.</p></details>
    <div class="accordion"><button class="accordion-header" aria-expanded="false">Can I swap sizes?</button>
    <div class="accordion-body collapse"><p>Yes, once, free of charge.</p></div></div></main>"""
)
FAQ_TEXT = """Questions How long may I return it? Thirty days from delivery. Who pays for the parcel? We do, within the
country. Can I swap sizes? Yes, once, free of charge."""

COOKIES = page(
    """<div id="content"><h1>Opening hours</h1><p>The shop in Hamburg is open from Monday to Friday, nine to six.</p>
    <p>On Saturdays it closes at two in the afternoon, on Sundays it stays closed.</p></div>""",
    around="""<div id="cookie-banner" class="cookie-consent" role="dialog"><p>We use cookies to improve your experience.
    By clicking accept you agree to all cookies.</p><button>Accept all</button></div>""",
)
COOKIES_TEXT = """Opening hours The shop in Hamburg is open from Monday to Friday, nine to six. On Saturdays it closes at
two in the afternoon, on Sundays it stays closed."""

JA = page(
    """<main><h1>返品について</h1><p>商品の到着後三十日以内であれば、返品を受け付けます。</p><h2>送料</h2>
    <p>国内の送料は当社が負担します。海外からの返品はお客様のご負担となります。</p></main>""",
    lang="ja", title="返品",
)  # fmt: skip
JA_TEXT = """返品について 商品の到着後三十日以内であれば、返品を受け付けます。 送料
国内の送料は当社が負担します。海外からの返品はお客様のご負担となります。"""

AR = page(
    """<main dir="rtl"><h1>سياسة الإرجاع</h1><p>يمكنك إرجاع المنتج خلال ثلاثين يوما من تاريخ الاستلام.</p>
    <ul><li>المنتج غير مستعمل</li><li>العبوة كاملة</li></ul></main>""",
    lang="ar",
)
AR_TEXT = (
    "سياسة الإرجاع يمكنك إرجاع المنتج خلال ثلاثين يوما من تاريخ الاستلام. المنتج غير مستعمل العبوة كاملة"
)

ES = page(
    """<main><h1>Devolución</h1><p>El cliente podrá devolver el artículo en treinta días; el año “fiscal” cuesta 5 €.</p>
    <p>¿Cuándo llega el reembolso? Según el método de pago, en una semana más o menos.</p></main>""",
    lang="es",
)
ES_TEXT = """Devolución El cliente podrá devolver el artículo en treinta días; el año “fiscal” cuesta 5 €. ¿Cuándo llega el
reembolso? Según el método de pago, en una semana más o menos."""
ES_MUST = ("Devolución", "podrá devolver el artículo", "“fiscal” cuesta 5 €", "¿Cuándo llega")

GLOSSARY = page(
    """<main><h1>Glossary</h1><p>Words that we use.</p><dl><dt>Chunk</dt><dd>A passage of a page.</dd><dt>Vector</dt>
    <dd>Numbers that stand for a meaning.</dd></dl></main>"""
)
GLOSSARY_TEXT = (
    "Glossary Words that we use. Chunk A passage of a page. Vector Numbers that stand for a meaning."
)

NESTED = page(
    """<table width="100%"><tr><td><h1>Timetable</h1><p>Trains leave from platform two, every hour on working days.</p>
    <table><tr><th>Train</th><th>Departs</th></tr><tr><td>Coast express</td><td>09:10</td></tr>
    <tr><td>Night line</td><td>22:40</td></tr></table></td></tr></table>"""
)
NESTED_TEXT = """Timetable Trains leave from platform two, every hour on working days. Train Departs Coast express 09:10
Night line 22:40"""

PAGES = (
    Made("docs", DOCS.encode(), DOCS_TEXT, ("pip install acme-client", "conda install acme-client",
         "    for item in client.items():\n        print(item.name)", "| `timeout` |", "how to authenticate"),
         (*CHROME, "Sidebar entry", "Crumb home", "On this page")),
    Made("pricing", PRICING.encode(), PRICING_TEXT, ("Plans and prices", "| Small | 5 | 9 € a month |", "Ask us for an offer")),
    Made("product", PRODUCT.encode(), PRODUCT_TEXT, ("Weight: 260 g", "dries within an hour", "36 to 47")),
    Made("faq", FAQ.encode(), FAQ_TEXT, ("How long may I return it?", "Thirty days", "Who pays", "swap sizes", "Yes, once")),
    Made("cookies", COOKIES.encode(), COOKIES_TEXT, ("Hamburg", "closes at two"), (*CHROME, "We use cookies", "Accept all")),
    Made("japanese", JA.encode(), JA_TEXT, ("返品を受け付けます。", "送料", "当社が負担します")),
    Made("arabic", AR.encode(), AR_TEXT, ("سياسة الإرجاع", "خلال ثلاثين يوما", "العبوة كاملة")),
    Made("windows-1252 undeclared", ES.encode("cp1252"), ES_TEXT, ES_MUST),
    Made("windows-1252 said to be latin-1", ES.replace("<head>", '<head><meta charset="iso-8859-1">').encode("cp1252"),
         ES_TEXT, ES_MUST),
    Made("utf-8 said to be latin-1", ES.replace("<head>", '<head><meta charset="iso-8859-1">').encode(), ES_TEXT, ES_MUST),
    Made("utf-8 by header, meta wrong", ES.replace("<head>", '<head><meta charset="shift_jis">').encode(), ES_TEXT, ES_MUST,
         charset="utf-8"),
    Made("utf-8 said to be utf-16", ES.replace("<head>", '<head><meta charset="utf-16">').encode(), ES_TEXT, ES_MUST),
    Made("windows-1252 said to be utf-8", ES.replace("<head>", '<head><meta charset="utf-8">').encode("cp1252"),
         ES_TEXT, ES_MUST),
    Made("shift_jis undeclared", JA.encode("cp932"), JA_TEXT, ("返品を受け付けます。", "送料")),
    Made("shift_jis in meta", JA.replace("<head>", '<head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">')
         .encode("cp932"), JA_TEXT, ("返品を受け付けます。", "送料")),
    Made("utf-16 with mark", JA.encode("utf-16"), JA_TEXT, ("返品を受け付けます。", "送料")),
    Made("glossary", GLOSSARY.encode(), GLOSSARY_TEXT, ("Chunk", "A passage of a page.", "Numbers that stand")),
    Made("nested tables", NESTED.encode(), NESTED_TEXT, ("Timetable", "every hour", "Coast express", "22:40")),
)  # fmt: skip
