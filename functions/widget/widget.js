/**
 * Portavoz widget loader: the one file that a site embeds.
 *
 *   <script src="https://api.example/widget.js" data-title="Ask us" defer></script>
 *
 * It draws the launcher, and imports the panel (or the search box) only when it is needed. Everything lives in a
 * closed shadow root, and the styles are constructed sheets, so that a strict Content-Security-Policy allows them.
 */
(() => {
  "use strict";

  const TEXT = {
    en: ["Ask a question", "The assistant could not be loaded. Check your connection and try again.", "Contact us"],
    es: ["Haz una pregunta", "No se pudo cargar el asistente. Revisa tu conexión e inténtalo de nuevo.", "Contacto"],
    fr: ["Poser une question", "L’assistant n’a pas pu être chargé. Vérifiez votre connexion et réessayez.", "Nous contacter"],
    de: ["Frage stellen", "Der Assistent konnte nicht geladen werden. Prüfen Sie die Verbindung und versuchen Sie es erneut.", "Kontakt"],
    pt: ["Faça uma pergunta", "Não foi possível carregar o assistente. Verifique a ligação e tente de novo.", "Contacto"],
    it: ["Fai una domanda", "Impossibile caricare l’assistente. Controlla la connessione e riprova.", "Contattaci"],
  };

  // `!important` inside a shadow tree beats `!important` outside it: no rule of the page can hide or move the host.
  const HOST_CSS = `
    :host { all: initial !important; display: block !important; color-scheme: light dark !important; }
    :host(portavoz-widget) { position: fixed !important; top: 0 !important; left: 0 !important; z-index: 2147483647 !important; }
    :host([data-theme="light"]) { color-scheme: light !important; }
    :host([data-theme="dark"]) { color-scheme: dark !important; }
    :host::backdrop { display: none !important; }
    .pv {
      --accent: var(--portavoz-accent, #3446d4);
      --on-accent: var(--portavoz-accent-text, #fff);
      --bg: var(--portavoz-background, light-dark(#fff, #16181d));
      --text: var(--portavoz-text, light-dark(#1b1e27, #e9eaee));
      --muted: var(--portavoz-muted, light-dark(#5a6070, #a3a9b8));
      --line: var(--portavoz-border, light-dark(#e1e4eb, #343843));
      --radius: var(--portavoz-radius, 18px);
      font: 400 15px/1.55 var(--portavoz-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif);
      color: var(--text);
      -webkit-text-size-adjust: 100%;
    }
    .pv[data-side="right"] { --left: auto; --right: 20px; }
    .pv[data-side="left"] { --left: 20px; --right: auto; }
    *, ::before, ::after { box-sizing: border-box; }
    [hidden] { display: none !important; }
    .launcher {
      position: fixed; left: var(--left); right: var(--right); bottom: calc(20px + env(safe-area-inset-bottom, 0px));
      display: flex; align-items: center; gap: 10px; min-height: 54px; padding: 0 22px 0 18px; border: 1px solid transparent;
      border-radius: 27px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer;
      box-shadow: 0 2px 6px rgb(10 15 40 / .18), 0 10px 28px rgb(10 15 40 / .22); transition: transform .15s, box-shadow .15s;
    }
    .pv[dir="rtl"] .launcher { padding: 0 18px 0 22px; }
    .launcher:hover { transform: translateY(-2px); box-shadow: 0 4px 8px rgb(10 15 40 / .18), 0 16px 36px rgb(10 15 40 / .28); }
    .launcher:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
    .launcher svg { width: 24px; height: 24px; flex: none; }
    .launcher[aria-busy="true"] svg { animation: pulse 1s infinite alternate; }
    @keyframes pulse { to { opacity: .35; } }
    .failure {
      position: fixed; left: var(--left); right: var(--right); bottom: 90px; width: min(300px, calc(100vw - 40px)); padding: 14px 16px;
      border: 1px solid var(--line); border-radius: 14px; background: var(--bg); box-shadow: 0 10px 28px rgb(10 15 40 / .22);
    }
    .failure a { color: inherit; font-weight: 600; }
    @media (max-width: 640px) {
      .launcher, .pv[dir="rtl"] .launcher { padding: 0; width: 56px; min-height: 56px; justify-content: center; }
      .launcher span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    }
    @media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important; } }
    @media print { .pv { display: none; } }`;

  const script = document.currentScript ?? document.querySelector("script[src*='widget.js']");
  const SITE = {}; // the server puts what its settings say of the site here
  const { data, api } = { data: { ...SITE, ...script.dataset }, api: (script.dataset.api || new URL(".", script.src).href).replace(/\/+$/, "") };
  const listeners = new Map();
  let attempts = 0;

  function emit(event, detail) {
    for (const listener of listeners.get(event) ?? []) {
      try {
        listener(detail);
      } catch (error) {
        reportError(error); // a mistake of the page's listener is the page's to see, and must not stop the widget
      }
    }
  }

  /** Calls `listener` on each `event`; the function returned stops it. */
  function on(event, listener) {
    if (!listeners.has(event)) listeners.set(event, new Set());
    listeners.get(event).add(listener);
    return () => listeners.get(event).delete(listener);
  }

  /** A failed import may be remembered by the browser under its URL, so that another attempt takes another URL. */
  function load(file) {
    const url = new URL(`${api}/widget/${file}`);
    if (attempts++) url.searchParams.set("attempt", attempts);
    return import(url.href);
  }

  function readConfig() {
    const lang = (data.lang || document.documentElement.lang || navigator.language || "en").slice(0, 2).toLowerCase();
    const dir = getComputedStyle(document.body).direction;
    return Object.freeze({
      api,
      lang: TEXT[lang] ? lang : "en",
      dir,
      title: data.title,
      contactUrl: data.contactUrl,
      starters: script.dataset.starters?.split("|").map((text) => text.trim()).filter(Boolean) ?? SITE.starters?.[lang] ?? [],
      side: data.position || (dir === "rtl" ? "left" : "right"),
      theme: data.theme || "auto",
    });
  }

  function createHost(tag, config) {
    const host = document.createElement(tag);
    host.dataset.theme = config.theme;
    const root = host.attachShadow({ mode: "closed" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(HOST_CSS);
    root.adoptedStyleSheets = [sheet];
    const frame = document.createElement("div");
    frame.className = "pv";
    frame.lang = config.lang;
    frame.dir = config.dir;
    frame.dataset.side = config.side;
    root.append(frame);
    return { host, root, frame };
  }

  function createLauncher(label) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "launcher";
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-expanded", "false");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("fill", "currentColor");
    path.setAttribute("fill-rule", "evenodd");
    path.setAttribute("d", "M6 3h12a4 4 0 0 1 4 4v7a4 4 0 0 1-4 4h-5.5l-4.7 3.8A.5.5 0 0 1 7 21.4V18H6a4 4 0 0 1-4-4V7a4 4 0 0 1 4-4Zm1 9.5a2 2 0 1 0 1.9-2.6c.1-.8.6-1.4 1.4-1.7L9.9 7C8 7.6 7 9 7 11v1.5Zm6.2 0a2 2 0 1 0 1.9-2.6c.1-.8.6-1.4 1.4-1.7L16.1 7c-1.9.6-2.9 2-2.9 4v1.5Z");
    svg.append(path);
    const text = document.createElement("span");
    text.textContent = label;
    button.append(svg, text);
    return button;
  }

  /** Puts the host in the top layer, above every z-index, and again when the page swaps its body (Turbo and the like). */
  function keepMounted(host) {
    const mount = () => {
      if (host.parentNode === document.body || !document.body) return;
      document.body.append(host);
      if ("popover" in host) {
        host.popover = "manual";
        host.showPopover();
      }
    };
    mount();
    new MutationObserver(mount).observe(document.documentElement, { childList: true });
  }

  function startChat() {
    if (document.querySelector("portavoz-widget")) return console.warn("portavoz: the widget is already on this page");
    const config = readConfig();
    const [label, failedText, contactText] = TEXT[config.lang];
    const { host, root, frame } = createHost("portavoz-widget", config);
    const launcher = createLauncher(label);
    const region = document.createElement("div");
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", config.title || label);
    region.append(launcher);
    frame.append(region);
    let panel;
    let failure;

    function showFailure(error) {
      console.error("portavoz:", error);
      failure = document.createElement("div");
      failure.className = "failure";
      failure.setAttribute("role", "alert");
      failure.append(failedText);
      if (/^(https?:|mailto:|\/)/i.test(config.contactUrl ?? "")) {
        const link = document.createElement("a");
        link.href = config.contactUrl;
        link.textContent = contactText;
        failure.append(" ", link);
      }
      region.append(failure);
    }

    async function withPanel(use) {
      failure?.remove();
      launcher.setAttribute("aria-busy", "true");
      try {
        panel ??= load("panel.js").then((module) => module.createPanel({ config, root, frame, launcher, emit }));
        use(await panel);
      } catch (error) {
        panel = undefined;
        showFailure(error);
      }
      launcher.removeAttribute("aria-busy");
    }

    const open = (options) => withPanel((ready) => ready.open(options));
    launcher.addEventListener("click", () => open());
    keepMounted(host);
    window.portavoz = Object.freeze({
      open: () => open(),
      close: async () => (await panel)?.close(),
      ask: (text) => withPanel((ready) => ready.ask(String(text))),
      on,
    });
    if (wasOpen() && !matchMedia("(max-width: 640px)").matches) open({ focus: false });
  }

  /** Whether the visitor left the panel open on the page before. */
  function wasOpen() {
    try {
      return sessionStorage.getItem(`portavoz:open:${api}`) === "yes";
    } catch {
      return false; // storage is blocked: nothing is remembered, and conversation.js says so when it is used
    }
  }

  async function startSearch() {
    const config = readConfig();
    const { host, root, frame } = createHost("portavoz-search", config);
    const target = data.target ? document.querySelector(data.target) : null;
    if (data.target && !target) return console.error(`portavoz: data-target "${data.target}" matches nothing`);
    if (target) target.append(host);
    else script.after(host);
    try {
      const search = (await load("search.js")).createSearch({ config, root, frame, emit });
      window.portavoz ??= Object.freeze({ ...search, on });
    } catch (error) {
      console.error("portavoz:", error);
      frame.textContent = TEXT[config.lang][1];
    }
  }

  const start = data.mode === "search" ? startSearch : startChat;
  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
