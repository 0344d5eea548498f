// @ts-check
// Roles: WAI-ARIA 1.2, HTML-AAM 1.0.
import {
  attr, attributeNames, closest, composedParent, elementByDomId, flatParent, getter, hasAttribute, isHtml, matches,
  MATHML, memo, namespace, queryAll, rootNode, SVG, tagOf, typeOf, XHTML,
} from "./tree.js";
import { labelledBy } from "./names.js";

const ROLES = new Set(
  (
    "alert alertdialog application article banner blockquote button caption cell checkbox code " +
    "columnheader combobox comment complementary contentinfo definition deletion dialog directory " +
    "document emphasis feed figure form generic graphics-document graphics-object graphics-symbol " +
    "grid gridcell group heading img insertion link list listbox listitem log main mark marquee math " +
    "menu menubar menuitem menuitemcheckbox menuitemradio meter navigation none note option paragraph " +
    "presentation progressbar radio radiogroup region row rowgroup rowheader scrollbar search " +
    "searchbox separator slider spinbutton status strong subscript suggestion superscript switch tab " +
    "table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem"
  ).split(" "),
);
const GLOBAL_ARIA = (
  "aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect " +
  "aria-flowto aria-grabbed aria-hidden aria-keyshortcuts aria-label aria-labelledby aria-live " +
  "aria-owns aria-relevant aria-roledescription"
).split(" ");
const SECTIONING = new Set(["article", "aside", "main", "nav", "section"]);
const SECTIONING_CONTENT = new Set(["article", "aside", "nav", "section"]);
const SECTIONING_ROLES = new Set(["article", "complementary", "main", "navigation", "region"]);

const inSectioning = (element, counts) => {
  for (let up = flatParent(element); up; up = flatParent(up)) {
    const role = attr(up, "role");
    if (role ? SECTIONING_ROLES.has(role) && (counts.has("main") || role !== "main") : counts.has(tagOf(up)))
      return true;
  }
  return false;
};
const hasAriaName = (element) =>
  !!(
    attr(element, "aria-label")?.trim() ||
    (attr(element, "aria-labelledby") && labelledBy(element).length) ||
    attr(element, "title")?.trim()
  );
const listOf = (element) => {
  const id = attr(element, "list");
  const list = id ? elementByDomId(rootNode(element), id) : null;
  return !!list && isHtml(list, "datalist");
};

const INPUT_ROLES = {
  button: "button",
  image: "button",
  reset: "button",
  submit: "button",
  file: "button",
  checkbox: "checkbox",
  radio: "radio",
  range: "slider",
  number: "spinbutton",
};
const PLAIN_ROLES = {
  article: "article",
  blockquote: "blockquote",
  button: "button",
  caption: "caption",
  code: "code",
  datalist: "listbox",
  dd: "definition",
  del: "deletion",
  details: "group",
  dfn: "term",
  dialog: "dialog",
  dt: "term",
  em: "emphasis",
  fieldset: "group",
  figure: "figure",
  h1: "heading",
  h2: "heading",
  h3: "heading",
  h4: "heading",
  h5: "heading",
  h6: "heading",
  hr: "separator",
  html: "document",
  ins: "insertion",
  li: "listitem",
  main: "main",
  mark: "mark",
  math: "math",
  menu: "list",
  meter: "meter",
  nav: "navigation",
  ol: "list",
  optgroup: "group",
  option: "option",
  output: "status",
  p: "paragraph",
  progress: "progressbar",
  search: "search",
  strong: "strong",
  sub: "subscript",
  sup: "superscript",
  table: "table",
  tbody: "rowgroup",
  textarea: "textbox",
  tfoot: "rowgroup",
  thead: "rowgroup",
  time: "time",
  tr: "row",
  ul: "list",
};
const implicitRole = (element) => {
  const tag = tagOf(element);
  if (namespace(element) === SVG) {
    if (tag === "svg") return "img";
    if (tag === "a") return hasAttribute(element, "href") || hasAttribute(element, "xlink:href") ? "link" : "generic";
    return "generic";
  }
  if (namespace(element) === MATHML) return tag === "math" ? "math" : "generic";
  switch (tag) {
    case "a":
    case "area":
      return hasAttribute(element, "href") ? "link" : "generic";
    case "aside":
      return !inSectioning(element, SECTIONING_CONTENT) || hasAriaName(element) ? "complementary" : "generic";
    case "header":
      return inSectioning(element, SECTIONING) ? "generic" : "banner";
    case "footer":
      return inSectioning(element, SECTIONING) ? "generic" : "contentinfo";
    case "form":
      return hasAriaName(element) ? "form" : "generic";
    case "section":
      return hasAriaName(element) ? "region" : "generic";
    case "img": {
      const decorative =
        attr(element, "alt") === "" &&
        !attr(element, "title")?.trim() &&
        !isFocusable(element) &&
        !hasGlobalAria(element);
      return decorative ? "presentation" : "img";
    }
    case "input": {
      const type = typeOf(element);
      if (type === "hidden") return "generic";
      if (INPUT_ROLES[type]) return INPUT_ROLES[type];
      if (type === "checkbox" && hasAttribute(element, "switch")) return "switch";
      if (["search", "email", "tel", "text", "url"].includes(type) && listOf(element)) return "combobox";
      return type === "search" ? "searchbox" : "textbox";
    }
    case "select": {
      const many =
        getter(HTMLSelectElement.prototype, "multiple")(element) ||
        getter(HTMLSelectElement.prototype, "size")(element) > 1;
      return many ? "listbox" : "combobox";
    }
    case "summary": {
      const parent = composedParent(element);
      return parent && isHtml(parent, "details") && queryAll(parent, ":scope > summary")[0] === element
        ? "button"
        : "generic";
    }
    case "td":
    case "th": {
      const table = closest(element, "table");
      const role = table ? attr(table, "role") : null;
      const cell = role === "grid" || role === "treegrid" ? "gridcell" : "cell";
      if (tag === "td") return cell;
      const scope = (attr(element, "scope") ?? "").toLowerCase();
      if (scope === "col" || scope === "colgroup") return "columnheader";
      if (scope === "row" || scope === "rowgroup") return "rowheader";
      const row = composedParent(element);
      if (row && isHtml(row, "tr")) {
        const others = queryAll(row, ":scope > td").length;
        const section = composedParent(row);
        if (others && !(section && isHtml(section, "thead"))) return "rowheader";
      }
      return "columnheader";
    }
    default:
      return (namespace(element) === XHTML && Object.hasOwn(PLAIN_ROLES, tag) && PLAIN_ROLES[tag]) || "generic";
  }
};
const hasGlobalAria = (element) => {
  for (const name of attributeNames(element))
    if (name.startsWith("aria-") && GLOBAL_ARIA.includes(name) && name !== "aria-hidden") return true;
  return false;
};
export const explicitRole = (element) => {
  const stated = attr(element, "role");
  if (!stated) return null;
  for (const token of stated.trim().toLowerCase().split(/\s+/)) {
    if (token === "image") return "img";
    if (ROLES.has(token)) return token;
  }
  return null;
};
const NATIVELY_FOCUSABLE = new Set(["button", "details", "iframe", "select", "textarea", "summary"]);
/**
 * @param {Element} element
 * @returns {boolean}
 */
