// @ts-check
// Names and descriptions: Accessible Name and Description Computation 1.2, HTML-AAM 1.0.
import {
  attr, byId, characterData, checkVisibility, closest, collapse, contains, cut, elementByDomId, firstChild,
  flatChildren, flatParent, getter, hasAttribute, hostOf, isElement, isHtml, matches, memo, namespace, nextSibling,
  nodeType, parentNode, queryAll, rootElement, rootNode, shadowOf, styleOf, SVG, tagOf, textContent, typeOf, XHTML,
} from "./tree.js";
import { explicitRole, roleOf } from "./roles.js";
import { generatedBefore, hasAppeared, isTip } from "./context.js";
import { isSensitive } from "./states.js";
import { firstElement } from "./tools.js";

const FROM_CONTENT = new Set(
  (
    "button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio " +
    "option radio row rowheader switch tab tooltip treeitem"
  ).split(" "),
);
const NO_NAME = new Set(
  (
    "caption code definition deletion emphasis generic insertion mark none paragraph presentation strong " +
    "subscript suggestion superscript term time"
  ).split(" "),
);
export const SKIPPED = new Set(["script", "style", "noscript", "template", "head", "datalist"]);
export const LABELABLE = new Set(["button", "input", "meter", "output", "progress", "select", "textarea"]);

/**
 * Not rendered, or `visibility: hidden`; slots, `display: contents` and options answer for what shows them.
 * @param {Element} element
 * @returns {boolean}
 */
export const isHidden = (element) => {
  let hidden = memo?.hidden.get(element);
  if (hidden !== undefined) return hidden;
  hidden = computeHidden(element);
  memo?.hidden.set(element, hidden);
  return hidden;
};
const computeHidden = (element) => {
  const tag = tagOf(element);
  if (SKIPPED.has(tag)) return true;
  if (tag === "option" || tag === "optgroup") {
    const select = closest(element, "select");
    return select ? isHidden(select) : !checkVisibility(element);
  }
  const style = styleOf(element);
  if (style.display === "contents" || tag === "slot") {
    const parent = flatParent(element);
    return parent ? isHidden(parent) : false;
  }
  return style.display === "none" || style.visibility !== "visible" || !checkVisibility(element);
};
/**
 * @param {Element} element
 * @returns {boolean}
 */
export const isAriaHidden = (element) => {
  const asked = [];
  let hidden = false;
  for (let up = element; up; up = flatParent(up)) {
    const known = memo?.ariaHidden.get(up);
    if (known !== undefined) {
      hidden = known;
      break;
    }
    asked.push(up);
    if (attr(up, "aria-hidden")?.toLowerCase() === "true") {
      hidden = true;
      break;
    }
  }
  for (const one of asked) memo?.ariaHidden.set(one, hidden);
  return hidden;
};
export const isExcluded = (element) => isHidden(element) || isAriaHidden(element);

/**
 * @param {Element} element
 * @param {string} name
 * @returns {Element[]}
 */
export const referenced = (element, name) => {
  const ids = attr(element, name)?.trim();
  if (!ids) return [];
  const found = [];
  for (const id of ids.split(/\s+/).slice(0, 50)) {
    // A reference stays within its tree; hosts around it are tried after, as browsers do for reflection.
    for (let root = rootNode(element); root; root = hostOf(root) ? rootNode(hostOf(root)) : null) {
      const target = elementByDomId(root, id);
      if (target) {
        found.push(target);
        break;
      }
    }
  }
  return found;
};
export const labelledBy = (element) => {
  const reflected =
    element instanceof Element && !hasAttribute(element, "aria-labelledby")
      ? null
      : referenced(element, "aria-labelledby");
  return reflected ?? [];
};
/**
 * The `label` elements of a control, in document order.
 * @param {Element} element
 * @returns {Element[]}
 */
