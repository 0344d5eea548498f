// Elements, their numbers, and the trees that they stand in.
//
// A form answers `form.parentNode` with its input of that name, in isolated worlds too, and so does the
// document. So nothing here reads a property of a node but through the prototype that defines it.
const getters = new Map();
const getter = (prototype, name) => {
  let known = getters.get(prototype);
  if (!known) getters.set(prototype, known = new Map());
  let read = known.get(name);
  if (!read) {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    known.set(name, read = (object) => get.call(object));
  }
  return read;
};
const method = (prototype, name) => {
  const value = prototype[name];
  return (object, first, second, third) => value.call(object, first, second, third);
};
const parentNode = getter(Node.prototype, "parentNode");
const firstChild = getter(Node.prototype, "firstChild");
const childNodes = getter(Node.prototype, "childNodes");
const nextSibling = getter(Node.prototype, "nextSibling");
const previousSibling = getter(Node.prototype, "previousSibling");
const nodeType = getter(Node.prototype, "nodeType");
const isConnected = getter(Node.prototype, "isConnected");
const rootNode = method(Node.prototype, "getRootNode");
const textContent = getter(Node.prototype, "textContent");
const localName = getter(Element.prototype, "localName");
const namespace = getter(Element.prototype, "namespaceURI");
const openRoot = getter(Element.prototype, "shadowRoot");
const assignedSlot = getter(Element.prototype, "assignedSlot");
const getAttribute = method(Element.prototype, "getAttribute");
const hasAttribute = method(Element.prototype, "hasAttribute");
const attributeNames = method(Element.prototype, "getAttributeNames");
const matches = method(Element.prototype, "matches");
const closest = method(Element.prototype, "closest");
const boundingRect = method(Element.prototype, "getBoundingClientRect");
const clientRects = method(Element.prototype, "getClientRects");
const checkVisibility = method(Element.prototype, "checkVisibility");
const characterData = getter(CharacterData.prototype, "data");
const assignedNodes = method(HTMLSlotElement.prototype, "assignedNodes");
const elementChildren = getter(Element.prototype, "children");
const scrollWidth = getter(Element.prototype, "scrollWidth");
const scrollHeight = getter(Element.prototype, "scrollHeight");
const clientWidth = getter(Element.prototype, "clientWidth");
const clientHeight = getter(Element.prototype, "clientHeight");
const shadowHost = getter(ShadowRoot.prototype, "host");
/** The host of a shadow root; null of any other root: the top of a detached tree may be a form. */
const hostOf = (root) => (nodeType(root) === 11 && "host" in root ? shadowHost(root) : null);
/** What has the focus in a document or a shadow root. */
const focusedIn = (root) => (nodeType(root) === 9 ? focusedInDocument(root) : hostOf(root) ? focusedInShadow(root) : null);
const focusedInDocument = getter(Document.prototype, "activeElement");
const focusedInShadow = getter(ShadowRoot.prototype, "activeElement");
const hitIn = method(ShadowRoot.prototype, "elementFromPoint");
const rootOfDocument = getter(Document.prototype, "documentElement");
const bodyOfDocument = getter(Document.prototype, "body");
const scrollerOfDocument = getter(Document.prototype, "scrollingElement");
const rootElement = () => rootOfDocument(document);
const bodyElement = () => bodyOfDocument(document);
const pageScroller = () => scrollerOfDocument(document) ?? rootElement();
const newRange = method(Document.prototype, "createRange");
const XHTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

const queryAll = (root, selector) => {
  const proto = nodeType(root) === 9 ? Document.prototype
    : nodeType(root) === 11 ? DocumentFragment.prototype : Element.prototype;
  return Reflect.apply(proto.querySelectorAll, root, [selector]);
};
const elementByDomId = (root, id) => {
  if (nodeType(root) === 9) return Reflect.apply(Document.prototype.getElementById, root, [id]);
  if (nodeType(root) === 11) return Reflect.apply(DocumentFragment.prototype.getElementById, root, [id]);
  return null;
};
const isElement = (node) => !!node && nodeType(node) === 1;
/** The tag in lower case; foreign elements keep theirs. */
const tagOf = (element) => localName(element);
const isHtml = (element, tag) => namespace(element) === XHTML && localName(element) === tag;
const attr = (element, name) => getAttribute(element, name);
/** `input` types as the browser understands them. */
const typeOf = (element) => (isHtml(element, "input") ? getter(HTMLInputElement.prototype, "type")(element) : "");