export const isNativelyDisabled = (element) =>
  namespace(element) === XHTML &&
  ["button", "input", "select", "textarea", "option", "optgroup", "fieldset"].includes(tagOf(element)) &&
  matches(element, ":disabled");
/**
 * @param {Element} element
 * @returns {boolean}
 */
export const isFocusable = (element) => {
  if (isNativelyDisabled(element)) return false;
  const tag = tagOf(element);
  if (NATIVELY_FOCUSABLE.has(tag) && namespace(element) === XHTML) return true;
  if ((tag === "a" || tag === "area") && hasAttribute(element, "href")) return true;
  if (tag === "input") return typeOf(element) !== "hidden";
  return (
    (hasAttribute(element, "tabindex") && !Number.isNaN(Number.parseInt(attr(element, "tabindex"), 10))) ||
    isEditingHost(element)
  );
};
/**
 * @param {Element} element
 * @returns {boolean}
 */
export const isEditingHost = (element) => {
  const stated = attr(element, "contenteditable");
  return stated !== null && ["", "true", "plaintext-only"].includes(stated.toLowerCase());
};
// A presentational parent passes it on to the children that its element requires.
const REQUIRED_PARENT = {
  li: ["ul", "ol", "menu"],
  dt: ["dl", "div"],
  dd: ["dl", "div"],
  div: ["dl"],
  tr: ["tbody", "thead", "tfoot", "table"],
  td: ["tr"],
  th: ["tr"],
  tbody: ["table"],
  thead: ["table"],
  tfoot: ["table"],
  caption: ["table"],
};
const inheritsPresentation = (element) => {
  let child = element;
  for (let depth = 0; depth < 8; depth++) {
    const parent = flatParent(child);
    const allowed = REQUIRED_PARENT[tagOf(child)];
    if (!parent || !allowed || !allowed.includes(tagOf(parent))) return false;
    const role = explicitRole(parent);
    if (role === "none" || role === "presentation") return !hasGlobalAria(parent) && !isFocusable(parent);
    if (role) return false;
    child = parent;
  }
  return false;
};
const computeRole = (element) => {
  const explicit = explicitRole(element);
  if (explicit && explicit !== "none" && explicit !== "presentation") return explicit;
  if (explicit) return hasGlobalAria(element) || isFocusable(element) ? implicitRole(element) : explicit;
  const implicit = implicitRole(element);
  if (implicit !== "generic" && REQUIRED_PARENT[tagOf(element)] && inheritsPresentation(element)) return "none";
  return implicit;
};
/**
 * @param {Element} element
 * @returns {string}
 */
export const roleOf = (element) => {
  let role = memo?.role.get(element);
  if (role === undefined) {
    role = computeRole(element);
    memo?.role.set(element, role);
  }
  return role;
};
