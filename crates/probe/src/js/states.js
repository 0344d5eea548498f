// @ts-check
// States and values.
import {
  attr, collapse, composedParent, cut, flatParent, focusedIn, getter, hasAttribute, isConnected, isElement, matches,
  namespace, parentNode, queryAll, rootNode, styleOf, tagOf, textContent, typeOf, XHTML,
} from "./tree.js";
import { explicitRole, isEditingHost, isNativelyDisabled, roleOf } from "./roles.js";
import { rowOf } from "./codes.js";
import { controlValue, labelsOf } from "./names.js";
import { byCss } from "./css.js";
import { editorOf, editorText } from "./visible.js";

const flag = (element, name) => {
  const stated = attr(element, name)?.trim().toLowerCase();
  return stated === "true" ? true : stated === "false" ? false : undefined;
};
const toggle = (element, name) => {
  const stated = attr(element, name)?.trim().toLowerCase();
  return stated === "true" || stated === "false" || stated === "mixed" ? stated : undefined;
};
// `aria-disabled` has no meaning on elements that cannot be operated; otherwise it holds for all within (WAI-ARIA 1.2).
const SUPPORTS_DISABLED = new Set(
  (
    "application button cell checkbox columnheader combobox grid gridcell group link listbox menu menubar " +
    "menuitem menuitemcheckbox menuitemradio option radio radiogroup row rowheader scrollbar searchbox " +
    "separator slider spinbutton switch tab tablist textbox toolbar tree treegrid treeitem"
  ).split(" "),
);
export const isAriaDisabled = (element) => {
  if (!SUPPORTS_DISABLED.has(roleOf(element))) return false;
  for (let up = element; up; up = flatParent(up)) {
    const stated = flag(up, "aria-disabled");
    if (stated !== undefined) return stated;
  }
  return false;
};
const SUPPORTS_READONLY = new Set(
  (
    "checkbox combobox grid gridcell listbox radiogroup slider spinbutton textbox searchbox switch " +
    "treegrid columnheader rowheader menuitemcheckbox menuitemradio"
  ).split(" "),
);
const TYPED = new Set("text search tel url email password number date datetime-local month week time color".split(" "));
const CHECKABLE = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
export const inEditable = (element) => {
  for (let up = element; up; up = flatParent(up)) {
    const stated = attr(up, "contenteditable");
    if (stated !== null && stated.toLowerCase() !== "inherit") return isEditingHost(up);
  }
  return getter(Document.prototype, "designMode")(document) === "on";
};