export const labelsOf = (element) => {
  let labels = memo?.labels.get(element);
  if (!labels) {
    labels = readLabels(element);
    memo?.labels.set(element, labels);
  }
  return labels;
};
const LABELS = Object.fromEntries(
  Object.entries({
    button: HTMLButtonElement,
    input: HTMLInputElement,
    meter: HTMLMeterElement,
    output: HTMLOutputElement,
    progress: HTMLProgressElement,
    select: HTMLSelectElement,
    textarea: HTMLTextAreaElement,
  }).map(([tag, type]) => [tag, getter(type.prototype, "labels")]),
);
Object.setPrototypeOf(LABELS, null);
export const controlOf = getter(HTMLLabelElement.prototype, "control");
// Chromium searches the whole tree for the labels of one control. Up to this many are requested one by one; for more,
// each label is asked once for its control.
const ASKED_SINGLY = 8;
const labelsIn = (root) => {
  let known = memo.labelled.get(root);
  if (!known) {
    memo.labelled.set(root, (known = new Map()));
    for (const label of queryAll(root, "label")) {
      const control = isHtml(label, "label") ? controlOf(label) : null;
      if (!control) continue;
      const labels = known.get(control);
      if (labels) labels.push(label);
      else known.set(control, [label]);
    }
  }
  return known;
};
const readLabels = (element) => {
  if (namespace(element) !== XHTML) return [];
  const read = LABELS[tagOf(element)];
  if (!read) return [];
  if (memo && memo.labels.size >= ASKED_SINGLY) {
    const root = rootNode(element);
    if (nodeType(root) !== 1) return labelsIn(root).get(element) ?? [];
  }
  const labels = read(element);
  return labels ? Array.from(labels) : [];
};

export const generatedText = (element, which) => {
  const key = which === "::before" ? memo?.before : memo?.after;
  let text = key?.get(element);
  if (text === undefined) {
    text = generatedBefore(element, which, readGenerated(element, which));
    key?.set(element, text);
  }
  return text;
};
// Whether an element has generated text is expensive to ask. So the rules that generate any are asked first
// what they are about: `true` means that the element itself has to be asked.
const GENERATING_LIMIT = 60;
const RULES_LIMIT = 20000;
const generatorsIn = (root) => {
  let known = memo.generators.get(root);
  if (known === undefined) {
    known = readGenerators(root);
    memo.generators.set(root, known);
  }
  return known;
};
const readGenerators = (root) => {
  const found = new Set();
  let left = RULES_LIMIT;
  const read = (rules, depth) => {
    for (const rule of rules) {
      if (--left < 0 || depth > 20) return false;
      if (rule instanceof CSSImportRule) {
        if (rule.styleSheet && !read(rule.styleSheet.cssRules, depth + 1)) return false;
        continue;
      }
      if (rule instanceof CSSStyleRule) {
        const selector = rule.selectorText;
        const nested = rule.cssRules.length > 0;
        if (nested && /::?(?:before|after)/.test(rule.cssText)) return false;
        if (!/:(?:before|after)/.test(selector)) continue;
        const content = rule.style.content;
        if (!content || /^(?:none|normal|""|'')$/.test(content)) continue;
        // A selector that depends on the position of its sheet is not parsed.
        if (/[\\&"']|:host|:slotted|:part|:scope/.test(selector)) return false;
        found.add(selector.replace(/::?(?:before|after)/g, ""));
        if (found.size > GENERATING_LIMIT) return false;
      } else if (rule.cssRules && !read(rule.cssRules, depth + 1)) return false;
    }
    return true;
  };
  try {
    const { prototype } = nodeType(root) === 9 ? Document : ShadowRoot;
    for (const sheet of [...getter(prototype, "styleSheets")(root), ...getter(prototype, "adoptedStyleSheets")(root)])
      if (!read(sheet.cssRules, 0)) return true;
    if (!found.size) return "";
    // A part may have become empty, as in `a > ::before`; what the browser then refuses is asked singly.
    const selector = Array.from(found, (one) =>
      one
        .split(",")
        .map((part) => (!part.trim() || /[\s>+~]$/.test(part) ? `${part}*` : part))
        .join(","),
    ).join(",");
    matches(rootElement(), selector);
    return selector;
  } catch {
    // Sheets of other origins cannot be read.
    return true;
  }
};
const mayGenerate = (element) => {
  if (!memo || tagOf(element) === "q") return true;
  const root = rootNode(element);
  const parent = parentNode(element);
  // Shadow roots style their hosts and what is slotted into them.
  if (nodeType(root) === 1 || shadowOf(element) || (isElement(parent) && shadowOf(parent))) return true;
  const selector = generatorsIn(root);
  return selector === true || (selector !== "" && matches(element, selector));
};
const readGenerated = (element, which) => {
  if (!mayGenerate(element)) return "";
  const style = getComputedStyle(element, which);
  const content = style.content;
  if (
    !content ||
    content === "none" ||
    content === "normal" ||
    style.display === "none" ||
    style.visibility !== "visible"
  )
    return "";
  const [shown, alternative] = splitAlternative(content);
  let text = "";
  for (const part of (alternative ?? shown).matchAll(
    /"((?:[^"\\]|\\.)*)"|attr\(\s*"?([\w-]+)"?[^)]*\)|(open|close)-quote/g,
  )) {
    if (part[3]) text += quoteMark(element, part[3]);
    else
      text +=
        part[2] !== undefined
          ? (attr(element, part[2]) ?? "")
          : part[1].replace(/\\([0-9a-fA-F]{1,6})\s?|\\(.)/g, (_, code, plain) =>
              code ? String.fromCodePoint(Math.min(Number.parseInt(code, 16) || 0xfffd, 0x10ffff)) : plain,
            );
  }
  return style.display === "inline" ? text : ` ${text} `;
};
/** Quotations within quotations have single marks. */
const quoteMark = (element, side) => {
  let depth = 0;
  for (let up = parentNode(element); up; up = parentNode(up)) if (isElement(up) && tagOf(up) === "q") depth++;
  return depth % 2 ? (side === "open" ? "‘" : "’") : side === "open" ? "“" : "”";
};
const splitAlternative = (content) => {
  let quoted = false;
  for (let i = 0; i < content.length; i++) {
    if (content[i] === "\\") i++;
    else if (content[i] === '"') quoted = !quoted;
    else if (content[i] === "/" && !quoted) return [content.slice(0, i), content.slice(i + 1)];
  }
  return [content, null];
};

