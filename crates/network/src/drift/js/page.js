// @ts-check
// The document as it is, whatever the page or other parts of this script put in the place of its functions.
//
// Invariant: what is read through this is not noticed as something that the page reads.

const { apply } = Reflect;
const getter = (proto, name) => Object.getOwnPropertyDescriptor(proto, name).get;

const native = {
  query: Document.prototype.querySelectorAll,
  queryIn: Element.prototype.querySelectorAll,
  get: Element.prototype.getAttribute,
  set: Element.prototype.setAttribute,
  drop: Element.prototype.removeAttribute,
  names: Element.prototype.getAttributeNames,
  matches: Element.prototype.matches,
  closest: Element.prototype.closest,
  insert: Node.prototype.insertBefore,
  remove: Element.prototype.remove,
  replace: Node.prototype.replaceChild,
  clone: Node.prototype.cloneNode,
  create: Document.prototype.createElement,
  contains: Node.prototype.contains,
  text: getter(Node.prototype, "textContent"),
  data: Object.getOwnPropertyDescriptor(CharacterData.prototype, "data"),
  parent: getter(Node.prototype, "parentNode"),
  next: getter(Node.prototype, "nextSibling"),
  nodes: getter(Node.prototype, "childNodes"),
  children: getter(Element.prototype, "children"),
  byId: Document.prototype.getElementById,
  listen: EventTarget.prototype.addEventListener,
};
const later = setTimeout.bind(globalThis);

export const all = (selector, within = null) =>
  Array.from(within ? apply(native.queryIn, within, [selector]) : apply(native.query, document, [selector]));
export const first = (selector) => all(selector)[0] ?? null;
export const attribute = (element, name) => apply(native.get, element, [name]);
export const setAttribute = (element, name, value) => apply(native.set, element, [name, value]);
export const dropAttribute = (element, name) => apply(native.drop, element, [name]);
export const attributes = (element) => apply(native.names, element, []);
export const fits = (element, selector) => apply(native.matches, element, [selector]);
export const around = (element, selector) => apply(native.closest, element, [selector]);
export const insert = (parent, node, before) => apply(native.insert, parent, [node, before]);
export const takeOut = (element) => apply(native.remove, element, []);
export const replace = (node, by) => apply(native.replace, parentOf(node), [by, node]);
export const clone = (element) => apply(native.clone, element, [true]);
export const make = (tag) => apply(native.create, document, [tag]);
export const holds = (outer, inner) => apply(native.contains, outer, [inner]);
export const textOf = (node) => (apply(native.text, node, []) ?? "").replace(/\s+/g, " ").trim();
export const dataOf = (node) => apply(native.data.get, node, []);
export const setData = (node, value) => apply(native.data.set, node, [value]);
export const parentOf = (node) => apply(native.parent, node, []);
export const nextOf = (node) => apply(native.next, node, []);
export const nodesOf = (node) => Array.from(apply(native.nodes, node, []));
export const childrenOf = (element) => Array.from(apply(native.children, element, []));
export const withId = (id) => apply(native.byId, document, [id]);
export const listen = (to, type, handler, options) => apply(native.listen, to, [type, handler, options]);
export const after = (ms, run) => later(run, ms);
export const isElement = (node) => node instanceof Element;

/** Runs once the document is parsed, before the page's own handlers. */
export const whenParsed = (run) => {
  if (document.readyState === "loading") listen(document, "DOMContentLoaded", run, { capture: true, once: true });
  else run();
};

/** Puts another function in the place of one. `make` gets the one before. */
export const wrap = (proto, name, make) => {
  const known = Object.getOwnPropertyDescriptor(proto, name);
  if (known && typeof known.value === "function")
    Object.defineProperty(proto, name, { ...known, value: make(known.value) });
};
/** Puts another getter in the place of one. */
export const wrapGetter = (proto, name, make) => {
  const known = Object.getOwnPropertyDescriptor(proto, name);
  if (known?.get) Object.defineProperty(proto, name, { ...known, get: make(known.get) });
};

/** What loses more than its place when it is moved. */
const FIXED =
  "iframe, object, embed, video, audio, canvas, frame, dialog[open], [contenteditable]:not([contenteditable=false])";
export const isMovable = (element) => {
  if (fits(element, FIXED) || all(FIXED, element).length) return false;
  return ![element, ...all("*", element)].some((one) => one.localName.includes("-"));
};
/** Whether somebody is at work in it. */
export const isInUse = (element) =>
  fits(element, ":active, :focus-within") ||
  (document.activeElement !== document.body && holds(element, document.activeElement));

/** What this script put into the page: nothing in it drifts. */
const OURS = new WeakSet();
export const claim = (element) => {
  OURS.add(element);
  return element;
};
export const isOurs = (node) => {
  for (let at = node; at; at = parentOf(at)) if (OURS.has(at)) return true;
  return false;
};

/** Controls and what names them. */
export const CONTROLS =
  "button, a[href], input, select, textarea, summary, [role=button], [role=link], [role=menuitem], [role=tab], " +
  "[role=checkbox], [role=radio], [role=switch], [role=option]";