export const statesOf = (element) => {
  const states = {};
  const role = roleOf(element);
  const tag = namespace(element) === XHTML ? tagOf(element) : "";
  const type = typeOf(element);
  const disabled = isNativelyDisabled(element) || isAriaDisabled(element);
  if (disabled) states.disabled = true;
  // A native field is editable, whatever ARIA states.
  const isField = tag === "input" || tag === "textarea" || tag === "select";
  const takesText = tag === "textarea" || (tag === "input" && TYPED.has(type));
  const readonly =
    (takesText && hasAttribute(element, "readonly")) ||
    (!isField && SUPPORTS_READONLY.has(role) && flag(element, "aria-readonly") === true);
  if (readonly) states.readonly = true;
  if ((takesText || tag === "select" || inEditable(element)) && !disabled && !readonly) states.editable = true;
  if (
    ((tag === "input" || tag === "select" || tag === "textarea") && hasAttribute(element, "required")) ||
    flag(element, "aria-required") === true
  )
    states.required = true;
  if (focusedIn(rootNode(element)) === element) states.focused = true;
  const invalid = attr(element, "aria-invalid")?.trim().toLowerCase();
  if (
    invalid
      ? invalid !== "false"
      : (takesText || tag === "select" || tag === "input") && matches(element, ":user-invalid")
  )
    states.invalid = true;
  if (
    tag === "select"
      ? getter(HTMLSelectElement.prototype, "multiple")(element)
      : flag(element, "aria-multiselectable") === true
  )
    states.multiselectable = true;
  if (tag === "input" && (type === "checkbox" || type === "radio")) {
    const mixed = type === "checkbox" && getter(HTMLInputElement.prototype, "indeterminate")(element);
    states.checked = mixed ? "mixed" : getter(HTMLInputElement.prototype, "checked")(element) ? "true" : "false";
  } else if (CHECKABLE.has(role)) {
    const stated = toggle(element, "aria-checked");
    if (stated) states.checked = stated;
    else if (role !== "option" && role !== "treeitem") states.checked = "false";
  }
  if (role === "button") {
    const pressed = toggle(element, "aria-pressed");
    if (pressed) states.pressed = pressed;
  }
  if (tag === "details") states.expanded = hasAttribute(element, "open");
  else if (tag === "summary" && role === "button") states.expanded = hasAttribute(composedParent(element), "open");
  else {
    const expanded = flag(element, "aria-expanded");
    if (expanded !== undefined) states.expanded = expanded;
  }
  if (tag === "option") states.selected = getter(HTMLOptionElement.prototype, "selected")(element);
  else if (["gridcell", "option", "row", "tab", "columnheader", "rowheader", "treeitem"].includes(role)) {
    const selected = flag(element, "aria-selected");
    if (selected !== undefined) states.selected = selected;
  }
  const popup = attr(element, "aria-haspopup")?.trim().toLowerCase();
  if (popup && popup !== "false")
    states.haspopup = ["menu", "listbox", "tree", "grid", "dialog"].includes(popup) ? popup : "menu";
  const level = Number.parseInt(attr(element, "aria-level") ?? "", 10);
  if (level >= 1 && level <= 255) states.level = level;
  else if (/^h[1-6]$/.test(tag) && role === "heading") states.level = Number(tag[1]);
  else if (role === "heading") states.level = 2;
  const current = attr(element, "aria-current")?.trim().toLowerCase();
  if (current && current !== "false")
    states.current = ["page", "step", "location", "date", "time"].includes(current) ? current : "true";
  return states;
};

// A field is password-like by its type, by its `autocomplete`, or by its name.
const SECRETS =
  "password|passwd|passphrase|passcode|pwd|secret|token|otp|cvv|cvc|csc|pin|" +
  "one[-_ ]?time[-_ ]?code|verification[-_ ]?code|security[-_ ]?code";
const SECRET_WORDS = new RegExp(`(?:^|[^a-z])(?:${SECRETS})(?:$|[^a-z])`);
const words = (text) =>
  text
    .slice(0, 200)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
const wasPassword = new WeakSet();
// Fields that received a secret from us: sensitive whatever they are, and painted over in pictures.
const receivers = new Set();
const MOST_RECEIVERS = 1000;
/**
 * The field is about to receive a secret.
 * @param {Element} element
 */
export const receivesSecret = (element) => {
  receivers.add(element);
  for (const first of receivers) {
    if (receivers.size <= MOST_RECEIVERS) break;
    receivers.delete(first);
  }
};
/** The fields in the document that received secrets. */
export const secretFields = () => Array.from(receivers).filter(isConnected);
/** The fields that no picture may show: those, and those whose text is a secret by what they are and can be read. */
export const unpictured = () => {
  const isRead = (element) =>
    !receivers.has(element) && !hidesText(element) && isSensitive(element) && valueOf(element);
  return [...secretFields(), ...byCss("input, textarea, [contenteditable], [role=textbox]").filter(isRead)];
};
/**
 * Whether what a field holds is a secret. The boxes of a code share it.
 * @param {Element} element
 * @returns {boolean}
 */
export const isSensitive = (element) => isSecret(element) || rowOf(element).some(isSecret);
/**
 * Whether a field draws something else in the place of what is typed.
 * @param {Element} element
 */
export const hidesText = (element) =>
  typeOf(element) === "password" ||
  /disc|circle|square/.test(styleOf(element).getPropertyValue("-webkit-text-security"));
/**
 * Whether a field hid what is typed, and shows it now.
 * @param {Element} element
 */
