/**
 * Renders the Markdown that models write, as DOM nodes. What it does not know stays text: there is no raw HTML, no
 * image is loaded, and links go only where `safeUrl` allows. Work is bounded for any input.
 */
import { h, link } from "./dom.js";

const MAX_TEXT = 60_000;
const MAX_INLINE = 8_000; // a paragraph longer than this is no prose, and is shown as plain text
const MAX_DEPTH = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6}) +(.+)$/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)(?:[-*+]|(\d{1,9})[.)])(?: +|$)/;
const TABLE_RULE = /^[\s:|-]+$/;
const SPECIAL = /\\[!-/:-@[-`{-~]|`+|!?\[|\*+|_+|~~|<?(?:https?:\/\/|mailto:)[^\s<>]+>?| {2,}\n/g;
const CITATION = /\[(\d{1,3}(?: ?, ?\d{1,3})*)\](?!\()/y;
const TARGET = /\( *<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?: +"[^"]*")? *\)/y;

/**
 * A renderer that keeps the blocks that did not change since the last call, so that a long answer streams smoothly.
 * @param {HTMLElement} container
 * @param {(n: number) => Node|null} cite what to show for the citation `[n]`; null leaves it as text
 * @returns {(text: string) => void}
 */
export function createRenderer(container, cite) {
  let shown = [];
  return (text) => {
    const cut = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)} …` : text;
    const next = [...blocks(cut.split(/\r?\n/))];
    const keys = next.map(({ kind, lines }) => `${kind}\n${lines.join("\n")}`);
    let same = 0;
    while (same < keys.length && keys[same] === shown[same]) same += 1;
    while (container.childNodes.length > same) container.lastChild.remove();
    container.append(...next.slice(same).map((block) => build(block, cite, 0)));
    shown = keys;
  };
}

/** Splits lines into blocks: {kind, lines}. */
function* blocks(lines) {
  for (let start = 0, end; start < lines.length; start = end) {
    const line = lines[start];
    end = start + 1;
    const take = (more) => {
      while (end < lines.length && more(lines[end], end)) end += 1;
      return lines.slice(start, end);
    };
    if (!line.trim()) continue;
    const fence = FENCE.exec(line)?.[1];
    if (fence) {
      const body = take((next) => !(next.trim().startsWith(fence) && !next.trim().replaceAll(fence[0], ""))).slice(1);
      end += 1;
      yield { kind: "code", lines: body };
    } else if (HEADING.test(line)) yield { kind: "heading", lines: [line] };
    else if (RULE.test(line)) yield { kind: "rule", lines: [line] };
    else if (QUOTE.test(line)) yield { kind: "quote", lines: take((next) => QUOTE.test(next)) };
    else if (ITEM.test(line)) yield { kind: "list", lines: take((next, at) => continuesList(line, next, lines[at + 1])) };
    else if (isTable(line, lines[end])) yield { kind: "table", lines: take((next) => next.includes("|")) };
    else yield { kind: "paragraph", lines: take((next, at) => !startsBlock(next, lines[at + 1])) };
  }
}

function isTable(line, next) {
  return line.includes("|") && next !== undefined && next.includes("-") && next.includes("|") && TABLE_RULE.test(next);
}

function startsBlock(line, next) {
  return !line.trim() || [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line)) || isTable(line, next);
}

/** A list goes on with its items, with indented lines, and over one blank line if one of those follows. */
function continuesList(first, line, next) {
  const belongs = (text) => text !== undefined && (/^ {2,}\S/.test(text) || sameKind(first, text));
  return line.trim() ? belongs(line) || !startsBlock(line) : belongs(next);
}

function sameKind(first, line) {
  const [a, b] = [ITEM.exec(first), ITEM.exec(line)];
  return Boolean(b) && !RULE.test(line) && (a[2] === undefined) === (b[2] === undefined);
}

function build({ kind, lines }, cite, depth) {
  const text = (source) => inline(source, cite, 0);
  if (depth > MAX_DEPTH) return h("p", { dir: "auto" }, lines.join("\n"));
  switch (kind) {
    case "code":
      return h("pre", { dir: "ltr", tabindex: "0" }, h("code", {}, lines.join("\n")));
    case "rule":
      return h("hr");
    case "heading": {
      const [, marks, title] = HEADING.exec(lines[0]);
      return h(`h${Math.min(marks.length + 2, 6)}`, { dir: "auto" }, ...text(title.trimEnd()));
    }
    case "quote": {
      const inner = blocks(lines.map((line) => line.replace(QUOTE, "")));
      return h("blockquote", { dir: "auto" }, ...[...inner].map((block) => build(block, cite, depth + 1)));
    }
    case "list":
      return list(lines, cite, depth);
    case "table":
      return table(lines, text);
    default:
      return h("p", { dir: "auto" }, ...text(lines.map((line) => line.trimStart()).join("\n")));
  }
}

function list(lines, cite, depth) {
  const [, margin, number] = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= margin.length + 1) items.push({ indent: item[0].length, lines: [line.slice(item[0].length)] });
    else items.at(-1).lines.push(line.slice(Math.min(items.at(-1).indent, line.search(/\S|$/))));
  }
  const elements = items.map((item) => {
    const [first, ...rest] = [...blocks(item.lines)];
    if (!first) return h("li");
    const head = first.kind === "paragraph" ? inline(first.lines.join("\n"), cite, 0) : [build(first, cite, depth + 1)];
    return h("li", {}, ...head, ...rest.map((block) => build(block, cite, depth + 1)));
  });
  return number === undefined ? h("ul", { dir: "auto" }, ...elements) : h("ol", { dir: "auto", start: Number(number) }, ...elements);
}

function table(lines, text) {
  const cells = (line) => line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/);
  const row = (line, tag) => h("tr", {}, ...cells(line).map((cell) => h(tag, {}, ...text(cell.trim()))));
  const [head, , ...body] = lines;
  const rows = body.map((line) => row(line, "td"));
  return h("div", { class: "table", tabindex: "0" }, h("table", { dir: "auto" }, h("thead", {}, row(head, "th")), h("tbody", {}, ...rows)));
}

/** Parses the inside of a block into nodes and strings. */
function inline(source, cite, depth) {
  if (source.length > MAX_INLINE || depth > MAX_DEPTH) return [source];
  const out = [];
  const special = new RegExp(SPECIAL);
  const unclosed = new Set(); // markers that have no partner further on: looked for once
  let done = 0;
  for (let match; (match = special.exec(source)); ) {
    const node = token(match[0], match.index, special.lastIndex);
    if (!node) continue;
    out.push(source.slice(done, match.index), ...node.nodes);
    special.lastIndex = done = node.end;
  }
  return [...out, source.slice(done)];

  function token(mark, start, after) {
    if (mark[0] === "\\") return { nodes: [mark[1]], end: after };
    if (mark[0] === " ") return { nodes: [h("br")], end: after };
    if (mark[0] === "`") return codeSpan(mark, after);
    if (mark.endsWith("[")) return bracket(mark, start, after);
    if (/^<?(http|mailto)/.test(mark)) return bareUrl(mark, start);
    return emphasis(mark, start, after);
  }

  function codeSpan(mark, after) {
    const end = closing(mark, after);
    return end < 0 ? null : { nodes: [h("code", {}, source.slice(after, end).trim())], end: end + mark.length };
  }

  /** Where the next run of exactly `mark` starts. */
  function closing(mark, from) {
    if (unclosed.has(mark)) return -1;
    for (let at = source.indexOf(mark, from); at >= 0; ) {
      let end = at + mark.length;
      while (source[end] === mark[0]) end += 1;
      if (end === at + mark.length && source[at - 1] !== "\\") return at;
      at = source.indexOf(mark, end);
    }
    unclosed.add(mark);
    return -1;
  }

  function emphasis(mark, start, after) {
    const tags = { 1: ["em"], 2: ["strong"], 3: ["strong", "em"] }[mark.length];
    const word = /[\p{L}\p{N}]/u;
    if (!tags || /^\s?$/.test(source[after] ?? "") || (mark[0] === "_" && word.test(source[start - 1] ?? ""))) return null;
    const end = closing(mark, after);
    if (end < 0 || /\s/.test(source[end - 1]) || (mark[0] === "_" && word.test(source[end + mark.length] ?? ""))) return null;
    const inner = inline(source.slice(after, end), cite, depth + 1);
    const wrap = (nodes, tag) => [h(tag, {}, ...nodes)];
    return { nodes: (mark === "~~" ? ["del"] : tags).reduceRight(wrap, inner), end: end + mark.length };
  }

  /** A citation `[1]`, a link `[text](target)`, or an image, of which only the description is shown. */
  function bracket(mark, start, after) {
    CITATION.lastIndex = start;
    const cited = CITATION.exec(source);
    if (cited) {
      const nodes = cited[1].split(",").map((n) => cite(Number(n)));
      return nodes.includes(null) ? null : { nodes, end: CITATION.lastIndex };
    }
    let open = 1;
    let end = after;
    for (; end < Math.min(source.length, after + 1000) && open; end += 1) {
      if (source[end] === "[") open += 1;
      else if (source[end] === "]") open -= 1;
    }
    TARGET.lastIndex = end;
    const target = open ? null : TARGET.exec(source);
    if (!target) return null;
    const close = TARGET.lastIndex; // now: the label may hold links of its own
    const label = source.slice(after, end - 1);
    const nodes = mark === "![" ? [label] : [link(target[1], {}, ...inline(label, () => null, depth + 1))];
    return { nodes, end: close };
  }

  function bareUrl(mark, start) {
    const bracketed = mark[0] === "<";
    let url = mark.slice(bracketed ? 1 : 0, bracketed && mark.endsWith(">") ? -1 : undefined);
    if (!bracketed) {
      url = url.replace(/>$/, "").replace(/[.,;:!?'"*_\]]{1,9}$/, "");
      if (url.endsWith(")") && !url.includes("(")) url = url.slice(0, -1);
    }
    return { nodes: [link(url, {}, url)], end: bracketed ? start + mark.length : start + url.length };
  }
}
