/**
 * Styles of the panel and of the search box. They are constructed sheets: a Content-Security-Policy without
 * 'unsafe-inline' allows them. The colours and the launcher are in widget.js.
 */

/**
 * @param {string} css
 * @returns {CSSStyleSheet}
 */
export function sheet(css) {
  const constructed = new CSSStyleSheet();
  constructed.replaceSync(css);
  return constructed;
}

const SHARED_CSS = `
  .pv {
    --soft: color-mix(in srgb, var(--text) 5%, var(--bg));
    --tint: color-mix(in srgb, var(--link) 11%, var(--bg));
    --link: light-dark(var(--accent), color-mix(in oklab, var(--accent) 45%, white));
  }
  h2, h3, h4, h5, h6, p, ul, ol, li, blockquote, pre, q, hr { margin: 0; padding: 0; }
  h2, h3, h4, h5, h6 { font: inherit; font-weight: 650; }
  a { color: var(--link); text-underline-offset: 2px; }
  a[target="_blank"]::after { content: "\\2197" / ""; margin-inline-start: 2px; font-size: .8em; }
  button, textarea, input { font: inherit; color: inherit; margin: 0; }
  button { cursor: pointer; }
  a:focus-visible, button:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 6px; }
  .icon { width: 18px; height: 18px; flex: none; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
  .sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
  .text-button {
    display: inline-flex; align-items: center; gap: 6px; min-height: 32px; padding: 4px 12px; border: 1px solid var(--line); border-radius: 9px;
    background: var(--bg); color: var(--text); font-size: 14px; font-weight: 550; line-height: 1.3; text-decoration: none;
  }
  .text-button:hover { border-color: var(--link); color: var(--link); }
  .text-button .icon { width: 15px; height: 15px; }`;