const NAME_BUDGET = 5000;
const OPENERS = new Set("button link menuitem menuitemcheckbox menuitemradio tab".split(" "));
/**
 * Whether this is a menu that a control within which it stands opens. It is shown and drawn as the pointer comes and
 * goes, and what it offers is not what the control is called.
 * @param {Element} opener
 * @param {Element} found
 */
export const isMenuOf = (opener, found) => {
  const tag = tagOf(found);
  if (found === opener || !OPENERS.has(roleOf(opener))) return false;
  const isList = (tag === "ul" || tag === "ol") && !explicitRole(found);
  return roleOf(found) === "menu" || (isList && queryAll(found, "[role^=menuitem]").length > 0);
};
const contentName = (element, state) => {
  const parts = [];
  const isBranch = roleOf(element) === "treeitem";
  const push = (text, apart) => parts.push(apart ? ` ${text} ` : text);
  push(generatedText(element, "::before"), false);
  const owned = hasAttribute(element, "aria-owns") ? referenced(element, "aria-owns") : [];
  for (const child of [...flatChildren(element), ...owned]) {
    if (state.budget <= 0) break;
    if (nodeType(child) === 3) {
      if (state.unseen) continue;
      const text = characterData(child).slice(0, state.budget);
      state.budget -= text.length;
      push(text, false);
    } else if (isElement(child)) {
      // The content of a branch of a tree is not its name.
      if ((isBranch && roleOf(child) === "group") || isMenuOf(state.root, child) || hasAppeared(child, isTip)) continue;
      const display = tagOf(child) === "br" || (isHidden(child) && !isUnseen(child)) ? "block" : styleOf(child).display;
      const inline = display === "inline" || display === "contents" || tagOf(child) === "slot";
      // What was read before, such as the field that a label stands around, still parts the words on both sides.
      if (state.visited.has(child)) push("", !inline);
      else
        push(
          part(child, { ...state, embedded: true, direct: false, unseen: false, budget: state.budget }, state),
          !inline,
        );
    }
  }
  push(generatedText(element, "::after"), false);
  return parts.join("");
};
const part = (child, inner, outer) => {
  const text = compute(child, inner);
  outer.budget -= text.length;
  return text;
};

