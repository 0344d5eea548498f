// @ts-check
// Selectors over the composed tree: a combinator sees through the boundary of a shadow root, where the host is the
// parent of what stands at the top of its root. Each compound is matched by the browser itself; only combinators and
// the pseudo-classes that take selectors are followed here. Pages without shadow roots never come here.
import {
  composedParent, firstChild, getter, isElement, matches, nextSibling, queryAll, rootNode, shadowOf,
} from "./tree.js";
import { refuse } from "./locate.js";

const SELECTOR_PARTS = 500;
const LOGICAL = /^:(not|is|where|has|matches|-webkit-any)\(/i;

/** Where the bracket that opens at `start` is closed. */
const closing = (text, start) => {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    const c = text[i];
    if (c === "\\") i++;
    else if (c === '"' || c === "'") {
      for (i++; i < text.length && text[i] !== c; i++) if (text[i] === "\\") i++;
    } else if (c === "(" || c === "[") depth++;
    else if ((c === ")" || c === "]") && --depth === 0) return i;
  }
  return text.length;
};
/**
 * Takes a selector list apart: `[[{ combinator, native, logical }, …], …]`, each complex selector from left to
 * right.
 */
const parseSelector = (text, budget) => {
  const list = [];
  let complex = [];
  let combinator = "";
  let native = "";
  let logical = [];
  const endCompound = () => {
    if (!native && !logical.length) return;
    if (--budget.left < 0) refuse("the selector has too many parts");
    // A pseudo-element has no element of its own.
    complex.push({ combinator: combinator || (complex.length ? " " : ""), native: native || "*", logical });
    combinator = "";
    native = "";
    logical = [];
  };
  const endComplex = () => {
    endCompound();
    list.push(complex);
    complex = [];
    combinator = "";
  };
  for (let i = 0; i < text.length;) {
    const c = text[i];
    if (c === "\\") {
      native += text.slice(i, i + 2);
      i += 2;
      continue;
    }
    if (text.startsWith("/*", i)) {
      const end = text.indexOf("*/", i + 2);
      i = end < 0 ? text.length : end + 2;
      continue;
    }
    if (/\s/.test(c)) {
      endCompound();
      i++;
      continue;
    }
    if (c === ",") {
      endComplex();
      i++;
      continue;
    }
    if (c === ">" || c === "+" || c === "~") {
      endCompound();
      combinator = c;
      i++;
      continue;
    }
    const pseudo = c === ":" ? LOGICAL.exec(text.slice(i, i + 20)) : null;
    if (pseudo) {
      const open = i + pseudo[0].length - 1;
      const end = closing(text, open);
      logical.push({ name: pseudo[1].toLowerCase(), list: parseSelector(text.slice(open + 1, end), budget) });
      i = end + 1;
      continue;
    }
    if (c === "[" || c === "(") {
      const end = closing(text, i);
      native += text.slice(i, end + 1);
      i = end + 1;
      continue;
    }
    native += c;
    i++;
  }
  endComplex();
  return list;
};

const previousElement = getter(Element.prototype, "previousElementSibling");
const fitsCompound = (element, compound, search) =>
  matches(element, compound.native) &&
  compound.logical.every((one) => {
    switch (one.name) {
      case "not":
        return !fitsList(element, one.list, search);
      case "has":
        return one.list.some((complex) => hasRelative(element, complex, search));
      default:
        return fitsList(element, one.list, search);
    }
  });
const fitsList = (element, list, search) =>
  list.some((complex) => complex.length && fitsComplex(element, complex, complex.length - 1, search, null));
/**
 * Whether an element fits the part of a complex selector up to `index`; `scope` is what a leading combinator starts
 * from.
 */
const fitsComplex = (element, complex, index, search, scope) => {
  if (--search.left < 0) refuse("the selector takes too long on this page");
  if (!fitsCompound(element, complex[index], search)) return false;
  const { combinator } = complex[index];
  if (index === 0 && !scope) return true;
  const fitsBefore = (before) =>
    index === 0 ? before === scope : fitsComplex(before, complex, index - 1, search, scope);
  switch (combinator || " ") {
    case ">": {
      const parent = composedParent(element);
      return !!parent && fitsBefore(parent);
    }
    case "+": {
      const before = previousElement(element);
      return !!before && fitsBefore(before);
    }
    case "~":
      for (let before = previousElement(element); before; before = previousElement(before))
        if (fitsBefore(before)) return true;
      return false;
    default:
      for (let up = composedParent(element); up; up = composedParent(up)) if (fitsBefore(up)) return true;
      return false;
  }
};
/** `:has()`: whether something within, or after, fits a selector that starts from the element. */
const hasRelative = (element, complex, search) => {
  if (!complex.length) return false;
  const aside = complex[0].combinator === "+" || complex[0].combinator === "~";
  const root = aside ? (composedParent(element) ?? rootNode(element)) : element;
  let found = false;
  inTreeOrder(root, (inner) => {
    if (fitsComplex(inner, complex, complex.length - 1, search, element)) found = true;
    return !found;
  });
  return found;
};

/**
 * Everything below a root: a whole tree first, then the shadow trees of its hosts; `visit` may end it by returning
 * false.
 */
export const inTreeOrder = (root, visit, depth = 0) => {
  if (depth > 100) return true;
  const shadows = [];
  const own = isElement(root) ? shadowOf(root) : null;
  if (own) shadows.push(own);
  for (const element of queryAll(root, "*")) {
    if (visit(element) === false) return false;
    const shadow = shadowOf(element);
    if (shadow) shadows.push(shadow);
  }
  for (const shadow of shadows) if (inTreeOrder(shadow, visit, depth + 1) === false) return false;
  return true;
};

/**
 * The same in the order of a list of selectors: each element before its light children, and these before its shadow
 * tree.
 */
const inComposedOrder = (root, visit) => {
  // A stack of what is still to come: pages nest deeper than calls may.
  const ahead = [firstChild(root)];
  while (ahead.length) {
    const node = ahead.pop();
    if (!node) continue;
    ahead.push(nextSibling(node));
    if (!isElement(node)) continue;
    visit(node);
    const shadow = shadowOf(node);
    if (shadow) ahead.push(firstChild(shadow));
    ahead.push(firstChild(node));
  }
};

const SEARCH_STEPS = 5_000_000;
export const byCss = (selector) => {
  let hits;
  try {
    hits = queryAll(document, selector);
  } catch (error) {
    refuse(error.message);
  }
  const all = [];
  let hasShadow = false;
  inTreeOrder(document, (element) => {
    all.push(element);
    hasShadow ||= shadowOf(element) !== null;
  });
  if (!hasShadow) return Array.from(hits);
  const list = parseSelector(selector, { left: SELECTOR_PARTS });
  const search = { left: SEARCH_STEPS };
  if (list.length > 1) {
    const known = new Set(all);
    inComposedOrder(document, (element) => {
      if (known.delete(element)) known.add(element);
    });
    all.splice(0, all.length, ...known);
  }
  return all.filter((element) => {
    // What the browser refuses in parts, such as a pseudo-element, matches no element.
    try {
      return fitsList(element, list, search);
    } catch (error) {
      if (error?.badSelector) throw error;
      return false;
    }
  });
};