// The number of an element stands on its wrapper of this world, which the page never sees. A wrapper
// with a property of its own is kept by the engine as long as the element lives.
const NUMBER = Symbol("cuebook");
const numbered = new Map();
let lastNumber = 0;
const collected = new FinalizationRegistry((id) => numbered.delete(id));
cb.idOf = (element) => {
  let id = element[NUMBER];
  if (id === undefined) {
    id = ++lastNumber;
    Object.defineProperty(element, NUMBER, { value: id });
    numbered.set(id, new WeakRef(element));
    collected.register(element, id);
  }
  return id;
};
cb.byId = (id) => numbered.get(id)?.deref() ?? null;
cb.isConnected = isConnected;

/** Closed shadow roots that the wire handed in. */
const closedRoots = new WeakMap();
cb.registerClosedRoot = (root) => {
  if (!(root instanceof ShadowRoot)) return;
  closedRoots.set(shadowHost(root), root);
  cb.noteRoot(root);
};
/** Shadow roots that somebody met, for whoever watches the document. */
const metRoots = new Set();
let prunedAt = 1000;
cb.noteRoot = (root) => {
  metRoots.add(root);
  if (metRoots.size > prunedAt) prunedAt = 1000 + cb.notedRoots().size * 2;
};
cb.notedRoots = () => {
  for (const root of metRoots) if (!isConnected(root)) metRoots.delete(root);
  return metRoots;
};
const shadowOf = (element) => openRoot(element) ?? closedRoots.get(element) ?? null;
cb.shadowOf = shadowOf;

const slotOf = (node) => {
  if (isElement(node)) {
    const open = assignedSlot(node);
    if (open) return open;
  }
  const host = parentNode(node);
  const root = isElement(host) ? shadowOf(host) : null;
  if (!root) return null;
  for (const slot of queryAll(root, "slot")) {
    if (assignedNodes(slot).includes(node)) return slot;
  }
  return null;
};

/** The parent element in the flat tree: through slots and hosts. */
const flatParent = (node) => {
  const parent = parentNode(node);
  if (!parent) return null;
  if (nodeType(parent) === 11) return hostOf(parent);
  if (!isElement(parent)) return null;
  return shadowOf(parent) ? slotOf(node) ?? parent : parent;
};
/** The parent element in the composed tree: through hosts only. */
const composedParent = (node) => {
  const parent = parentNode(node);
  if (!parent) return null;
  if (nodeType(parent) === 11) return hostOf(parent);
  return isElement(parent) ? parent : null;
};
/** The child nodes in the flat tree. */
const flatChildren = (node) => {
  const root = isElement(node) ? shadowOf(node) : null;
  if (root) return Array.from(childNodes(root));
  if (isElement(node) && isHtml(node, "slot") && nodeType(rootNode(node)) === 11) {
    const assigned = assignedNodes(node);
    if (assigned.length) return assigned;
  }
  const children = [];
  for (let child = firstChild(node); child; child = nextSibling(child)) children.push(child);
  return children;
};
cb.parentOf = flatParent;
cb.childrenOf = flatChildren;
cb.composedParentOf = composedParent;
/** Whether `inner` is `outer` or lies within it, by slots or by hosts. */
const contains = (outer, inner) => {
  for (let node = inner; node; node = composedParent(node)) if (node === outer) return true;
  for (let node = inner; node; node = flatParent(node)) if (node === outer) return true;
  return false;
};
cb.contains = contains;

