// @ts-check
// The page's text as a person reads it: lines in reading order, in which what can be acted on stands by its number.
//
// What stands side by side is one line: the cells of a row, a term and what it says, a label and its price. What nobody
// sees is not read: hidden, clipped away, faded out, in the colour of its ground.
import * as cb from "cuebook:core";
import { collapse, cut, isElement, lookOf, roleOf, tagOf } from "cuebook:core";
import { topModal, touches } from "./cover.js";

const SKIPPED = new Set(
  "script style template noscript head select option datalist textarea input iframe frame object embed".split(" "),
);
const LINE = 2000;
const DEEP = 1000;
const INLINE = /^(?:inline|contents|ruby)/;
const joined = (a, b) => {
  const x = Math.min(a.x, b.x);
  const y = Math.min(a.y, b.y);
  const right = Math.max(a.x + a.width, b.x + b.width);
  const bottom = Math.max(a.y + a.height, b.y + b.height);
  return { x, y, width: right - x, height: bottom - y };
};
/** The box of a line, which is measured only once a text or a picture stands in it or beside it. */
const boxOf = (line) => {
  for (const element of line.unmeasured) line.box = grown(line.box, cb.boxOf(element));
  line.unmeasured = [];
  return line.box;
};
/** A control that is used through its label has no box. */
const grown = (box, other) => (other.width > 0 && other.height > 0 ? (box ? joined(box, other) : other) : box);
/** Whether a person reads on from `a` to `b` without going down. */
const isBeside = (a, b) => {
  const shared = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  const [low, high] = a.height < b.height ? [a.height, b.height] : [b.height, a.height];
  return b.x >= a.x + a.width - 1 && shared >= low / 2 && high <= 3 * low;
};
const isRow = (element, tag) => tag === "tr" || roleOf(element) === "row";
const isCell = (element, tag) =>
  tag === "td" || tag === "th" || /^(?:cell|gridcell|columnheader|rowheader)$/.test(roleOf(element));
const isLaidOut = (row) => cb.queryAll(row, "table,[role=table],[role=grid],h1,h2,h3").length > 0;
/** The nearest box around a text. */
const boxed = (element) => {
  let up = element;
  while (up && lookOf(up).display === "contents") up = cb.parentOf(up);
  return up;
};

/** Whether all of an element's content lies in its box, and that is not near. */
const isFar = (element, near) => {
  const box = cb.boxOf(element);
  if (!near || box.width <= 2 || box.height <= 2 || touches(box, near)) return false;
  return cb.scrollHeight(element) <= box.height + 2;
};
/** The words of a picture that a person sees; empty if it has none. */
const pictured = (element, tag) => {
  if (tag !== "img" && tag !== "svg" && roleOf(element) !== "img") return "";
  return cb.isShown(element) ? cut(collapse(cb.nameOf(element)), 300) : "";
};
const lengthOf = (part) => (typeof part === "string" ? part.length : (part.image ?? "").length + 5);

/** Gathers lines, at most so many characters of them. */
class Lines {
  constructor(near, limit) {
    this.near = near;
    this.left = limit;
    this.found = [];
    this.beyond = 0;
    this.line = null;
    /** The block that the line's last part stands in. */
    this.block = null;
    /** Lines that wait for the next thing to act on. */
    this.waiting = [];
    /** Items of which a line was begun. */
    this.items = new Set();
  }
  /** Begins the next cell of the line. */
  cell() {
    if (this.line?.cells.at(-1).length) this.line.cells.push([]);
  }
  /** A line without content. Of an item, the first one is called so. */
  begun({ kind, level, isBehind, item, isTerm }) {
    const isLater = kind === "item" && this.items.has(item);
    if (kind === "item") this.items.add(item);
    return {
      kind: isLater ? "text" : kind, level, isBehind, isTerm, cells: [[]], box: null, unmeasured: [], next: 0, more: 0,
      length: 0,
    };
  }
  /** Adds a text, a picture or a thing to act on, which is in this box or is this element. */
  put(part, place, context) {
    const isOffered = part.id !== undefined;
    if (this.line && context.block !== this.block) {
      const isTold = context.tells && this.line.isTerm;
      const isNear = () => !boxOf(this.line) || isBeside(this.line.box, isOffered ? cb.boxOf(place) : place);
      if (context.row || isTold || isNear()) this.cell();
      else this.end();
    }
    this.block = context.block;
    this.line ??= this.begun(context);
    const line = this.line;
    if (isOffered) line.unmeasured.push(place);
    else line.box = grown(line.box, place);
    const parts = line.cells.at(-1);
    if (typeof part !== "string") parts.push(part);
    else {
      const kept = cut(part, Math.max(0, LINE - line.length));
      line.length += kept.length;
      line.more += part.length - kept.length;
      if (typeof parts.at(-1) === "string") parts[parts.length - 1] += kept;
      else parts.push(kept);
    }
    if (!isOffered) return;
    line.next ||= part.id;
    for (const one of this.waiting) one.next = part.id;
    this.waiting = [];
  }
  space(context) {
    const parts = context.block === this.block ? this.line?.cells.at(-1) : null;
    if (typeof parts?.at(-1) === "string") parts[parts.length - 1] += " ";
  }
  end() {
    const line = this.line;
    this.line = null;
    this.block = null;
    if (!line || !line.cells.flat().some((part) => typeof part === "string" || part.image)) return;
    if (!boxOf(line) || (this.near && !touches(line.box, this.near))) return;
    line.cells = line.cells
      .map((parts) => parts.map((part) => (typeof part === "string" ? collapse(part) : part)).filter((part) => part))
      .filter((parts) => parts.length);
    const all = line.cells.flat();
    if (!all.some((part) => typeof part === "string" || part.image)) return;
    const length = all.reduce((sum, part) => sum + lengthOf(part), 0);
    if (length > this.left) {
      this.beyond++;
      this.left = 0;
      return;
    }
    this.left -= length;
    this.found.push(line);
    if (!line.next) this.waiting.push(line);
  }
}