export const PANEL_CSS = `${SHARED_CSS}
  .panel {
    position: fixed; left: var(--left); right: var(--right); bottom: 20px; display: flex; flex-direction: column; overflow: hidden;
    width: min(412px, calc(100vw - 40px)); height: min(700px, calc(100vh - 40px)); height: min(700px, calc(100dvh - 40px));
    border: 1px solid var(--line); border-radius: var(--radius); background: var(--bg);
    box-shadow: 0 4px 12px rgb(10 15 40 / .1), 0 24px 64px rgb(10 15 40 / .26); animation: rise .22s cubic-bezier(.2, .8, .2, 1);
  }
  @keyframes rise { from { opacity: 0; transform: translateY(14px) scale(.985); } }
  header { display: flex; align-items: center; gap: 6px; padding: 12px 12px 12px 16px; border-bottom: 1px solid var(--line); }
  [dir="rtl"] header { padding: 12px 16px 12px 12px; }
  .mark { display: grid; place-items: center; width: 32px; height: 32px; flex: none; margin-inline-end: 6px; border-radius: 10px; background: var(--accent); color: var(--on-accent); }
  .mark svg { width: 19px; height: 19px; }
  h2 { flex: 1; min-width: 0; overflow: hidden; font-size: 16px; text-overflow: ellipsis; white-space: nowrap; }
  .icon-button { display: grid; place-items: center; width: 34px; height: 34px; flex: none; padding: 0; border: 0; border-radius: 9px; background: none; color: var(--muted); }
  .icon-button:hover { background: var(--soft); color: var(--text); }
  .icon-button[aria-pressed="true"] { background: var(--tint); color: var(--link); }
  .icon-button[aria-pressed="true"] .icon { fill: color-mix(in oklab, currentColor 25%, transparent); }
  .offline:empty { display: none; }
  .offline { padding: 6px 16px; background: light-dark(#fff4d6, #3a2f10); color: light-dark(#6b4a00, #ffdc8a); font-size: 13.5px; text-align: center; }

  .log { flex: 1; overflow-y: auto; overscroll-behavior: contain; padding: 20px 18px; scrollbar-width: thin; scrollbar-color: var(--line) transparent; }
  .log:focus-visible { outline-offset: -3px; }
  .welcome { display: flex; flex-direction: column; gap: 6px; color: var(--muted); }
  .hello { color: var(--text); font-size: 23px; font-weight: 680; line-height: 1.25; letter-spacing: -.01em; }
  .welcome .chips { margin-top: 16px; }
  .chips { display: flex; flex-direction: column; align-items: flex-start; gap: 8px; }
  .chip {
    max-width: 100%; min-height: 36px; padding: 7px 14px; border: 1px solid var(--line); border-radius: 18px; background: var(--bg); color: var(--text);
    font-size: 14px; line-height: 1.4; text-align: start; transition: border-color .12s, background .12s;
  }
  .chip:hover { border-color: var(--link); background: var(--tint); }
  .turns, .turn, .answer { display: flex; flex-direction: column; }
  .turns { gap: 28px; }
  .turn { gap: 14px; }
  .answer { gap: 14px; min-width: 0; }
  .question { align-self: flex-end; max-width: 86%; padding: 9px 15px; border-radius: 18px 18px 5px 18px; background: var(--accent); color: var(--on-accent); white-space: pre-wrap; overflow-wrap: anywhere; }
  [dir="rtl"] .question { border-radius: 18px 18px 18px 5px; }
  .status { display: flex; align-items: flex-start; gap: 9px; color: var(--muted); font-size: 14px; overflow-wrap: anywhere; }
  .status > :last-child { display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 3; }
  .spinner { width: 14px; height: 14px; flex: none; margin-top: 4px; border: 2px solid var(--line); border-top-color: var(--link); border-radius: 50%; animation: turn .8s linear infinite; }
  @keyframes turn { to { transform: rotate(1turn); } }

  .body { position: relative; display: flow-root; overflow-wrap: anywhere; }
  .body > * + * { margin-top: 10px; }
  .body > h3, .body > h4, .body > h5, .body > h6 { margin-top: 16px; line-height: 1.35; }
  .body > h3 { font-size: 17px; }
  .body > :first-child { margin-top: 0; }
  .body ul, .body ol { padding-inline-start: 22px; }
  .body li + li, .body li > ul, .body li > ol, .body li > p { margin-top: 4px; }
  .body li::marker { color: var(--muted); }
  code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
  code { padding: 1px 5px; border-radius: 5px; background: var(--soft); }
  pre { overflow-x: auto; padding: 11px 14px; border-radius: 10px; background: var(--soft); line-height: 1.5; }
  pre code { padding: 0; background: none; overflow-wrap: normal; }
  blockquote { padding-inline-start: 12px; border-inline-start: 3px solid var(--line); color: var(--muted); }
  hr { border: 0; border-top: 1px solid var(--line); }
  .table { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 14px; }
  th, td { padding: 6px 11px; border: 1px solid var(--line); text-align: start; vertical-align: top; overflow-wrap: normal; }
  th { background: var(--soft); font-weight: 620; }

  .marker {
    display: inline-grid; place-items: center; min-width: 24px; height: 24px; padding: 0 5px; border: 0; border-radius: 8px; background: var(--tint); color: var(--link);
    font-size: 12px; font-weight: 650; line-height: 1; font-variant-numeric: tabular-nums; vertical-align: middle;
  }
  .cite { margin-inline: 2px; }
  .cite .marker { margin-block: -2px; vertical-align: 1px; }
  button.marker:hover, .marker[aria-expanded="true"] { background: var(--link); color: var(--bg); }
  .doubtful .marker { background: none; box-shadow: inset 0 0 0 1px currentColor; color: var(--muted); }
  .card { position: absolute; inset-inline: 0; z-index: 1; display: block; padding-top: 5px; white-space: normal; text-align: start; animation: appear .14s .06s backwards; }
  @keyframes appear { from { opacity: 0; transform: translateY(-3px); } }
  .card-box { display: flex; flex-direction: column; gap: 7px; padding: 13px 15px; border: 1px solid var(--line); border-radius: 13px; background: var(--bg); box-shadow: 0 12px 36px rgb(10 15 40 / .2); font-size: 14px; font-weight: 400; font-style: normal; line-height: 1.5; }
  .card-box strong { font-weight: 650; }
  .card-box q { display: block; max-height: 150px; overflow-y: auto; padding-inline-start: 11px; border-inline-start: 3px solid var(--link); color: var(--muted); quotes: none; }
  .card-box .open { align-self: flex-start; padding-block: 2px; font-weight: 600; }
  .doubt { color: light-dark(#8a5200, #ffc870); }

  .sources { display: flex; flex-direction: column; gap: 6px; }
  .answer h3 { font-size: 15px; }
  .sources h3, .chips h3 { color: var(--muted); font-size: 13px; font-weight: 600; }
  .sources ul { display: flex; flex-direction: column; gap: 5px; list-style: none; }
  .source { display: flex; align-items: center; gap: 9px; min-height: 28px; color: var(--text); font-size: 14px; line-height: 1.35; text-decoration: none; }
  a.source:hover .name { color: var(--link); text-decoration: underline; }
  .source .marker { flex: none; }
  .notice { display: grid; grid-template-columns: auto 1fr; gap: 4px 10px; padding: 12px 14px; border: 1px solid var(--line); border-radius: 13px; background: var(--soft); font-size: 14px; line-height: 1.45; }
  .notice > .icon { margin-top: 1px; color: var(--muted); }
  .notice.warning { border-color: light-dark(#f0d9a8, #57451c); background: light-dark(#fff8e8, #29220f); }
  .notice.warning > .icon { color: light-dark(#8a5200, #ffc870); }
  .notice .buttons { grid-column: 2; display: flex; flex-wrap: wrap; gap: 8px; margin-top: 6px; }
  .turn:not(:last-child) :is(.only-last, .answer > .chips) { display: none; }
  .chips:empty { display: none; }
  .actions { display: flex; align-items: center; gap: 2px; margin-inline-start: -8px; }
  .said { margin-inline-start: 6px; color: var(--muted); font-size: 13px; }
  .comment { display: flex; flex-direction: column; align-items: flex-start; gap: 8px; margin-top: 8px; scroll-margin: 20px; }
  .comment textarea { width: 100%; padding: 9px 12px; border: 1px solid var(--line); border-radius: 11px; background: var(--bg); font-size: 14px; resize: none; }

  .composer { display: flex; align-items: flex-end; gap: 6px; margin: 0 14px 14px; margin-bottom: max(14px, env(safe-area-inset-bottom, 0px)); padding: 5px; border: 1px solid color-mix(in oklab, var(--muted) 75%, var(--bg)); border-radius: 17px; background: var(--bg); }
  .composer textarea { flex: 1; min-width: 0; max-height: 140px; padding: 7px 10px; border: 0; background: none; font-size: 16px; line-height: 1.4; resize: none; field-sizing: content; outline: none; }
  .composer:focus-within, .comment textarea:focus { border-color: var(--link); outline: 1px solid var(--link); }
  textarea::placeholder, input::placeholder { color: var(--muted); opacity: 1; }
  .send { display: grid; place-items: center; width: 36px; height: 36px; flex: none; padding: 0; border: 0; border-radius: 12px; background: var(--accent); color: var(--on-accent); }
  .send:hover { filter: brightness(1.1); }
  .icon-stop { fill: currentColor; }

  @media (max-width: 640px) {
    .panel { inset: 0; width: 100%; height: 100vh; height: 100dvh; border: 0; border-radius: 0; }
    .icon-button { width: 40px; height: 40px; }
  }
  @media (forced-colors: active) { .send, .marker, .question { border: 1px solid; } }`;

