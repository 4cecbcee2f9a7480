/** Small helpers that build DOM nodes: text is always text, never markup. */

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  close: "M6 6l12 12M18 6L6 18",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  fresh: "M12 5v14M5 12h14",
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "M5 12.5l4.5 4.5L19 7.5",
  retry: "M19.5 12a7.5 7.5 0 1 1-2.3-5.4M19.5 4v4h-4",
  up: "M7 11v9H4v-9zM7 11l4.2-7.5c1.3 0 2.3 1 2.3 2.3V9.5h4.8a2 2 0 0 1 2 2.4l-1.3 6.5a2 2 0 0 1-2 1.6H7",
  down: "M17 13V4h3v9zM17 13l-4.2 7.5a2.3 2.3 0 0 1-2.3-2.3v-3.7H5.7a2 2 0 0 1-2-2.4L5 5.6A2 2 0 0 1 7 4h10",
  info: "M12 11v5.5M12 7.5v.01M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18z",
  warning: "M12 9v5M12 17v.01M10.3 4.2L2.8 17.4A2 2 0 0 0 4.5 20.4h15a2 2 0 0 0 1.7-3L13.7 4.2a2 2 0 0 0-3.4 0z",
  search: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM15.5 15.5L20 20",
};

/**
 * Builds an element. Functions become event listeners (`onclick`), `true` an empty attribute; `false`, `null` and
 * `undefined` are left out.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child || child === ""));
  return element;
}

/**
 * A decorative icon, hidden from screen readers.
 * @param {keyof ICONS} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: `icon icon-${name}`, "aria-hidden": "true" })) svg.setAttribute(key, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/**
 * A button that shows only an icon.
 * @param {keyof ICONS} name
 * @param {string} label
 * @param {(event: MouseEvent) => void} onclick
 * @returns {HTMLButtonElement}
 */
export function iconButton(name, label, onclick) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick }, icon(name));
}

/**
 * The absolute URL, if following it can do no harm: http, https, mailto, or relative to the page. Otherwise null.
 * @param {string|null|undefined} href
 * @returns {string|null}
 */
export function safeUrl(href) {
  if (!href || !URL.canParse(href, document.baseURI)) return null;
  const url = new URL(href, document.baseURI);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

/**
 * A link, or a plain span where the address is not safe. Pages of this site open here (the conversation is
 * remembered), others in a new tab.
 * @param {string|null|undefined} href
 * @param {Record<string, unknown>} attributes
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function link(href, attributes, ...children) {
  const url = safeUrl(href);
  if (!url) return h("span", attributes, ...children);
  const here = new URL(url).origin === location.origin;
  return h("a", { ...attributes, href: url, ...(here ? {} : { target: "_blank", rel: "noopener noreferrer" }) }, ...children);
}