export const selectedOptions = (element) => Array.from(getter(HTMLSelectElement.prototype, "selectedOptions")(element));
export const controlValue = (element) => {
  const tag = tagOf(element);
  if (namespace(element) !== XHTML) return null;
  if (tag === "input") return getter(HTMLInputElement.prototype, "value")(element);
  if (tag === "textarea") return getter(HTMLTextAreaElement.prototype, "value")(element);
  return null;
};
const embeddedValue = (element, role, state) => {
  if (role === "textbox" || role === "searchbox") {
    if (isSensitive(element)) return "";
    return controlValue(element) ?? contentName(element, state);
  }
  if (role === "combobox" || role === "listbox") {
    if (isHtml(element, "select"))
      return selectedOptions(element)
        .map((option) => collapse(textContent(option)))
        .join(" ");
    const listed = (name) => referenced(element, name).filter((one) => roleOf(one) === "listbox");
    const list =
      role === "combobox"
        ? ([...listed("aria-controls"), ...listed("aria-owns"), ...queryAll(element, "[role=listbox]")][0] ?? element)
        : element;
    const chosen = Array.from(queryAll(list, '[aria-selected="true"]'))
      .map((option) => compute(option, { ...state, visited: new Set(state.visited), direct: false }))
      .join(" ");
    if (chosen.trim()) return chosen;
    if (isHtml(element, "input")) return isSensitive(element) ? "" : controlValue(element);
    // What a person typed or chose stands in the box itself; a list without a choice has no value.
    return role === "combobox" && list === element ? contentName(element, state) : "";
  }
  if (["slider", "spinbutton", "progressbar", "scrollbar", "meter"].includes(role)) {
    return (
      attr(element, "aria-valuetext") ??
      attr(element, "aria-valuenow") ??
      controlValue(element) ??
      attr(element, "value") ??
      ""
    );
  }
  return null;
};

const joined = (elements, state, extra) =>
  elements
    .map((element) => compute(element, { ...state, ...extra, embedded: true, direct: true, budget: state.budget }))
    .map((text) => text.trim())
    .filter((text) => text)
    .join(" ");
const nativeName = (element, state) => {
  const tag = tagOf(element);
  const titled = (...names) => {
    for (const name of names) {
      const text = attr(element, name);
      if (text?.trim()) return text;
    }
    return "";
  };
  const child = (wanted) => {
    for (const node of flatChildren(element)) if (isElement(node) && tagOf(node) === wanted) return node;
    return null;
  };
  if (namespace(element) === SVG) {
    const title = child("title");
    return title ? textContent(title) : tag === "a" ? titled("xlink:title") : "";
  }
  if (LABELABLE.has(tag) && !state.label) {
    const labels = labelsOf(element).filter((label) => !state.visited.has(label));
    const text = joined(labels, state, { label: true, visited: new Set([...state.visited, element]) });
    if (text) return text;
  }
  switch (tag) {
    case "input": {
      const type = typeOf(element);
      if (type === "button" || type === "submit" || type === "reset") {
        const value = controlValue(element);
        if (value?.trim()) return value;
        if (type !== "button" && !hasAttribute(element, "value"))
          return titled("title") || (type === "submit" ? "Submit" : "Reset");
        return "";
      }
      if (type === "image") return titled("alt", "value", "title") || "Submit";
      if (type === "file") return titled("title") || "Choose File";
      if (type === "checkbox" || type === "radio" || type === "range" || type === "color") return titled("title");
      return titled("title", "placeholder");
    }
    case "textarea":
      return titled("title", "placeholder");
    case "fieldset": {
      const legend = child("legend");
      return legend ? compute(legend, { ...state, embedded: true, direct: false, reading: true }) : "";
    }
    case "figure": {
      const caption = child("figcaption");
      return caption ? compute(caption, { ...state, embedded: true, direct: false, reading: true }) : "";
    }
    case "table": {
      const caption = child("caption");
      return (
        (caption ? compute(caption, { ...state, embedded: true, direct: false, reading: true }) : "") ||
        titled("summary")
      );
    }
    case "img":
    case "area":
      return titled("alt");
    case "optgroup":
      return titled("label");
    case "option":
      return titled("label");
    default:
      return "";
  }
};

