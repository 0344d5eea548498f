// @ts-check
// The facts of one element, in the language's own shape.
import {
  attr, characterData, childNodes, clientRects, closest, collapse, cut, flatChildren, getter, isElement, isHtml,
  matches, nodeType, once, shadowOf, tagOf, textContent, typeOf,
} from "./tree.js";
import { roleOf } from "./roles.js";
import {
  controlOf, controlValue, descriptionOf, errorMessageOf, labelTexts, nameOf, selectedOptions,
} from "./names.js";
import { inEditable, isSensitive, statesOf, valueOf } from "./states.js";
import { shownChoices } from "./choosing.js";
import { boxOf, hasArea, isVisible, shareInView } from "./visible.js";

export const TEXT_LIMIT = 20000;
const BLOCK_TEXT = new Set([
  "br",
  "p",
  "div",
  "li",
  "tr",
  "td",
  "th",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "option",
  "dt",
  "dd",
]);
/**
 * The text of an element and of what is shown in it; the value of a button input.
 * @param {Element} element
 * @returns {string}
 */
export const textOf = (element) => readText(element, flatChildren);
/** The same without some of the elements within. */
export const textWithout = (element, isLeftOut) =>
  readText(element, (node) =>
    Array.from(flatChildren(node)).filter((child) => !(isElement(child) && isLeftOut(child))),
  );
/**
 * The same with each text where it stands rather than where a slot shows it: light children, then those of the shadow
 * root.
 */
export const composedTextOf = (element) =>
  readText(element, (node) => {
    const children = Array.from(childNodes(node));
    const root = isElement(node) ? shadowOf(node) : null;
    if (root) children.push(...childNodes(root));
    return children;
  });
const readText = (element, childrenOf) => {
  if (tagOf(element) === "input" && ["button", "submit", "reset"].includes(typeOf(element)))
    return controlValue(element) ?? "";
  const parts = [];
  let length = 0;
  const read = (node, depth) => {
    if (length > TEXT_LIMIT * 2 || depth > 200) return;
    for (const child of childrenOf(node)) {
      if (nodeType(child) === 3) {
        const data = characterData(child).slice(0, TEXT_LIMIT * 2);
        length += data.length;
        parts.push(data);
      } else if (isElement(child)) {
        const tag = tagOf(child);
        if (tag === "script" || tag === "style" || tag === "noscript" || tag === "template") continue;
        if (tag === "input" && ["button", "submit", "reset"].includes(typeOf(child)))
          parts.push(controlValue(child) ?? "");
        const apart = BLOCK_TEXT.has(tag);
        if (apart) parts.push(" ");
        read(child, depth + 1);
        if (apart) parts.push(" ");
      }
    }
  };
  read(element, 0);
  return cut(collapse(parts.join("")), TEXT_LIMIT);
};

export const testIdOf = (element, names) => {
  for (const name of names) {
    const value = attr(element, name);
    if (value) return cut(value, 500);
  }
  return undefined;
};
const LIVE = new Set(["value", "checked", "selected"]);
const attributeOf = (element, name) => {
  if (LIVE.has(name)) {
    if (name === "value") {
      const live = controlValue(element) ?? (isHtml(element, "select") ? valueOf(element) : null);
      if (live !== null && live !== undefined) return cut(live, TEXT_LIMIT);
    }
    const prototype =
      name === "checked" && isHtml(element, "input")
        ? HTMLInputElement
        : name === "selected" && isHtml(element, "option")
          ? HTMLOptionElement
          : null;
    if (prototype) return getter(prototype.prototype, name)(element) ? "true" : "false";
  }
  const stated = attr(element, name);
  return stated === null ? null : cut(stated, TEXT_LIMIT);
};
const propertyOf = (element, name) => {
  // As the browser defines it, not as a field of that name in a form would have it.
  let holder = Object.getPrototypeOf(element);
  while (holder && !Object.hasOwn(holder, name)) holder = Object.getPrototypeOf(holder);
  const { get, value: fixed } = holder ? Object.getOwnPropertyDescriptor(holder, name) : {};
  const value = get ? Reflect.apply(get, element, []) : fixed;
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return cut(value, TEXT_LIMIT);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  return undefined;
};

