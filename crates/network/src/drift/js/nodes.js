// @ts-check
// Elements that are drawn again as new nodes, and rows whose nodes are used for other rows.
//
// Invariant: only elements that nothing of the page holds: no listener in them, no script has looked them up or made them,
// nobody is at work in them. What was entered, chosen and scrolled stays.
import { draw, isHit, strength } from "./draw.js";
import {
  after,
  all,
  around,
  attribute,
  attributes,
  childrenOf,
  clone,
  dataOf,
  dropAttribute,
  fits,
  isElement,
  isInUse,
  isMovable,
  isOurs,
  nodesOf,
  parentOf,
  replace,
  setAttribute,
  setData,
  textOf,
  wrap,
} from "./page.js";

const HELD = new WeakSet();
const hold = (found) => {
  if (isElement(found)) HELD.add(found);
  else if (found && typeof found === "object" && "length" in found)
    for (const one of Array.from(found)) if (isElement(one)) HELD.add(one);
  return found;
};
const HANDLERS = [
  "onclick",
  "onchange",
  "oninput",
  "onsubmit",
  "onkeydown",
  "onkeyup",
  "onmousedown",
  "onmouseup",
  "onfocus",
  "onblur",
  "onmouseover",
  "onpointerdown",
];
const isHeld = (element) =>
  HELD.has(element) || HANDLERS.some((name) => element[name] && attribute(element, name) === null);
const isFree = (element) => {
  for (let at = element; at && at !== document.body && at !== document.documentElement; at = parentOf(at))
    if (isHeld(at)) return false;
  return (
    !all("*", element).some(isHeld) &&
    isMovable(element) &&
    !isInUse(element) &&
    !isOurs(element) &&
    !all("input[type=file], script, style, details", element).length &&
    !fits(element, "script, style, details, input[type=file]")
  );
};

const FIELDS = "input, textarea, select";
const fieldsOf = (element) => [...(fits(element, FIELDS) ? [element] : []), ...all(FIELDS, element)];
const entered = (field) => ({
  value: field.localName === "select" ? null : field.value,
  checked: field.checked,
  chosen: field.localName === "select" ? Array.from(field.options, (option) => option.selected) : null,
});
const enter = (field, { value, checked, chosen }) => {
  if (chosen) Array.from(field.options).forEach((option, index) => (option.selected = chosen[index]));
  else if (field.value !== value) field.value = value;
  if (checked !== undefined && field.checked !== checked) field.checked = checked;
};

const UNITS =
  "main button, main a[href], main input, main select, main label, main li, main tr, main form, main p, nav a, form, tr, li";
const redraw = (time) => {
  for (const element of all(UNITS)) {
    const key = `${element.localName} ${textOf(element).slice(0, 40)} ${attribute(element, "name") ?? ""}`;
    if (!isHit("recycled-nodes", 0.3, "redraw", time, key) || !element.isConnected || !isFree(element)) continue;
    const other = clone(element);
    const values = fieldsOf(element).map(entered);
    const { scrollTop, scrollLeft } = element;
    replace(element, other);
    fieldsOf(other).forEach((field, index) => enter(field, values[index]));
    if (scrollTop || scrollLeft) other.scrollTo(scrollLeft, scrollTop);
  }
};

const shapeOf = (element) =>
  `${element.localName}${nodesOf(element)
    .filter((node) => node.nodeType !== 8)
    .map((node) => (isElement(node) ? shapeOf(node) : "t"))
    .join("")};`;
const swap = (a, b) => {
  const names = new Set([...attributes(a), ...attributes(b)]);
  for (const name of names) {
    const [one, two] = [attribute(a, name), attribute(b, name)];
    if (one === two) continue;
    for (const [element, value] of [
      [a, two],
      [b, one],
    ])
      value === null ? dropAttribute(element, name) : setAttribute(element, name, value);
  }
  const [mine, others] = [a, b].map((element) => nodesOf(element).filter((node) => node.nodeType !== 8));
  mine.forEach((node, index) => {
    const other = others[index];
    if (isElement(node)) return swap(node, other);
    const text = dataOf(node);
    setData(node, dataOf(other));
    setData(other, text);
  });
};
/** Two rows of one list become each other: where each stood, the other is drawn. */
const recycle = (time) => {
  for (const list of all("tbody, main ul")) {
    if (around(list, "[role=listbox], [role=menu], nav")) continue;
    const rows = childrenOf(list).filter((row) => fits(row, "tr, li"));
    if (rows.length < 2 || rows.length > 200) continue;
    const at = Math.floor(draw("recycled-nodes", "row", time, rows.length) * (rows.length - 1));
    const [one, two] = [rows[at], rows[at + 1]];
    if (
      !isHit("recycled-nodes", 0.8, "rows", time, rows.length) ||
      shapeOf(one) !== shapeOf(two) ||
      !isFree(one) ||
      !isFree(two)
    )
      continue;
    const fields = [one, two].map((row) => fieldsOf(row));
    const values = fields.map((of) => of.map(entered));
    swap(one, two);
    fields[0].forEach((field, index) => enter(field, values[1][index]));
    fields[1].forEach((field, index) => enter(field, values[0][index]));
  }
};

export const startNodes = () => {
  if (!strength("recycled-nodes")) return;
  const { apply } = Reflect;
  const holding = (before) =>
    function (...args) {
      return hold(apply(before, this, args));
    };
  for (const proto of [Document.prototype, DocumentFragment.prototype, Element.prototype])
    for (const name of [
      "getElementById",
      "querySelector",
      "querySelectorAll",
      "getElementsByClassName",
      "getElementsByTagName",
      "getElementsByName",
      "closest",
      "createElement",
      "createElementNS",
      "importNode",
      "elementFromPoint",
    ])
      wrap(proto, name, holding);
  wrap(Node.prototype, "cloneNode", holding);
  wrap(
    EventTarget.prototype,
    "addEventListener",
    (before) =>
      function (...args) {
        if (isElement(this)) HELD.add(this);
        return apply(before, this, args);
      },
  );
  wrap(
    MutationObserver.prototype,
    "observe",
    (before) =>
      function (...args) {
        if (isElement(args[0]) && args[0] !== document.body) HELD.add(args[0]);
        return apply(before, this, args);
      },
  );
};
/** Once the document is parsed. */
export const recycleAll = () => {
  if (!strength("recycled-nodes")) return;
  [120, 400, 800, 1300, 1900, 2600, 3500].forEach((ms) => after(ms, () => redraw(ms)));
  [650, 1600, 3000].forEach((ms) => after(ms + draw("recycled-nodes", "time", ms) * 400, () => recycle(ms)));
};
