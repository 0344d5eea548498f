// @ts-check
// Elements, their numbers, and the trees that they stand in.
//
// A form answers `form.parentNode` with its input of that name, in isolated worlds too, and so does the
// document. So nothing here reads a property of a node but through the prototype that defines it.
const getters = new Map();
/**
 * Reads a property through the prototype that defines it.
 * @template {object} P
 * @template {keyof P & string} K
 * @param {P} prototype
 * @param {K} name
 * @returns {(object: object) => P[K]}
 */
export const getter = (prototype, name) => {
  let known = getters.get(prototype);
  if (!known) getters.set(prototype, (known = new Map()));
  let read = known.get(name);
  if (!read) {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    known.set(name, (read = (object) => get.call(object)));
  }
  return read;
};
/**
 * Calls a method through the prototype that defines it.
 * @template {object} P
 * @template {keyof P & string} K
 * @param {P} prototype
 * @param {K} name
 * @returns {P[K] extends (...given: infer A) => infer R ? (object: object, ...given: A) => R : never}
 */
export const method = (prototype, name) => {
  const value = /** @type {any} */ (prototype[name]);
  const call = (object, first, second, third) => value.call(object, first, second, third);
  return /** @type {any} */ (call);
};
/** @type {(node: object) => any} */
export const parentNode = getter(Node.prototype, "parentNode");
/** @type {(node: object) => any} */
export const firstChild = getter(Node.prototype, "firstChild");
export const childNodes = getter(Node.prototype, "childNodes");
/** @type {(node: object) => any} */
export const nextSibling = getter(Node.prototype, "nextSibling");
/** @type {(node: object) => any} */
export const previousSibling = getter(Node.prototype, "previousSibling");
export const nodeType = getter(Node.prototype, "nodeType");
export const isConnected = getter(Node.prototype, "isConnected");
/** Where `other` stands to `node`, as the flags of `Node`. */
export const position = method(Node.prototype, "compareDocumentPosition");
export const rootNode = method(Node.prototype, "getRootNode");
export const textContent = getter(Node.prototype, "textContent");
const localName = getter(Element.prototype, "localName");
export const namespace = getter(Element.prototype, "namespaceURI");
const openRoot = getter(Element.prototype, "shadowRoot");
const assignedSlot = getter(Element.prototype, "assignedSlot");
const getAttribute = method(Element.prototype, "getAttribute");
export const hasAttribute = method(Element.prototype, "hasAttribute");
export const attributeNames = method(Element.prototype, "getAttributeNames");
export const matches = method(Element.prototype, "matches");
export const closest = method(Element.prototype, "closest");
export const boundingRect = method(Element.prototype, "getBoundingClientRect");
export const clientRects = method(Element.prototype, "getClientRects");
export const checkVisibility = method(Element.prototype, "checkVisibility");
export const characterData = getter(CharacterData.prototype, "data");
const assignedNodes = method(HTMLSlotElement.prototype, "assignedNodes");
export const elementChildren = getter(Element.prototype, "children");
export const scrollWidth = getter(Element.prototype, "scrollWidth");
export const scrollHeight = getter(Element.prototype, "scrollHeight");
const scrollLeft = getter(Element.prototype, "scrollLeft");
const scrollTop = getter(Element.prototype, "scrollTop");
/**
 * How far the content of an element is scrolled, in whole CSS pixels.
 * @param {Element} element
 */
export const scrolledTo = (element) => ({
  x: Math.round(scrollLeft(element)) || 0,
  y: Math.round(scrollTop(element)) || 0,
});
export const clientWidth = getter(Element.prototype, "clientWidth");
export const clientHeight = getter(Element.prototype, "clientHeight");
const shadowHost = getter(ShadowRoot.prototype, "host");
/**
 * The host of a shadow root; null of any other root: the top of a detached tree may be a form.
 * @param {Node} root
 * @returns {Element | null}
 */
export const hostOf = (root) => (nodeType(root) === 11 && "host" in root ? shadowHost(root) : null);
/**
 * What has the focus in a document or a shadow root.
 * @param {Node} root
 * @returns {Element | null}
 */
export const focusedIn = (root) =>
  nodeType(root) === 9 ? focusedInDocument(root) : hostOf(root) ? focusedInShadow(root) : null;
const focusedInDocument = getter(Document.prototype, "activeElement");
const focusedInShadow = getter(ShadowRoot.prototype, "activeElement");
const hitIn = method(ShadowRoot.prototype, "elementFromPoint");
const rootOfDocument = getter(Document.prototype, "documentElement");
const bodyOfDocument = getter(Document.prototype, "body");
const scrollerOfDocument = getter(Document.prototype, "scrollingElement");
export const rootElement = () => rootOfDocument(document);
export const bodyElement = () => bodyOfDocument(document);
export const pageScroller = () => scrollerOfDocument(document) ?? rootElement();
export const newRange = method(Document.prototype, "createRange");
export const XHTML = "http://www.w3.org/1999/xhtml";
export const SVG = "http://www.w3.org/2000/svg";
export const MATHML = "http://www.w3.org/1998/Math/MathML";

