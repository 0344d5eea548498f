// @ts-check
// The accessible structure of a part of the page, as rows in document order: [depth, text] or
// [depth, role, name, marks, properties].
import * as cb from "cuebook:core";
import { attr, tagOf, typeOf, hasAttribute, nodeType, collapse, cut } from "cuebook:core";

const WITHOUT = new Set(["none", "presentation"]);
const CHECKED = new Set(["checkbox", "menuitemcheckbox", "option", "radio", "switch", "menuitemradio", "treeitem"]);
const DISABLED = new Set(
  (
    "application button composite gridcell group input link menuitem scrollbar separator tab checkbox " +
    "columnheader combobox grid listbox menu menubar menuitemcheckbox menuitemradio option radio " +
    "radiogroup row rowheader searchbox select slider spinbutton switch tablist textbox toolbar tree " +
    "treegrid treeitem"
  ).split(" "),
);
const EXPANDED = new Set(
  (
    "application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem " +
    "columnheader menuitemcheckbox menuitemradio switch"
  ).split(" "),
);
const LEVEL = new Set(["heading", "listitem", "row", "treeitem"]);
const SELECTED = new Set(["gridcell", "option", "row", "tab", "rowheader", "columnheader", "treeitem"]);
const FRAMES = new Set(["iframe", "frame"]);

/** The role that a snapshot shows: those that HTML gives to the parts of other things are left out. */
const shownRole = (element, tag) => {
  if (FRAMES.has(tag)) return "iframe";
  const stated = attr(element, "role");
  if (tag === "summary" && !stated) return "";
  const role = cb.roleOf(element);
  return (role === "generic" && !stated) || WITHOUT.has(role) ? "" : role;
};
const marksOf = (element, role) => {
  const states = cb.statesOf(element);
  const marks = [];
  if (CHECKED.has(role) && states.checked === "mixed") marks.push("checked=mixed");
  if (CHECKED.has(role) && states.checked === "true") marks.push("checked");
  if (DISABLED.has(role) && states.disabled) marks.push("disabled");
  if (EXPANDED.has(role) && states.expanded) marks.push("expanded");
  if (LEVEL.has(role) && states.level) marks.push(`level=${states.level}`);
  if (role === "button" && states.pressed === "mixed") marks.push("pressed=mixed");
  if (role === "button" && states.pressed === "true") marks.push("pressed");
  if (SELECTED.has(role) && states.selected) marks.push("selected");
  return marks;
};
const propertiesOf = (element, role, name) => {
  const found = [];
  if (role === "link" && hasAttribute(element, "href")) found.push(["url", cut(attr(element, "href"), 2000)]);
  const placeholder = role === "textbox" ? attr(element, "placeholder") : null;
  if (placeholder !== null && placeholder !== name) found.push(["placeholder", cut(placeholder, 500)]);
  return found;
};

const snapshot = (root, limits) => {
  const top = { children: [] };
  const seen = new Set();
  let left = limits.elements;
  let skipped = 0;
  // An explicit stack of things to do, last first: a hostile page nests deeper than the stack allows.
  const todo = [];
  const enter = (element, node, depth) => {
    if (seen.has(element)) return;
    seen.add(element);
    if (left-- <= 0 || depth > limits.depth) {
      skipped++;
      return;
    }
    const tag = tagOf(element);
    if (cb.isExcluded(element)) return;
    const role = shownRole(element, tag);
    let into = node;
    if (role) {
      const name = collapse(cb.nameOf(element));
      into = { role, name, marks: marksOf(element, role), properties: propertiesOf(element, role, name), children: [] };
      node.children.push(into);
      const value =
        (tag === "input" && !["checkbox", "radio", "file"].includes(typeOf(element))) || tag === "textarea"
          ? cb.controlValue(element)
          : null;
      if (value) into.children.push(cb.isSensitive(element) ? "•••" : cut(value, 2000));
      if (role === "iframe") return;
    }
    const display = cb.styleOf(element).display;
    const apart = (display !== "inline" && display !== "contents") || tag === "br" ? " " : "";
    const text = (part) => {
      if (part) todo.push(() => into.children.push(part));
    };
    // In reverse: the last is done first.
    text(apart);
    text(cb.generatedText(element, "::after"));
    const owned = hasAttribute(element, "aria-owns") ? cb.referenced(element, "aria-owns") : [];
    const folded = tag === "details" && !hasAttribute(element, "open");
    const children = [...cb.childrenOf(element), ...owned].filter((child) => !folded || nodeType(child) === 1);
    for (let i = children.length - 1; i >= 0; i--) {
      const child = children[i];
      const kind = nodeType(child);
      if (kind === 1) todo.push(() => enter(child, into, depth + 1));
      else if (kind === 3 && into.role !== "textbox") text(cut(cb.characterData(child), 20000));
    }
    text(cb.generatedText(element, "::before"));
    text(apart);
  };
  enter(root, top, 0);
  while (todo.length) todo.pop()();
  const rows = [];
  let budget = limits.characters;
  /** @type {[any, number][]} */
  const open = [[top, 0]];
  const written = (node) => {
    const parts = [];
    let run = "";
    const flush = () => {
      const one = collapse(run);
      if (one) parts.push(one);
      run = "";
    };
    for (const child of node.children) {
      if (typeof child === "string") run += child;
      else {
        flush();
        parts.push(child);
      }
    }
    flush();
    return parts.length === 1 && parts[0] === node.name ? [] : parts;
  };
  while (open.length) {
    const [one, depth] = open.pop();
    if (one !== top) {
      const row = typeof one === "string" ? [depth, one] : [depth, one.role, one.name, one.marks, one.properties];
      budget -= typeof one === "string" ? one.length : one.name.length + 40;
      if (budget < 0) {
        skipped++;
        continue;
      }
      rows.push(row);
      if (typeof one === "string") continue;
    }
    const parts = written(one);
    for (let i = parts.length - 1; i >= 0; i--) open.push([parts[i], one === top ? 0 : depth + 1]);
  }
  return { rows, skipped };
};
/** The largest part of the page around an element that has at most so many elements. */
const partAround = (element, limit) => {
  let part = element;
  for (let up = element; up && cb.queryAll(up, "*").length < limit; up = cb.composedParentOf(up)) part = up;
  return part;
};
/** The part around the element of this number, or the whole document for 0. */
const rootOf = (id, limits) => {
  const element = id ? cb.byId(id) : null;
  return element ? partAround(element, limits.elements) : (cb.bodyElement() ?? cb.rootElement());
};
const NOTHING = { rows: [], skipped: 0 };
/** @type {{ root: Element, tree: object } | null} */
let kept = null;
/** What the wire may ask. */
export const aria = {
  /** Keeps what is around an element, for `around` to compare with. */
  keep: (id, limits) => {
    kept = null;
    const root = rootOf(id, limits);
    if (root) kept = { root, tree: cb.once(() => snapshot(root, limits)) };
  },
  /** What is there now, and what was kept of the same part; the part around an element, if nothing was kept. */
  around: (id, limits) =>
    JSON.stringify(
      cb.once(() => {
        const same = kept && cb.isConnected(kept.root) ? kept : null;
        const root = same?.root ?? rootOf(id, limits);
        return { before: same?.tree ?? null, after: root ? snapshot(root, limits) : NOTHING };
      }),
    ),
  /** Of the element of this number; of the whole document for 0. */
  snapshot: (id, limits) =>
    JSON.stringify(
      cb.once(() => {
        const root = id ? cb.byId(id) : (cb.bodyElement() ?? cb.rootElement());
        return root ? snapshot(root, limits) : NOTHING;
      }),
    ),
};
