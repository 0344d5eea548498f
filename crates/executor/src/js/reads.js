// @ts-check
// Guarded reads: a form answers `form.parentNode` with its input of that name, in isolated worlds too. So nothing here
// reads a property of a node but through the prototype that defines it.
/** Reads a property through the prototype that defines it. */
export const getter = (prototype, name) => {
  const { get } = Object.getOwnPropertyDescriptor(prototype, name);
  return (object) => Reflect.apply(get, object, []);
};
/** Calls a method through the prototype that defines it. */
export const method = (prototype, name) => {
  const value = prototype[name];
  return (object, ...args) => Reflect.apply(value, object, args);
};
export const rectOf = method(Element.prototype, "getBoundingClientRect");
export const rectsOf = method(Element.prototype, "getClientRects");
export const attr = method(Element.prototype, "getAttribute");
export const matches = method(Element.prototype, "matches");
export const queryWithin = method(Element.prototype, "querySelectorAll");
export const rootOf = method(Node.prototype, "getRootNode");
export const nodeType = getter(Node.prototype, "nodeType");
export const isConnected = getter(Node.prototype, "isConnected");
export const childNodes = getter(Node.prototype, "childNodes");
export const tagOf = getter(Element.prototype, "localName");
export const selectionStart = getter(HTMLInputElement.prototype, "selectionStart");
export const selectionEnd = getter(HTMLInputElement.prototype, "selectionEnd");
export const controlOf = getter(HTMLLabelElement.prototype, "control");
// A form or image that is called `title` or `body` stands in for the document's own property.
export const activeInDocument = getter(Document.prototype, "activeElement");
export const titleOf = getter(Document.prototype, "title");
export const bodyOf = getter(Document.prototype, "body");
export const rootElement = getter(Document.prototype, "documentElement");
export const readyState = getter(Document.prototype, "readyState");
export const scrollingElement = getter(Document.prototype, "scrollingElement");
export const byDomId = method(Document.prototype, "getElementById");
export const inputType = getter(HTMLInputElement.prototype, "type");
export const inputValue = getter(HTMLInputElement.prototype, "value");
export const areaValue = getter(HTMLTextAreaElement.prototype, "value");
export const newRange = method(Document.prototype, "createRange");
export const dispatch = method(EventTarget.prototype, "dispatchEvent");
export const hitIn = method(ShadowRoot.prototype, "elementFromPoint");
export const hasPointerCapture = method(Element.prototype, "hasPointerCapture");
export const pathOf = method(Event.prototype, "composedPath");
export const focusOf = method(HTMLElement.prototype, "focus");
export const blurOf = method(HTMLElement.prototype, "blur");
export const visibility = getter(Document.prototype, "visibilityState");
export const isElement = (node) => !!node && node !== globalThis && nodeType(node) === 1;
/**
 * What the executor may ask; each module adds its questions.
 * @type {Record<string, (...given: any[]) => any>}
 */
export const act = {};