/**
 * @param {{ near: any, limit: number, offered: [number, string][] }} options what is near enough to be read, in the
 *   frame's own coordinates, or null for all of the page; the most characters; what can be acted on: number and name
 */
export const reading = ({ near, limit, offered }) => {
  const lines = new Lines(near, limit);
  const names = new Map(offered.map(([id, name]) => [cb.byId(id), { id, name: cut(name, 120) }]));
  names.delete(null);
  const modal = topModal();
  const legible = new Map();
  const isRead = (element) => {
    let known = legible.get(element);
    if (known === undefined) legible.set(element, (known = cb.isShown(element) && cb.isLegible(element)));
    return known;
  };
  const readText = (node, context) => {
    const text = cb.characterData(node);
    if (!/\S/.test(text)) {
      lines.space(context);
      return;
    }
    const holder = boxed(context.element);
    if (!holder || context.names.includes(collapse(text)) || !isRead(holder)) return;
    const range = cb.newRange(document);
    range.selectNode(node);
    const { x, y, width, height } = range.getBoundingClientRect();
    if (width > 0 && height > 0) lines.put(text, { x, y, width, height }, context);
  };
  const root = cb.bodyElement() ?? cb.rootElement();
  /** @type {any} */
  const first = { element: root, kind: "text", level: 0, row: null, block: null, names: "", isBehind: !!modal };
  /** @type {any[]} */
  const stack = root ? [{ node: root, context: first, depth: 0 }] : [];
  while (stack.length) {
    const { node, context, depth } = stack.pop();
    if (!node) {
      lines.end();
      continue;
    }
    if (!isElement(node)) {
      if (cb.nodeType(node) === 3) readText(node, context);
      continue;
    }
    const tag = tagOf(node);
    const own = names.get(node);
    const { display } = lookOf(node);
    if (depth > DEEP || display === "none" || (SKIPPED.has(tag) && !own)) continue;
    // A line is read whole or not at all: of half a secret nobody would know that it is one.
    if (!INLINE.test(display) && isFar(node, near)) continue;
    if (tag === "br") {
      if (context.row) lines.space(context);
      else lines.end();
      continue;
    }
    const inside = { ...context, element: node };
    if (node === modal) inside.isBehind = false;
    const isBlock = !INLINE.test(display) || tag === "text";
    const isOwnCell = context.row && (context.row === context.element || isCell(node, tag));
    if (context.row ? isOwnCell : isBlock) inside.block = node;
    else if (isBlock) lines.space(context);
    const role = roleOf(node);
    if (!context.row) {
      if (role === "heading") {
        inside.kind = "heading";
        inside.level = cb.statesOf(node).level ?? 2;
      } else if (role === "listitem") {
        inside.kind = "item";
        inside.item = node;
      } else if (isRow(node, tag) && !isLaidOut(node)) {
        inside.kind = "row";
        inside.row = node;
      }
    }
    if (tag === "dt" || tag === "dd") {
      inside.isTerm = tag === "dt";
      inside.tells = tag === "dd";
    }
    const stands = inside.kind !== context.kind;
    if (stands || tag === "p") lines.end();
    // A label is what its control is called.
    const called = own ?? (tag === "label" ? names.get(cb.control(node)) : undefined);
    if (called) inside.names += ` ${called.name}`;
    if (own) lines.put({ id: own.id }, node, inside);
    const picture = own ? "" : pictured(node, tag);
    if (picture && !context.names.includes(picture)) lines.put({ image: picture }, cb.boxOf(node), inside);
    if (picture || SKIPPED.has(tag) || cb.isEditingHost(node)) continue;
    if (stands) stack.push({ node: null });
    const all = cb.childrenOf(node);
    const isFolded = tag === "details" && !cb.hasAttribute(node, "open");
    const children = isFolded ? all.filter((child) => isElement(child) && tagOf(child) === "summary") : all;
    for (let i = children.length - 1; i >= 0; i--) stack.push({ node: children[i], context: inside, depth: depth + 1 });
  }
  lines.end();
  const secrets = [...cb.secretFields(), ...Array.from(names.keys()).filter((element) => cb.isSensitive(element))];
  return {
    lines: lines.found.map(({ kind, level, isBehind, cells, box, next, more }) => ({
      kind, level, isBehind, cells, box, next, more,
    })),
    beyond: lines.beyond,
    secrets: secrets.map((field) => cut(cb.valueOf(field) ?? "", 2000)).filter((text) => text),
  };
};