/**
 * @param {Node} root
 * @param {string} selector
 * @returns {NodeListOf<Element>}
 */
export const queryAll = (root, selector) => {
  const proto =
    nodeType(root) === 9 ? Document.prototype : nodeType(root) === 11 ? DocumentFragment.prototype : Element.prototype;
  return Reflect.apply(proto.querySelectorAll, root, [selector]);
};
/**
 * @param {Node} root
 * @param {string} id
 * @returns {Element | null}
 */
export const elementByDomId = (root, id) => {
  if (nodeType(root) === 9) return Reflect.apply(Document.prototype.getElementById, root, [id]);
  if (nodeType(root) === 11) return Reflect.apply(DocumentFragment.prototype.getElementById, root, [id]);
  return null;
};
/**
 * @param {Node | null | undefined} node
 * @returns {node is Element}
 */
export const isElement = (node) => !!node && nodeType(node) === 1;
/**
 * The tag in lower case; foreign elements keep theirs.
 * @param {Element} element
 * @returns {string}
 */
export const tagOf = (element) => localName(element);
/**
 * @param {Element} element
 * @param {string} tag
 * @returns {boolean}
 */
export const isHtml = (element, tag) => namespace(element) === XHTML && localName(element) === tag;
/**
 * @param {Element} element
 * @param {string} name
 * @returns {string | null}
 */
export const attr = (element, name) => getAttribute(element, name);
/**
 * `input` types as the browser understands them.
 * @param {Element} element
 * @returns {string}
 */
export const typeOf = (element) =>
  isHtml(element, "input") ? getter(HTMLInputElement.prototype, "type")(element) : "";

// The number of an element stands on its wrapper of this world, which the page never sees. A wrapper
// with a property of its own is kept by the engine as long as the element lives.
const NUMBER = Symbol("cuebook");
const numbered = new Map();
let lastNumber = 0;
const collected = new FinalizationRegistry((id) => numbered.delete(id));
/**
 * @param {Element} element
 * @returns {number}
 */
export const idOf = (element) => {
  let id = element[NUMBER];
  if (id === undefined) {
    id = ++lastNumber;
    Object.defineProperty(element, NUMBER, { value: id });
    numbered.set(id, new WeakRef(element));
    collected.register(element, id);
  }
  return id;
};
/**
 * @param {number} id
 * @returns {Element | null}
 */
export const byId = (id) => numbered.get(id)?.deref() ?? null;

/** Closed shadow roots that the wire handed in. */
const closedRoots = new WeakMap();
export const registerClosedRoot = (root) => {
  if (!(root instanceof ShadowRoot)) return;
  closedRoots.set(shadowHost(root), root);
  noteRoot(root);
};
/** Shadow roots that were found, for the observers of the document. */
const metRoots = new Set();
let prunedAt = 1000;
export const noteRoot = (root) => {
  metRoots.add(root);
  if (metRoots.size > prunedAt) prunedAt = 1000 + notedRoots().size * 2;
};
export const notedRoots = () => {
  for (const root of metRoots) if (!isConnected(root)) metRoots.delete(root);
  return metRoots;
};
/**
 * @param {Element} element
 * @returns {ShadowRoot | null}
 */
export const shadowOf = (element) => openRoot(element) ?? closedRoots.get(element) ?? null;

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

/**
 * The parent element in the flat tree: through slots and hosts.
 * @param {Node} node
 * @returns {Element | null}
 */
export const flatParent = (node) => {
  const parent = parentNode(node);
  if (!parent) return null;
  if (nodeType(parent) === 11) return hostOf(parent);
  if (!isElement(parent)) return null;
  return shadowOf(parent) ? (slotOf(node) ?? parent) : parent;
};
/**
 * The parent element in the composed tree: through hosts only.
 * @param {Node} node
 * @returns {Element | null}
 */
export const composedParent = (node) => {
  const parent = parentNode(node);
  if (!parent) return null;
  if (nodeType(parent) === 11) return hostOf(parent);
  return isElement(parent) ? parent : null;
};
/**
 * The child nodes in the flat tree.
 * @param {Node} node
 * @returns {any[]} elements and texts
 */
