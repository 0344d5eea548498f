// @ts-check
// What extensions build on: the same guarded reads.
import { getter, isHtml, method, namespace, nodeType, SVG } from "./tree.js";

export const firstElement = getter(Element.prototype, "firstElementChild");
export const nextElement = getter(Element.prototype, "nextElementSibling");
export const ownerDocument = getter(Node.prototype, "ownerDocument");
export const shows = (element) =>
  Reflect.apply(Element.prototype.checkVisibility, element, [{ checkOpacity: true, checkVisibilityCSS: true }]);
export const checked = getter(HTMLInputElement.prototype, "checked");
export const indeterminate = getter(HTMLInputElement.prototype, "indeterminate");
export const choices = getter(HTMLSelectElement.prototype, "options");
export const sheets = (root) => {
  const { prototype } = nodeType(root) === 9 ? Document : ShadowRoot;
  return [...getter(prototype, "styleSheets")(root), ...getter(prototype, "adoptedStyleSheets")(root)];
};
export const isDesigned = getter(Document.prototype, "designMode");
export const title = getter(Document.prototype, "title");
export const baseUri = getter(Node.prototype, "baseURI");
export const readyState = getter(Document.prototype, "readyState");
export const animations = method(Document.prototype, "getAnimations");
export const listen = method(EventTarget.prototype, "addEventListener");
export const control = getter(HTMLLabelElement.prototype, "control");
const newTreeWalker = method(Document.prototype, "createTreeWalker");
/** The text nodes in an element. */
export const textsIn = (element) => newTreeWalker(document, element, NodeFilter.SHOW_TEXT);
const anchorDestination = getter(HTMLAnchorElement.prototype, "href");
const areaDestination = getter(HTMLAreaElement.prototype, "href");
/** Where a link leads. */
export const destinationOf = (element) => {
  if (namespace(element) === SVG) return getter(SVGAElement.prototype, "href")(element)?.baseVal ?? "";
  return (isHtml(element, "a") ? anchorDestination : isHtml(element, "area") ? areaDestination : () => "")(element);
};