/** Every element of a root in document order, shadow content before light children; `visit` may end it by returning false. */
const everyElement = (root, visit, depth = 0) => {
  if (depth > 100) return true;
  for (const element of queryAll(root, "*")) {
    if (visit(element) === false) return false;
    const shadow = shadowOf(element);
    if (shadow && everyElement(shadow, visit, depth + 1) === false) return false;
  }
  return true;
};
cb.everyElement = (visit) => everyElement(document, visit);
/** The roots to search: the document and all shadow roots in it. */
const allRoots = () => {
  const roots = [document];
  everyElement(document, (element) => {
    const shadow = shadowOf(element);
    if (shadow) roots.push(shadow);
  });
  return roots;
};

/** The topmost element at a point of the frame, through shadow roots. */
cb.elementAt = (x, y) => {
  let hit = Reflect.apply(Document.prototype.elementFromPoint, document, [x, y]);
  for (let depth = 0; hit && depth < 64; depth++) {
    const shadow = shadowOf(hit);
    const inner = shadow ? hitIn(shadow, x, y) : null;
    if (!inner || inner === hit || rootNode(inner) !== shadow) break;
    hit = inner;
  }
  return hit;
};

/** While a gesture arrives: what was shown before. Tips and actions that only appear under the pointer say nothing else. */
let arrival = null;

// What is expensive to compute is kept for the length of one synchronous call, never longer.
let memo = null;
cb.once = (work) => {
  if (memo) return work();
  memo = { style: new Map(), hidden: new Map(), ariaHidden: new Map(), role: new Map(), look: new Map(), padding: new Map(), clip: new Map(), labels: new Map(), before: new Map(), after: new Map(), referenced: new Map(), name: new Map(), content: new Map(), fade: new Map(), rect: new Map(), extent: null, headed: new Map(), ranks: new Map(), fixed: new Map(), labelled: new Map(), generators: new Map() };
  try { return work(); } finally { memo = null; }
};
const styleOf = (element) => {
  let style = memo?.style.get(element);
  if (!style) {
    style = getComputedStyle(element);
    memo?.style.set(element, style);
  }
  return style;
};
cb.styleOf = styleOf;
/** What the ancestors of many elements are asked for again and again: each property is read once. */
class Look {
  #style;
  #position;
  #clips;
  #scrolls;
  #holdsFixed;
  #clippedAway;
  constructor(style) {
    this.#style = style;
    this.display = style.display;
    this.cursor = style.cursor;
  }
  get position() { return this.#position ??= this.#style.position; }
  get opacity() { return Number(this.#style.opacity); }
  get clips() {
    const style = this.#style;
    return this.#clips ??= (style.overflowX !== "visible" || style.overflowY !== "visible" || /paint|strict|content/.test(style.contain)) && this.display !== "inline" && this.display !== "contents";
  }
  get scrolls() { return this.#scrolls ??= /auto|scroll/.test(this.#style.overflow); }
  get holdsFixed() { return this.#holdsFixed ??= this.#style.transform !== "none" || this.#style.filter !== "none" || this.#style.perspective !== "none"; }
  get clippedAway() { return this.#clippedAway ??= clipPathHides(this.#style); }
}
const lookOf = (element) => {
  let look = memo?.look.get(element);
  if (!look) {
    look = new Look(styleOf(element));
    memo?.look.set(element, look);
  }
  return look;
};
cb.lookOf = lookOf;
/** The bounding box as a plain value. */
const rectOf = (element) => {
  let rect = memo?.rect.get(element);
  if (!rect) {
    const { x, y, width, height } = boundingRect(element);
    rect = { x, y, width, height };
    memo?.rect.set(element, rect);
  }
  return rect;
};

/** White space collapsed and trimmed; zero-width spaces and soft hyphens go. */
const collapse = (text) => text.replace(/[\u200b\u00ad\ufeff]/g, "").replace(/\s+/g, " ").trim();
cb.collapse = collapse;
const cut = (text, limit) => (text.length > limit ? text.slice(0, limit).replace(/[\ud800-\udbff]$/, "") : text).toWellFormed();
cb.cut = cut;
