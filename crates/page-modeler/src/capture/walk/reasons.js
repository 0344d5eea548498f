// @ts-check
// What counts as something to act on, and what kind of control it is.
import * as cb from "cuebook:core";
import { ACTABLE, attr, hasAttribute, lookOf, ownText, roleOf, tagOf, typeOf } from "cuebook:core";

export const WIDGETS = new Set(
  (
    "button link checkbox radio switch textbox searchbox combobox listbox slider spinbutton tab menuitem " +
    "menuitemcheckbox menuitemradio option treeitem"
  ).split(" "),
);
const HANDLERS = ["onclick", "onmousedown", "onpointerdown", "ondblclick", "onmouseup", "ontouchstart"];
export const HOSTABLE = new Set(
  "article aside blockquote div footer h1 h2 h3 h4 h5 h6 header main nav p section span".split(" "),
);
const TEXT = new Set(["text", "search", "tel", "url", "email"]);
const DATES = new Set(["date", "time", "month", "week", "datetime-local"]);
export const kindOf = (element, role) => {
  const tag = tagOf(element);
  if (tag === "select") return "select";
  if (tag === "textarea") return "multiline";
  if (tag === "input") {
    const type = typeOf(element);
    if (type === "password") return "password";
    if (TEXT.has(type)) return "text";
    if (DATES.has(type)) return "dateTime";
    if (type === "checkbox" || type === "radio") return "check";
    if (type === "number" || type === "range" || type === "color" || type === "file") return type;
    return "plain";
  }
  if (cb.isEditingHost(element)) return "richText";
  if (["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"].includes(role)) return "check";
  return "plain";
};
export const isNative = (element, tag) => {
  switch (tag) {
    case "a":
    case "area":
      return hasAttribute(element, "href") || hasAttribute(element, "xlink:href");
    case "button":
    case "select":
    case "textarea":
      return true;
    case "input":
      return typeOf(element) !== "hidden";
    case "summary":
      return roleOf(element) === "button";
    case "video":
    case "audio":
      return hasAttribute(element, "controls");
    default:
      return false;
  }
};
/**
 * Why an element is something to act on; empty if it is not. `pointed`: an ancestor has the pointer cursor.
 */
export const reasonOf = (element, tag, pointed) => {
  if (isNative(element, tag)) return "native";
  const stated = attr(element, "role");
  if (stated && WIDGETS.has(roleOf(element))) return "role";
  if (cb.isEditingHost(element)) return "editable";
  if (tag === "body" || tag === "html" || tag === "option" || tag === "optgroup") return "";
  const tabindex = attr(element, "tabindex");
  // Of the cells of a grid, and the entries of a list that listens for all of them, one at a time can be tabbed to
  // or none; the others say -1, and are clicked all the same.
  if (
    tabindex !== null &&
    (Number.parseInt(tabindex, 10) >= 0 || (stated && roleOf(element) === "gridcell") || isEntry(element))
  )
    return "tabindex";
  for (const name of HANDLERS) if (hasAttribute(element, name)) return "handler";
  if (attr(element, "draggable") === "true" && tag !== "img") return "draggable";
  if (!pointed && lookOf(element).cursor === "pointer") return "pointer";
  if (listening.has(element) && listensForItself(element, tag)) return "listener";
  if (droppable.has(element)) return "drop";
  if (isSortable(element, tag)) return "draggable";
  return "";
};
// Elements that the wire found to listen to the pointer. What listens for a whole region (a root, a list, a
// backdrop) is no thing to act on; nor is what only stands around a control.
export const listening = new WeakSet();
/** Whether an element is an entry of a list that listens for all of them, or fills one. */
const isEntry = (element) => {
  const item = tagOf(element) === "li" ? element : cb.parentOf(element);
  if (!item || tagOf(item) !== "li") return false;
  const list = cb.parentOf(item);
  return list !== null && listening.has(list);
};
/**
 * An item of a list that listens for all of them, and keeps touches from scrolling: one that is dragged by the
 * pointer.
 */
const isSortable = (element, tag) => {
  if (tag !== "li" && attr(element, "role") !== "listitem") return false;
  const list = cb.parentOf(element);
  return list !== null && listening.has(list) && cb.styleOf(list).touchAction === "none";
};
/** Elements that take what is dropped on them. */
export const droppable = new WeakSet();
export const REGIONS = new Set(
  (
    "html body main form fieldset nav header footer aside section dialog table tbody thead tfoot ul ol dl " +
    "menu slot"
  ).split(" "),
);
const COMPOSITES = new Set(
  (
    "list table grid treegrid tree listbox menu menubar tablist radiogroup toolbar form dialog " +
    "alertdialog main navigation banner contentinfo complementary region application document feed " +
    "rowgroup search"
  ).split(" "),
);
const listensForItself = (element, tag) => {
  if (REGIONS.has(tag) || COMPOSITES.has(roleOf(element))) return false;
  const box = cb.boxOf(element);
  if (box.width * box.height > (globalThis.innerWidth * globalThis.innerHeight) / 3) return false;
  const inner = cb.queryAll(element, ACTABLE).length;
  return inner === 0 || (inner <= 4 && ownText(element) !== "");
};
/** A label is its control's stand-in; one without a control may still be clickable itself. */
export const labelReason = (element, pointed) => {
  const control = cb.control(element);
  if (control) return "";
  return reasonOf(element, "label", pointed);
};
