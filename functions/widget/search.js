import { createClient } from "./chat.js";
import { h, icon, link } from "./dom.js";
import { explain, translator } from "./strings.js";
import { SEARCH_CSS, sheet } from "./style.js";

const SNIPPET = 220;

/**
 * A plain search box over `/retrieve`: no model, no conversation.
 * @param {object} parts
 * @param {Readonly<object>} parts.config
 * @param {ShadowRoot} parts.root
 * @param {HTMLElement} parts.frame
 * @param {(event: string, detail?: object) => void} parts.emit
 * @returns {{open: () => void, close: () => void, ask: (query: string) => Promise<void>}}
 */
export function createSearch({ config, root, frame, emit }) {
  const t = translator(config.lang);
  const client = createClient(config.api);
  const label = config.title || t("searchLabel");
  const input = h("input", { type: "search", name: "q", placeholder: label, "aria-label": label, maxlength: "300", autocomplete: "off", dir: "auto" });
  const status = h("p", { class: "status", role: "status" });
  const results = h("ol", { class: "results" });
  const form = h("form", { role: "search", onsubmit: submit }, icon("search"), input, h("button", { class: "go" }, t("search")));
  let current = new AbortController();

  root.adoptedStyleSheets.push(sheet(SEARCH_CSS));
  frame.replaceChildren(form, status, results);
  // The page's own keyboard shortcuts must not fire while a visitor types here.
  for (const type of ["keydown", "keyup", "keypress"]) frame.addEventListener(type, (event) => event.stopPropagation());

  function submit(event) {
    event.preventDefault();
    ask(input.value);
  }

  async function ask(query) {
    const text = query.trim();
    current.abort();
    current = new AbortController();
    const { signal } = current;
    input.value = text;
    if (!text) return close();
    status.textContent = t("searchingNow");
    emit("question", { question: text });
    try {
      const result = await client.retrieve(text, signal);
      show(text, result);
      emit("answer", { question: text, results: result.chunks.length });
    } catch (error) {
      if (signal.aborted) return; // a newer search took its place
      console.warn("portavoz:", error);
      showFailure(text, error.code);
      emit("error", { question: text, code: error.code });
    }
  }

  function show(query, { chunks, verdict }) {
    const found = t("results", { n: chunks.length });
    status.textContent = chunks.length ? [found, verdict === "weak" && t("weak")].filter(Boolean).join(" · ") : t("noResults", { query });
    results.replaceChildren(...chunks.map(row));
  }

  function row({ title, section, url, summary, text }) {
    const snippet = summary || text;
    const short = snippet.length > SNIPPET ? `${snippet.slice(0, snippet.lastIndexOf(" ", SNIPPET))} …` : snippet;
    return h(
      "li",
      {},
      link(url, { class: "title", dir: "auto" }, title || url),
      section && section !== title && h("span", { class: "section", dir: "auto" }, section),
      h("p", { dir: "auto" }, short),
    );
  }

  function showFailure(query, code) {
    const again = h("button", { type: "button", class: "text-button", onclick: () => ask(query) }, t("retry"));
    const contact = config.contactUrl && link(config.contactUrl, { class: "text-button" }, t("contact"));
    status.replaceChildren(explain(t, code), " ", again, ...[contact].filter(Boolean));
    results.replaceChildren();
  }

  function close() {
    current.abort();
    input.value = status.textContent = "";
    results.replaceChildren();
  }

  return { open: () => input.focus(), close, ask };
}