const CONTROLS =
  "input, textarea, select, button, a[href], [role=link], [role=button], [role=checkbox], [role=radio], [role=switch]";
/**
 * What an element's states and value are asked of: a label answers for its control, what stands in a button for the
 * button.
 */
/**
 * @param {Element} element
 * @returns {Element}
 */
export const bearerOf = (element) => {
  if (matches(element, CONTROLS) || inEditable(element)) return element;
  const control = closest(element, "button, [role=button], [role=checkbox], [role=radio], [role=switch]");
  if (control) return control;
  const label = closest(element, "label");
  return (label && isHtml(label, "label") ? controlOf(label) : null) ?? element;
};
const BORNE = ["disabled", "readonly", "editable", "checked"];
const borneStates = (element, bearer) => {
  const states = statesOf(element);
  if (bearer === element) return states;
  const theirs = statesOf(bearer);
  for (const name of BORNE) if (states[name] === undefined && theirs[name] !== undefined) states[name] = theirs[name];
  return states;
};

export const factsOf = (element, ask) =>
  once(() => {
    const bearer = bearerOf(element);
    const facts = {
      role: roleOf(element),
      name: nameOf(element),
      tag: cut(tagOf(element), 100),
      states: borneStates(element, bearer),
    };
    const put = (key, text) => {
      if (text) facts[key] = text;
    };
    put("description", descriptionOf(element));
    put("errorMessage", errorMessageOf(element));
    const labels = labelTexts(element);
    if (labels.length) facts.labels = labels;
    for (const name of ["placeholder", "alt", "title"]) {
      const text = attr(element, name);
      if (text !== null) facts[name] = cut(text, 2000);
    }
    put("testId", testIdOf(element, ask.testIds ?? ["data-testid"]));
    const value = valueOf(element) ?? (bearer === element ? undefined : valueOf(bearer));
    if (value !== undefined && value !== null) facts.value = cut(value, TEXT_LIMIT);
    if (isHtml(element, "select")) {
      const chosen = selectedOptions(element).slice(0, 200);
      facts.selectedValues = chosen.map((option) => cut(getter(HTMLOptionElement.prototype, "value")(option), 500));
      facts.selectedLabels = chosen.map((option) =>
        cut(collapse(getter(HTMLOptionElement.prototype, "label")(option) || textContent(option)), 200),
      );
    } else {
      const shown = shownChoices(bearer);
      if (shown.length) facts.selectedLabels = shown;
    }
    if (ask.attributes?.length)
      facts.attributes = Object.fromEntries(
        ask.attributes.slice(0, 100).map((name) => [name, attributeOf(element, name)]),
      );
    for (const name of (ask.properties ?? []).slice(0, 100)) {
      const seen = propertyOf(element, name);
      if (seen !== undefined) (facts.properties ??= {})[name] = seen;
    }
    if (ask.text) facts.text = composedTextOf(element);
    const classes = (attr(element, "class") ?? "")
      .split(/\s+/)
      .filter((name) => name)
      .slice(0, 50)
      .map((name) => cut(name, 200));
    if (classes.length) facts.classes = classes;
    // An option is drawn by its list only while that is open.
    const isListed = (isHtml(element, "option") || isHtml(element, "optgroup")) && !clientRects(element).length;
    facts.visible = !isListed && isVisible(element);
    facts.inViewport = shareInView(element);
    const box = boxOf(element);
    if (facts.visible || hasArea(box)) facts.box = box;
    if (isSensitive(element) || (bearer !== element && isSensitive(bearer))) facts.sensitive = true;
    return facts;
  });