export const flatChildren = (node) => {
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
export const parentOf = flatParent;
export const childrenOf = flatChildren;
export const composedParentOf = composedParent;
/**
 * Whether `inner` is `outer` or lies within it, by slots or by hosts.
 * @param {Element} outer
 * @param {Node} inner
 * @returns {boolean}
 */
export const contains = (outer, inner) => {
  for (let node = inner; node; node = composedParent(node)) if (node === outer) return true;
  for (let node = inner; node; node = flatParent(node)) if (node === outer) return true;
  return false;
};

/**
 * Every element of a root in document order, shadow content before light children; `visit` may end it by returning
 * false.
 */
const everyElementIn = (root, visit, depth = 0) => {
  if (depth > 100) return true;
  for (const element of queryAll(root, "*")) {
    if (visit(element) === false) return false;
    const shadow = shadowOf(element);
    if (shadow && everyElementIn(shadow, visit, depth + 1) === false) return false;
  }
  return true;
};
export const everyElement = (visit) => everyElementIn(document, visit);

/**
 * The topmost element at a point of the frame, through shadow roots.
 * @param {number} x
 * @param {number} y
 * @returns {Element | null}
 */
export const elementAt = (x, y) => {
  let hit = Reflect.apply(Document.prototype.elementFromPoint, document, [x, y]);
  for (let depth = 0; hit && depth < 64; depth++) {
    const shadow = shadowOf(hit);
    const inner = shadow ? hitIn(shadow, x, y) : null;
    if (!inner || inner === hit || rootNode(inner) !== shadow) break;
    hit = inner;
  }
  return hit;
};

// What is expensive to compute is kept for the length of one synchronous call, never longer.
export let memo = null;
/**
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
export const once = (work) => {
  if (memo) return work();
  memo = {
    hidden: new Map(),
    ariaHidden: new Map(),
    role: new Map(),
    look: new Map(),
    padding: new Map(),
    clip: new Map(),
    labels: new Map(),
    before: new Map(),
    after: new Map(),
    referenced: new Map(),
    name: new Map(),
    content: new Map(),
    fade: new Map(),
    rect: new Map(),
    extent: null,
    headed: new Map(),
    ranks: new Map(),
    fixed: new Map(),
    labelled: new Map(),
    generators: new Map(),
  };
  try {
    return work();
  } finally {
    memo = null;
  }
};
/**
 * @param {Element} element
 * @returns {CSSStyleDeclaration}
 */
export const styleOf = (element) => {
  let style = styles.get(element);
  if (!style) styles.set(element, (style = getComputedStyle(element)));
  return style;
};
/** A computed style follows its element, so that one of each is enough. */
const styles = new WeakMap();
/** Whether a clip path leaves nothing to be seen. */
const clipPathHides = (style) => {
  if (style.clip === "auto" && style.clipPath === "none") return false;
  if (/^rect\(\s*(?:0|1)(?:px)?,?\s*(?:0|1)(?:px)?,?\s*(?:0|1)(?:px)?,?\s*(?:0|1)(?:px)?\s*\)$/.test(style.clip))
    return true;
  const { clipPath } = style;
  return (
    /^inset\(\s*(?:50|100)%|^circle\(\s*0/.test(clipPath) ||
    /^polygon\(\s*0(?:px|%)?\s+0(?:px|%)?\s*(?:,\s*0(?:px|%)?\s+0(?:px|%)?\s*)*\)/.test(clipPath)
  );
};
/** Caches properties of ancestors that many elements ask for. */
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
  }
  get cursor() {
    return this.#style.cursor;
  }
  get position() {
    return (this.#position ??= this.#style.position);
  }
  get opacity() {
    return Number(this.#style.opacity);
  }
  get clips() {
    const style = this.#style;
    return (this.#clips ??=
      (style.overflowX !== "visible" || style.overflowY !== "visible" || /paint|strict|content/.test(style.contain)) &&
      this.display !== "inline" &&
      this.display !== "contents");
  }
  get scrolls() {
    return (this.#scrolls ??= /auto|scroll/.test(this.#style.overflow));
  }
  get holdsFixed() {
    return (this.#holdsFixed ??=
      this.#style.transform !== "none" || this.#style.filter !== "none" || this.#style.perspective !== "none");
  }
  get clippedAway() {
    return (this.#clippedAway ??= clipPathHides(this.#style));
  }
}
/**
 * @param {Element} element
 * @returns {Look}
 */
export const lookOf = (element) => {
  let look = memo?.look.get(element);
  if (!look) {
    look = new Look(styleOf(element));
    memo?.look.set(element, look);
  }
  return look;
};
/** The bounding box as a plain value. */
export const rectOf = (element) => {
  let rect = memo?.rect.get(element);
  if (!rect) {
    const { x, y, width, height } = boundingRect(element);
    rect = { x, y, width, height };
    memo?.rect.set(element, rect);
  }
  return rect;
};

/** What takes no place where text is drawn, as in `is_invisible` of the language. */
const INVISIBLE = new RegExp(
  "[\\u{ad}\\u{34f}\\u{61c}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}\\u{180b}-\\u{180f}" +
    "\\u{200b}-\\u{200f}\\u{202a}-\\u{202e}\\u{2060}-\\u{206f}" +
    "\\u{3164}\\u{feff}\\u{ffa0}\\u{fff9}-\\u{fffb}\\u{e0000}-\\u{e007f}]",
  "gu",
);
/**
 * White space collapsed and trimmed; what is invisible goes.
 * @param {string} text
 * @returns {string}
 */
export const collapse = (text) =>
  text
    .replace(INVISIBLE, "")
    .replace(/\s+/g, " ")
    .trim();
/**
 * @param {string} text
 * @param {number} limit
 * @returns {string}
 */
export const cut = (text, limit) =>
  (text.length > limit ? text.slice(0, limit).replace(/[\ud800-\udbff]$/, "") : text).toWellFormed();
