// @ts-check
// The selectors that other tools would find an element by. None is judged or used here: they are kept for a record.
import * as cb from "cuebook:core";
import { boxOf } from "./boxes.js";
import { attr, isElement, rootOf, tagOf } from "./reads.js";

const MOST = 200;
const LONGEST = 900;
const IDENTIFIER = /^[A-Za-z][\w-]{0,60}$/;
const TAG = /^[a-z][a-z0-9-]*$/;
const isOnly = (selector, found) => {
  const hits = cb.queryAll(document, selector);
  return hits.length === 1 && hits[0] === found;
};
/** The position of an element among its siblings of that name; 0 where counting would take long. */
const positionOf = (element) => {
  const parent = cb.parentNode(element);
  let position = 0;
  let seen = 0;
  for (let child = parent && cb.firstChild(parent); child; child = cb.nextSibling(child)) {
    if (++seen > 5000) return 0;
    if (isElement(child) && tagOf(child) === tagOf(element)) position++;
    if (child === element) return position;
  }
  return 1;
};
/** The path from the root, of XPath 1.0, and the CSS path from the nearest unique id. */
const pathsTo = (found) => {
  if (rootOf(found) !== document) return {};
  let css = "";
  let isAnchored = false;
  let xpath = "";
  for (let up = found; isElement(up); up = cb.parentNode(up)) {
    const [tag, position] = [tagOf(up), positionOf(up)];
    if (!TAG.test(tag) || !position) return {};
    // XPath knows only elements of HTML by their bare names.
    xpath = `/${up instanceof HTMLElement ? tag : `*[local-name()="${tag}"]`}[${position}]${xpath}`;
    const id = attr(up, "id");
    if (!isAnchored) {
      isAnchored = !!id && IDENTIFIER.test(id) && isOnly(`#${id}`, up);
      css = `${isAnchored ? `#${id}` : `${tag}:nth-of-type(${position})`}${css && ` > ${css}`}`;
    }
    if (xpath.length > LONGEST) return {};
  }
  return { css, xpath };
};

/** Nothing of what is no element, such as the document that a pane scrolls. */
export const selectorsOf = (found) => {
  if (!isElement(found)) return undefined;
  const stated = (name) => cb.cut(attr(found, name) ?? "", MOST) || undefined;
  const text = cb.isSensitive(found) || cb.isEditingHost(found) ? "" : cb.shortText(cb.textHead(found), MOST);
  const { x, y, width, height } = boxOf(found);
  return {
    point: { x: x + width / 2 + globalThis.scrollX, y: y + height / 2 + globalThis.scrollY },
    id: stated("id"),
    name: stated("name"),
    ariaLabel: stated("aria-label"),
    text: text || undefined,
    ...pathsTo(found),
  };
};
