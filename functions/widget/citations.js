import { h, link, safeUrl } from "./dom.js";

/**
 * The marker shown for `[n]` while the answer is still being written: not a button yet, since the server has not
 * checked it.
 * @param {number} n
 * @returns {HTMLElement}
 */
export function pendingMarker(n) {
  return h("span", { class: "cite" }, h("span", { class: "marker" }, String(n)));
}

/**
 * Markers for the checked citations of one answer. Pointing at a marker, or pressing it, shows the quoted passage.
 * @param {{n: number, url: string, title: string, quote: string, supported: boolean}[]} citations
 * @param {(key: string, values?: object) => string} t
 */
export function createCitations(citations, t) {
  const byNumber = new Map(citations.map((citation) => [citation.n, citation]));
  let current = null;

  function close() {
    if (!current) return false;
    const { button, card } = current;
    current = null;
    button.setAttribute("aria-expanded", "false");
    if (card.matches(":focus-within")) button.focus();
    card.remove();
    return true;
  }

  function open(button, citation, pinned) {
    close();
    const card = previewCard(citation, t);
    current = { button, card, pinned };
    button.setAttribute("aria-expanded", "true");
    button.after(card);
    card.scrollIntoView({ block: "nearest" });
  }

  function marker(n) {
    const citation = byNumber.get(n);
    if (!citation) return null;
    const label = t("source", { n, title: citation.title });
    const button = h("button", { type: "button", class: "marker", "aria-label": label, "aria-expanded": "false" }, String(n));
    const isCurrent = () => current?.button === button;
    button.addEventListener("click", () => {
      if (isCurrent() && current.pinned) close();
      else open(button, citation, true);
    });
    const whenMouse = (act) => (event) => event.pointerType === "mouse" && act();
    return h(
      "span",
      {
        class: `cite${citation.supported === false ? " doubtful" : ""}`,
        onpointerenter: whenMouse(() => isCurrent() || open(button, citation, false)),
        onpointerleave: whenMouse(() => isCurrent() && !current.pinned && close()),
      },
      button,
    );
  }

  return { marker, close };
}

function previewCard(citation, t) {
  return h(
    "span",
    { class: "card", role: "group", "aria-label": t("source", citation) },
    h(
      "span",
      { class: "card-box" },
      h("strong", { dir: "auto" }, citation.title),
      citation.quote && h("q", { dir: "auto" }, citation.quote),
      citation.supported === false && h("span", { class: "doubt" }, t("unsupported")),
      safeUrl(citation.url) && link(citation.url, { class: "open" }, t("openSource")),
    ),
  );
}

/**
 * The list of sources under an answer.
 * @param {{n: number, url: string, title: string}[]} citations
 * @param {(key: string) => string} t
 * @returns {HTMLElement}
 */
export function sourceList(citations, t) {
  const rows = [...citations]
    .sort((a, b) => a.n - b.n)
    .map(({ n, url, title }) =>
      h("li", {}, link(url, { class: "source" }, h("span", { class: "marker" }, String(n)), h("span", { class: "name", dir: "auto" }, title || url))),
    );
  return h("div", { class: "sources" }, h("h3", {}, t("sources")), h("ul", {}, ...rows));
}