export const isRevealed = (element) => wasPassword.has(element) && !hidesText(element);
/** @param {Element} element */
const isSecret = (element) => {
  if (receivers.has(element)) return true;
  const tag = tagOf(element);
  const typed =
    namespace(element) === XHTML &&
    (tag === "textarea" ||
      (tag === "input" &&
        !["button", "submit", "reset", "image", "file", "checkbox", "radio", "range", "color", "hidden"].includes(
          typeOf(element),
        )));
  if (!typed && !isEditingHost(element) && !["textbox", "searchbox"].includes(explicitRole(element))) {
    return (
      tag === "input" &&
      typeOf(element) === "hidden" &&
      SECRET_WORDS.test(words(`${attr(element, "name") ?? ""} ${attr(element, "id") ?? ""}`))
    );
  }
  // Once it hides its text, always: "show password" changes the type or the style.
  if (hidesText(element) || wasPassword.has(element)) {
    wasPassword.add(element);
    return true;
  }
  const fill = (attr(element, "autocomplete") ?? "").toLowerCase().split(/\s+/);
  if (
    fill.some(
      (token) =>
        token.endsWith("-password") ||
        token === "one-time-code" ||
        /^cc-(number|csc|exp|exp-month|exp-year)$/.test(token),
    )
  )
    return true;
  const called = [
    attr(element, "name"),
    attr(element, "id"),
    attr(element, "aria-label"),
    attr(element, "placeholder"),
    ...labelsOf(element).slice(0, 4).map(textContent),
  ];
  return called.some((text) => text && SECRET_WORDS.test(words(text)));
};

const innerText = getter(HTMLElement.prototype, "innerText");
/** The text of an editor, without a placeholder that is drawn in it and the signs that hold its caret. */
const textWritten = (editor) => {
  let text = (innerText(editor) ?? "").replace(/\ufeff/g, "");
  for (const drawn of queryAll(editor, "[contenteditable=false]")) {
    const { position, pointerEvents } = styleOf(drawn);
    if (position !== "absolute" || pointerEvents !== "none" || namespace(drawn) !== XHTML) continue;
    const words = (innerText(drawn) ?? "").replace(/\ufeff/g, "");
    // It is a box of its own, on lines of its own.
    const lines = [`\n${words}\n`, `${words}\n`, `\n${words}`, words].find((one) => text.includes(one));
    if (lines) text = text.replace(lines, "");
    if (!text.trim()) return "";
  }
  return text;
};

/**
 * The live value of what has one.
 * @param {Element} element
 * @returns {string | null | undefined}
 */
export const valueOf = (element) => {
  const tag = namespace(element) === XHTML ? tagOf(element) : "";
  if (tag === "input") {
    const type = typeOf(element);
    if (["button", "submit", "reset", "image", "checkbox", "radio"].includes(type)) return undefined;
    if (type === "file")
      return Array.from(getter(HTMLInputElement.prototype, "files")(element) ?? [])
        .map((file) => file.name)
        .join(", ");
    return controlValue(element);
  }
  if (tag === "textarea") {
    const editor = editorOf(element);
    return editor ? editorText(editor) : controlValue(element);
  }
  if (tag === "select") return getter(HTMLSelectElement.prototype, "value")(element);
  if (isEditingHost(element)) return cut(textWritten(element), 20000).replace(/\n$/, "");
  if (tag === "progress" || tag === "meter") return attr(element, "value") ?? undefined;
  const role = roleOf(element);
  if (["slider", "spinbutton", "progressbar", "scrollbar", "meter"].includes(role))
    return attr(element, "aria-valuetext") ?? attr(element, "aria-valuenow") ?? undefined;
  if (role === "textbox" || role === "searchbox") return collapse(textContent(element)) || undefined;
  return undefined;
};

/** Whether a select shows an option when it opens. */
export const isListed = (option) => {
  const group = parentNode(option);
  if (styleOf(option).display === "none") return false;
  return !(isElement(group) && tagOf(group) === "optgroup" && styleOf(group).display === "none");
};
export const optionsOf = (element, limit) =>
  Array.from(getter(HTMLSelectElement.prototype, "options")(element))
    .filter(isListed)
    .slice(0, limit)
    .map((option) => {
      const row = {
        value: cut(getter(HTMLOptionElement.prototype, "value")(option), 500),
        label: cut(collapse(getter(HTMLOptionElement.prototype, "label")(option) || textContent(option)), 200),
      };
      if (getter(HTMLOptionElement.prototype, "selected")(option)) row.selected = true;
      if (isNativelyDisabled(option)) row.disabled = true;
      return row;
    });