/** What an element is called where another one refers to it: the same for all who do, but for itself. */
const nameByReference = (target, state) => {
  // What holds the one that refers to it is called something else by it than by others.
  const own = contains(target, state.root);
  let known = own ? undefined : memo?.referenced.get(target);
  if (!known) {
    known = readReference(target, state, new Set());
    if (!own) memo?.referenced.set(target, known);
  }
  // A name has each part of the page once: what was read before is not read again where a reference leads there.
  if (state.visited.size && [...state.visited].some((seen) => known.read.has(seen))) {
    known = readReference(target, state, new Set(state.visited));
  }
  for (const seen of known.read) state.visited.add(seen);
  return known.text;
};
const readReference = (target, state, read) => {
  const text = compute(target, {
    root: state.root,
    visited: read,
    by: true,
    label: false,
    embedded: true,
    direct: true,
    hidden: false,
    reading: false,
    depth: state.depth,
    budget: NAME_BUDGET,
  });
  return { text: cut(text.trim(), NAME_BUDGET), read };
};
/** Rendered, but for `visibility: hidden`, which what is in it may take back. */
const isUnseen = (element) => {
  const { visibility, display } = styleOf(element);
  return visibility !== "visible" && display !== "none" && !SKIPPED.has(tagOf(element)) && checkVisibility(element);
};
/** What is visible in an element that is not. */
const seenWithin = (element, state) => {
  state.visited.add(element);
  return contentName(element, { ...state, depth: state.depth + 1, unseen: true });
};
const compute = (element, state) => {
  if (state.visited.has(element) || state.depth > 60) return "";
  const excluded = isExcluded(element);
  if (excluded && !state.hidden && !state.direct)
    return !isAriaHidden(element) && isUnseen(element) ? seenWithin(element, state) : "";
  if (state.visited.size > 3000) return "";
  state = {
    ...state,
    depth: state.depth + 1,
    hidden: state.hidden || (excluded && state.direct && element !== state.root),
  };
  const role = roleOf(element);
  if (!state.by) {
    const targets = labelledBy(element);
    if (targets.length) {
      const text = targets
        .map((target) => nameByReference(target, state))
        .filter((part) => part)
        .join(" ");
      if (text) return text;
    }
  }
  const visited = state.visited;
  visited.add(element);
  if (state.embedded && element !== state.root) {
    const value = embeddedValue(element, role, state);
    if (
      value !== null &&
      !(state.by && state.direct && attr(element, "aria-label")?.trim()) &&
      (value !== "" || !state.direct)
    )
      return value;
  }
  const label = attr(element, "aria-label");
  if (label?.trim()) return label;
  if (role !== "none" && role !== "presentation") {
    const text = nativeName(element, { ...state, visited });
    if (text.trim()) return text;
  }
  // The white space in an element that has nothing else still parts the words around it.
  let space = "";
  const reading =
    (state.direct || !NOT_READ_THROUGH.has(role)) && (state.reading || state.by || state.label || state.embedded);
  if (
    FROM_CONTENT.has(role) ||
    ((role !== "none" || state.embedded) && reading && (state.embedded || state.by || state.label))
  ) {
    const inner = { ...state, visited, reading: state.reading || state.by || state.label };
    const text = contentName(element, inner);
    state.budget = inner.budget;
    if (text.trim()) return text;
    if (text && state.embedded) space = " ";
  }
  const title = attr(element, "title");
  if (title?.trim() && role !== "none" && role !== "presentation") return title;
  return space;
};
// What stands on its own within a name that is read from content gives only its own name.
const NOT_READ_THROUGH = new Set(
  "combobox listbox grid tree treegrid menu menubar img iframe slider meter progressbar".split(" "),
);
const fresh = (root, extra) => ({
  root,
  visited: new Set(),
  by: false,
  label: false,
  embedded: false,
  direct: true,
  hidden: false,
  reading: false,
  depth: 0,
  budget: NAME_BUDGET,
  ...extra,
});

// Elements without a role of their own that are named by their title (HTML-AAM 1.0: text-level elements, iframe).
const TITLED = new Set(
  "abbr b bdi bdo cite embed frame i iframe kbd object q rp rt ruby s samp small u var".split(" "),
);
/** ARIA forbids some roles a name; browsers compute one all the same where the page states it. */
const hasNoName = (element) => {
  const role = roleOf(element);
  if (!NO_NAME.has(role)) return false;
  if (role === "none" || role === "presentation") return true;
  if (attr(element, "aria-label")?.trim() || labelledBy(element).length) return false;
  return !(role === "generic" && TITLED.has(tagOf(element)) && !explicitRole(element));
};
/** What a page wrote, on one line; of megabytes only the beginning is read. */
const oneLine = (text) => cut(collapse(text.slice(0, 4 * NAME_BUDGET)), 2000);
/**
 * @param {Element} element
 * @returns {string}
 */
export const nameOf = (element) => {
  let name = memo?.name.get(element);
  if (name === undefined) {
    name = hasNoName(element) ? "" : oneLine(compute(element, fresh(element)));
    memo?.name.set(element, name);
  }
  return name;
};
// Elements that only their attributes, their labels and their text name.
const NAMED_BY_TEXT = new Set("a button div h1 h2 h3 h4 h5 h6 label li p span summary td th".split(" "));
/**
 * Whether the name of an element may have these words, which are collapsed and in lower case: false where its text
 * alone could name it, and lacks them. Asks for no style, which is what costs a name.
 * @param {Element} element
 * @param {string} words
 */