export const SEARCH_CSS = `${SHARED_CSS}
  form { display: flex; align-items: center; gap: 10px; padding: 6px 6px 6px 16px; border: 1px solid color-mix(in oklab, var(--muted) 75%, var(--bg)); border-radius: 15px; background: var(--bg); }
  [dir="rtl"] form { padding: 6px 16px 6px 6px; }
  form > .icon { color: var(--muted); }
  form:focus-within { border-color: var(--link); outline: 1px solid var(--link); }
  input { flex: 1; min-width: 0; padding: 6px 0; border: 0; background: none; font-size: 16px; outline: none; }
  .go { min-height: 38px; padding: 0 18px; border: 0; border-radius: 11px; background: var(--accent); color: var(--on-accent); font-weight: 600; }
  .go:hover { filter: brightness(1.1); }
  .status { min-height: 1.5em; margin: 10px 4px 0; color: var(--muted); font-size: 14px; }
  .results { display: flex; flex-direction: column; list-style: none; }
  .results li { display: flex; flex-direction: column; gap: 2px; padding: 14px 4px; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
  .results li:first-child { border-top: 0; padding-top: 6px; }
  .title { align-self: flex-start; font-weight: 620; text-decoration: none; }
  a.title:hover { text-decoration: underline; }
  .section { color: var(--muted); font-size: 13.5px; }
  .results p { font-size: 14.5px; }`;