export const mayBeCalled = (element, words) =>
  !NAMED_BY_TEXT.has(tagOf(element)) ||
  firstElement(element) !== null ||
  namespace(element) !== XHTML ||
  shadowOf(element) !== null ||
  collapse(textContent(element)).toLowerCase().includes(words) ||
  ["aria-label", "aria-labelledby", "aria-owns", "title"].some((name) => hasAttribute(element, name)) ||
  labelsOf(element).length > 0 ||
  mayGenerate(element);
/**
 * What an element would be called if its role allowed a name: its aria-label, or its text.
 * @param {Element} element
 * @returns {string}
 */
export const contentOf = (element) => {
  let text = memo?.content.get(element);
  if (text === undefined) {
    text = oneLine(compute(element, fresh(element, { embedded: true, reading: true })));
    memo?.content.set(element, text);
  }
  return text;
};
const described = (element, name) => {
  const visited = new Set();
  const texts = referenced(element, name).map((target) =>
    compute(target, fresh(target, { by: true, embedded: true, reading: true, root: element, visited })),
  );
  return oneLine(texts.join(" "));
};
/**
 * @param {Element} element
 * @returns {string}
 */
export const descriptionOf = (element) => {
  const by = described(element, "aria-describedby");
  if (by) return by;
  const stated = attr(element, "aria-description");
  if (stated?.trim()) return oneLine(stated);
  const title = oneLine(attr(element, "title") ?? "");
  return title && title !== nameOf(element) ? title : "";
};
/**
 * @param {Element} element
 * @returns {string}
 */
export const errorMessageOf = (element) => {
  const invalid = attr(element, "aria-invalid");
  if (invalid && invalid.toLowerCase() !== "false") {
    const shown = referenced(element, "aria-errormessage").filter((target) => !isHidden(target));
    const text = shown.map((target) => contentOf(target)).join(" ");
    if (text.trim()) return oneLine(text);
  }
  return "";
};

/**
 * The texts that label an element, whichever way.
 * @param {Element} element
 * @returns {string[]}
 */
export const labelTexts = (element) => {
  const texts = [];
  const add = (text) => {
    const one = cut(oneLine(text), 500);
    if (one && !texts.includes(one)) texts.push(one);
  };
  for (const target of labelledBy(element)) add(contentOf(target));
  add(attr(element, "aria-label") ?? "");
  for (const label of labelsOf(element)) add(labelText(label, element));
  return texts.slice(0, 10);
};
const labelText = (label, control) => {
  const state = fresh(label, { label: true, embedded: true, reading: true });
  state.visited.add(control);
  return compute(label, state);
};

// The browser returns a name in full, and three times: it is not asked for megabytes.
const NAMING_TEXT = 20_000;
const TOLD_NODES = 5_000;
const NAMING_ATTRIBUTES = (
  "aria-label aria-description aria-roledescription aria-valuetext aria-placeholder title alt " +
  "placeholder label value summary href"
).split(" ");
const NAMING_REFERENCES = ["aria-labelledby", "aria-describedby", "aria-details", "aria-errormessage", "aria-owns"];
/** Whether what an element and all that names it could say is within bounds. */
const isDescribable = (element) => {
  let text = 0;
  let nodes = 0;
  const roots = [element, ...labelsOf(element)];
  for (let i = 0; i < roots.length; i++) {
    const stack = [roots[i]];
    while (stack.length) {
      const node = stack.pop();
      if (++nodes > TOLD_NODES || text > NAMING_TEXT) return false;
      if (node !== roots[i]) {
        const next = nextSibling(node);
        if (next) stack.push(next);
      }
      if (nodeType(node) === 3) {
        text += characterData(node).length;
        continue;
      }
      if (isElement(node)) {
        for (const name of NAMING_ATTRIBUTES) text += attr(node, name)?.length ?? 0;
        text += controlValue(node)?.length ?? 0;
        for (const name of NAMING_REFERENCES)
          if (roots.length < 100 && hasAttribute(node, name)) roots.push(...referenced(node, name));
        const first = shadowOf(node) && firstChild(shadowOf(node));
        if (first) stack.push(first);
      }
      const first = firstChild(node);
      if (first) stack.push(first);
    }
  }
  return text <= NAMING_TEXT;
};
/**
 * Of these elements those that are alive, and that the browser describes in bounded words.
 * @param {number[]} ids
 * @returns {number[]}
 */
export const describable = (ids) =>
  ids.filter((id) => {
    const element = byId(id);
    return element && isDescribable(element);
  });
