// @ts-check
// The content of a page: clean HTML, the fields of forms, and metadata.
//
// The HTML is rebuilt from the rendered tree, through shadow roots and slots: of the page's own markup
// nothing but these tags and attributes gets out, and a tag of ours cannot be imitated by it.
import * as cb from "cuebook:core";
import {
  attr, checked, collapse, controlValue, cut, lookOf, namespace, nodeType, queryAll, tagOf, textContent, typeOf,
} from "cuebook:core";

export const read = {};
const get = (prototype, name) => {
  const { get: getter } = Object.getOwnPropertyDescriptor(prototype, name);
  return (object) => Reflect.apply(getter, object, []);
};
const call = (prototype, name) => {
  const value = prototype[name];
  return (object, ...args) => Reflect.apply(value, object, args);
};
const bodyOf = get(Document.prototype, "body");
const rootOf = get(Document.prototype, "documentElement");
const titleOf = get(Document.prototype, "title");
const dataOf = get(CharacterData.prototype, "data");
const baseOf = get(Node.prototype, "baseURI");
const formElements = get(HTMLFormElement.prototype, "elements");
const formAction = get(HTMLFormElement.prototype, "action");
const formMethod = get(HTMLFormElement.prototype, "method");
const optionsOf = get(HTMLSelectElement.prototype, "options");
const isMultiple = get(HTMLSelectElement.prototype, "multiple");
const optionValue = get(HTMLOptionElement.prototype, "value");
const optionLabel = get(HTMLOptionElement.prototype, "label");
const isSelected = get(HTMLOptionElement.prototype, "selected");
const filesOf = get(HTMLInputElement.prototype, "files");
const inputValue = get(HTMLInputElement.prototype, "value");
const openDetails = get(HTMLDetailsElement.prototype, "open");
const checkVisibility = call(Element.prototype, "checkVisibility");
const rectOf = call(Element.prototype, "getBoundingClientRect");
const isElement = (node) => nodeType(node) === 1;
const isHtml = (element) => namespace(element) === "http://www.w3.org/1999/xhtml";

const NODES = 400000;
const CHARACTERS = 4000000;
const DEPTH = 100;
const KNOWN = new Set(
  (
    "a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup dd del " +
    "details dfn div dl dt em fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup " +
    "hr i img ins kbd legend li main mark menu nav ol p pre q s samp search section small span strike " +
    "strong sub summary sup table tbody td tfoot th thead time tr u ul var"
  ).split(" "),
);
const VOID = new Set(["br", "hr", "img", "col"]);
const SKIPPED = new Set(
  (
    "script style noscript template head link meta base object embed audio video canvas map area datalist " +
    "param source track"
  ).split(" "),
);
/** What is written of itself, not of what is in it. */
const LEAVES = new Set(["img", "input", "select", "textarea", "iframe", "frame"]);
const BY_ROLE = {
  article: "article",
  list: "ul",
  listitem: "li",
  table: "table",
  grid: "table",
  treegrid: "table",
  rowgroup: "tbody",
  row: "tr",
  cell: "td",
  gridcell: "td",
  columnheader: "th",
  rowheader: "th",
  blockquote: "blockquote",
  main: "main",
  navigation: "nav",
  complementary: "aside",
  contentinfo: "footer",
  banner: "header",
};
const PARTS = {
  table: ["caption", "colgroup", "thead", "tbody", "tfoot", "tr"],
  thead: ["tr"],
  tbody: ["tr"],
  tfoot: ["tr"],
  tr: ["td", "th"],
};
const KEPT = (
  "id class title itemprop itemtype itemid property lang dir datetime content colspan rowspan start " +
  "aria-label scope data-testid data-test data-field data-label data-title data-name data-value"
).split(" ");
const escapeText = (text) => text.replace(/[&<>]/g, (c) => (c === "&" ? "&amp;" : c === "<" ? "&lt;" : "&gt;"));
const escapeAttr = (text) =>
  text.replace(/[&<>"]/g, (c) => (c === "&" ? "&amp;" : c === "<" ? "&lt;" : c === ">" ? "&gt;" : "&quot;"));
/** An absolute URL that is worth following, or nothing. */
const absolute = (text, base) => {
  if (!text || text.length > 4000) return null;
  try {
    const url = new URL(text, base);
    return ["http:", "https:", "mailto:", "tel:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
};
const tagFor = (element) => {
  if (!isHtml(element)) return "span";
  const tag = tagOf(element);
  const role = attr(element, "role");
  if (role && (tag === "div" || tag === "span" || !KNOWN.has(tag))) {
    const stated = role.trim().toLowerCase().split(/\s+/)[0];
    if (stated === "heading") {
      const level = Number(attr(element, "aria-level"));
      return `h${level >= 1 && level <= 6 ? Math.floor(level) : 2}`;
    }
    if (Object.hasOwn(BY_ROLE, stated)) return BY_ROLE[stated];
  }
  if (tag === "a" && attr(element, "href") === null) return "span";
  if (KNOWN.has(tag)) return tag;
  return /^(inline|contents)/.test(lookOf(element).display) ? "span" : "div";
};
const attributesFor = (element, tag, base) => {
  let text = "";
  for (const name of KEPT) {
    const value = attr(element, name);
    if (value !== null && value.length <= 2000) text += ` ${name}="${escapeAttr(value)}"`;
  }
  if (attr(element, "itemscope") !== null) text += " itemscope";
  if (tag === "a") {
    const href = absolute(attr(element, "href"), base);
    if (href) text += ` href="${escapeAttr(href)}"`;
  } else if (tag === "img") {
    const lazy = attr(element, "src") ?? attr(element, "data-src");
    const src = absolute(lazy, base);
    if (src) text += ` src="${escapeAttr(src)}"`;
    text += ` alt="${escapeAttr(cut(attr(element, "alt") ?? "", 500))}"`;
  }
  return text;
};
/** What a control shows, as text, without sensitive values. */
const controlText = (element) => {
  const tag = tagOf(element);
  if (cb.isSensitive(element)) return "";
  if (tag === "select")
    return Array.from(optionsOf(element))
      .filter(isSelected)
      .map((option) => collapse(optionLabel(option)))
      .join(", ");
  if (tag === "textarea") return controlValue(element) ?? "";
  const type = typeOf(element);
  if (type === "checkbox" || type === "radio") return checked(element) ? "[x]" : "[ ]";
  if (type === "hidden" || type === "image" || type === "file") return "";
  return controlValue(element) ?? "";
};
/** Nothing of it, or of what is in it, is seen. */
const isAway = (element, look) => {
  if (look.display === "none") return true;
  if (look.display === "contents") return false;
  if (attr(element, "aria-hidden") === "true" && tagOf(element) === "i") return true;
  if (look.opacity === 0 || look.clippedAway) return true;
  if (look.position === "absolute" || look.position === "fixed") {
    const box = rectOf(element);
    if (look.clips && look.position === "absolute" && box.width <= 1 && box.height <= 1) return true;
    // Moved out of the page, where no scrolling leads.
    if (box.width > 0 && box.height > 0 && cb.isOffPage(element, box)) return true;
  }
  return false;
};

/** Clean HTML of `id`, or of the body; `<frame-slot n>` stands where a frame's content belongs. */
read.html = (id) =>
  cb.once(() => {
    const start = id === null ? (bodyOf(document) ?? rootOf(document)) : cb.byId(id);
    if (!start || !cb.isConnected(start)) return null;
    const base = baseOf(document);
    const out = [];
    const frames = [];
    const cutOff = {};
    let length = 0;
    let nodes = 0;
    const write = (text) => {
      out.push(text);
      length += text.length;
    };
    // Each level: the nodes that are left, what closes it, and what its parent tag is.
    const levels = [];
    const open = [];
    const enter = (node) => {
      nodes += 1;
      const type = nodeType(node);
      if (type === 3) {
        const text = dataOf(node);
        const parent = cb.parentOf(node);
        if (
          parent &&
          text.trim() &&
          checkVisibility(parent, { visibilityProperty: true, contentVisibilityAuto: false }) === false &&
          lookOf(parent).display !== "contents"
        )
          return;
        if (length + text.length > CHARACTERS) cutOff.characters = true;
        write(escapeText(cut(text, Math.max(0, CHARACTERS - length))));
        return;
      }
      if (type !== 1) return;
      const tag = isHtml(node) ? tagOf(node) : "";
      if (SKIPPED.has(tag)) return;
      const look = lookOf(node);
      if (node !== start && isAway(node, look)) return;
      if (node !== start && LEAVES.has(tag) && !checkVisibility(node, { visibilityProperty: true })) return;
      if (tag === "input" || tag === "select" || tag === "textarea") {
        const shown = controlText(node);
        const name = typeOf(node) === "submit" || typeOf(node) === "button" ? "" : cut(cb.nameOf(node), 200);
        if (shown) {
          const field = attr(node, "name") ? ` data-field="${escapeAttr(cut(attr(node, "name"), 200))}"` : "";
          write(` <output aria-label="${escapeAttr(name)}"${field}>${escapeText(cut(shown, 5000))}</output> `);
        }
        return;
      }
      if (tag === "iframe" || tag === "frame") {
        const { width, height } = rectOf(node);
        if (width <= 1 || height <= 1) return;
        if (frames.length < 60) {
          write(`<frame-slot n="${frames.length}"></frame-slot>`);
          frames.push(cb.idOf(node));
        } else cutOff.frames = true;
        return;
      }
      if (!isHtml(node)) {
        const name = cut(cb.nameOf(node), 200);
        if (name) write(`<span>${escapeText(name)}</span>`);
        return;
      }
      if (tag === "details" && !openDetails(node)) {
        const summary = cb.childrenOf(node).find((child) => isElement(child) && tagOf(child) === "summary");
        if (summary) levels.push({ left: [summary], at: 0, close: "" });
        return;
      }
      let written = tagFor(node);
      const parts = PARTS[open[open.length - 1]];
      if (parts && !parts.includes(written)) written = "";
      if (open.length >= DEPTH) {
        if (written) cutOff.depth = true;
        written = "";
      }
      if (VOID.has(written)) {
        write(`<${written}${attributesFor(node, written, base)}>`);
        return;
      }
      if (written) {
        write(`<${written}${attributesFor(node, written, base)}>`);
        open.push(written);
      }
      levels.push({ left: cb.childrenOf(node), at: 0, close: written });
    };
    enter(start);
    while (levels.length) {
      const level = levels[levels.length - 1];
      if (level.at < level.left.length && !cutOff.characters && !cutOff.nodes) {
        if (nodes >= NODES) cutOff.nodes = true;
        else enter(level.left[level.at++]);
      } else {
        levels.pop();
        if (level.close) {
          open.pop();
          write(`</${level.close}>`);
        }
      }
    }
    return { html: out.join(""), frames, truncated: Object.keys(cutOff) };
  });

const FIELDS =
  "input, select, textarea, [contenteditable]:not([contenteditable=false i]), [role=textbox], " +
  "[role=searchbox], [role=combobox], [role=checkbox], [role=radio], [role=switch], [role=slider], " +
  "[role=spinbutton]";
const fieldOf = (element) => {
  const tag = tagOf(element);
  const field = {
    label: cut(cb.nameOf(element), 300),
    type:
      tag === "input"
        ? typeOf(element)
        : tag === "select"
          ? isMultiple(element)
            ? "select-multiple"
            : "select"
          : tag === "textarea"
            ? "textarea"
            : cb.roleOf(element),
  };
  const name = attr(element, "name");
  if (name) field.name = cut(name, 300);
  const domId = attr(element, "id");
  if (domId) field.id = cut(domId, 300);
  const states = cb.statesOf(element);
  if (field.type === "checkbox" || field.type === "radio" || field.type === "switch") {
    const state = states.checked ?? (tag === "input" && checked(element));
    field.checked = state === "mixed" ? state : String(state) === "true";
    if (tag === "input") field.value = cut(inputValue(element), 2000);
  } else if (tag === "select") {
    const options = Array.from(optionsOf(element));
    field.options = options
      .slice(0, 500)
      .map((option) => ({
        value: cut(optionValue(option), 500),
        label: cut(collapse(optionLabel(option)), 300),
        selected: isSelected(option),
      }));
    if (options.length > 500) field.optionsLeftOut = options.length - 500;
    const chosen = field.options.filter((option) => option.selected).map((option) => option.value);
    field.value = isMultiple(element) ? chosen : (chosen[0] ?? null);
  } else if (field.type === "file") {
    field.value = Array.from(filesOf(element) ?? [])
      .slice(0, 100)
      .map((file) => cut(String(file.name), 300));
  } else {
    field.value = cut(
      (tag === "input" ? inputValue(element) : (controlValue(element) ?? cb.valueOf(element))) ?? "",
      20000,
    );
  }
  for (const state of ["required", "readonly", "disabled", "invalid"]) if (states[state]) field[state] = true;
  if (cb.isSensitive(element)) field.sensitive = true;
  return field;
};
const isEditable = get(HTMLElement.prototype, "isContentEditable");
const isInEditor = (element) => {
  const parent = cb.composedParentOf(element);
  return !!parent && isHtml(parent) && isEditable(parent);
};
const BUTTONS = new Set(["submit", "button", "reset", "image"]);
const isField = (element) =>
  !BUTTONS.has(typeOf(element)) && !(tagOf(element) === "input" && attr(element, "role") === "button");
const FIELD_LIMIT = 1000;
/** The fields of `id`, or of every form of the document and of none. */
read.form = (id) =>
  cb.once(() => {
    const target = id === null ? null : cb.byId(id);
    if (id !== null && !(target && cb.isConnected(target))) return null;
    const forms = new Map();
    const put = (form, element) => {
      if (!forms.has(form)) forms.set(form, []);
      forms.get(form).push(element);
    };
    let left = 0;
    let taken = 0;
    const consider = (element, form) => {
      if (!isField(element)) return;
      if (taken >= FIELD_LIMIT) {
        left += 1;
        return;
      }
      taken += 1;
      put(form, element);
    };
    const ownForm = (element) => {
      for (let up = element; up; up = cb.composedParentOf(up)) if (up instanceof HTMLFormElement) return up;
      return null;
    };
    const formOf = (element) => {
      const tag = tagOf(element);
      const type =
        tag === "input"
          ? HTMLInputElement
          : tag === "select"
            ? HTMLSelectElement
            : tag === "textarea"
              ? HTMLTextAreaElement
              : null;
      return (type && get(type.prototype, "form")(element)) ?? ownForm(element);
    };
    const scopeForm = target instanceof HTMLFormElement ? target : null;
    const owned = scopeForm ? new Set(Array.from(formElements(scopeForm))) : null;
    cb.everyElement((element) => {
      if (!isHtml(element) || !cb.matches(element, FIELDS)) return;
      if (
        tagOf(element) === "input" ||
        tagOf(element) === "select" ||
        tagOf(element) === "textarea" ||
        !isInEditor(element)
      ) {
        if (target && !cb.contains(target, element) && !owned?.has(element)) return;
        consider(element, target ? scopeForm : formOf(element));
      }
    });
    const describe = (form, elements) => {
      const fields = elements.map(fieldOf);
      if (!form) return { fields };
      const name = cut(cb.nameOf(form) || attr(form, "name") || attr(form, "id") || "", 300);
      return {
        fields,
        ...(name && { name }),
        action: cut(String(formAction(form)), 2000),
        method: String(formMethod(form)),
      };
    };
    if (target) return { ...describe(scopeForm, forms.get(scopeForm) ?? []), left };
    return {
      forms: Array.from(forms)
        .slice(0, 100)
        .map(([form, elements]) => describe(form, elements)),
      left,
    };
  });

const LANDMARKS = {
  banner: 1,
  navigation: 1,
  main: 1,
  complementary: 1,
  contentinfo: 1,
  search: 1,
  form: 1,
  region: 1,
};
const itemOf = (scope, depth) => {
  const item = {};
  const type = attr(scope, "itemtype");
  if (type)
    item["@type"] = cut(
      type
        .trim()
        .split(/\s+/)[0]
        .replace(/^https?:\/\/schema\.org\//, ""),
      300,
    );
  let count = 0;
  const visit = (node) => {
    for (const child of cb.childrenOf(node)) {
      if (!isElement(child) || count > 200) continue;
      const names = (attr(child, "itemprop") ?? "").trim();
      const isScope = attr(child, "itemscope") !== null;
      if (names) {
        count += 1;
        const value = isScope && depth < 5 ? itemOf(child, depth + 1) : cut(propertyText(child), 2000);
        for (const name of names.split(/\s+/).slice(0, 5)) {
          const key = cut(name.replace(/^https?:\/\/schema\.org\//, ""), 100);
          item[key] = Object.hasOwn(item, key) ? [item[key], value].flat().slice(0, 100) : value;
        }
      }
      if (!isScope) visit(child);
    }
  };
  visit(scope);
  return item;
};
const propertyText = (element) => {
  const stated = attr(element, "content") ?? attr(element, "datetime");
  if (stated !== null) return stated;
  const base = baseOf(document);
  const url = attr(element, "href") ?? attr(element, "src");
  if (url !== null) return absolute(url, base) ?? url;
  return attr(element, "value") ?? collapse(textContent(element));
};
/** The document's metadata. */
read.metadata = () =>
  cb.once(() => {
    const reported = { title: cut(titleOf(document), 1000), language: cut(attr(rootOf(document), "lang") ?? "", 100) };
    const meta = {};
    for (const element of queryAll(document, "meta[name], meta[property], meta[itemprop]").values()) {
      const name = (
        attr(element, "property") ??
        attr(element, "name") ??
        attr(element, "itemprop") ??
        ""
      ).toLowerCase();
      const content = attr(element, "content");
      if (!name || content === null || Object.keys(meta).length >= 200) continue;
      const key = cut(name, 100);
      meta[key] = Object.hasOwn(meta, key) ? [meta[key], cut(content, 2000)].flat().slice(0, 20) : cut(content, 2000);
    }
    reported.meta = meta;
    const canonical = queryAll(document, "link[rel~=canonical]")[0];
    if (canonical) reported.canonical = absolute(attr(canonical, "href"), baseOf(document)) ?? "";
    reported.jsonLd = Array.from(queryAll(document, "script[type='application/ld+json' i]"))
      .slice(0, 50)
      .map((element) => cut(textContent(element), 500000));
    const items = [];
    const headings = [];
    const landmarks = [];
    let headingsLeft = 0;
    cb.everyElement((element) => {
      if (attr(element, "itemscope") !== null && attr(element, "itemprop") === null && items.length < 200)
        items.push(itemOf(element, 0));
      const role = cb.roleOf(element);
      if (role === "heading" || Object.hasOwn(LANDMARKS, role)) {
        if (!cb.isVisible(element)) return;
        if (role === "heading") {
          const level = Number(attr(element, "aria-level") ?? tagOf(element).slice(1));
          if (headings.length < 500)
            headings.push({ level: level >= 1 && level <= 9 ? level : 2, text: cut(cb.textOf(element), 500) });
          else headingsLeft += 1;
        } else if (landmarks.length < 100) {
          const inside = (selector) => queryAll(element, selector).length;
          landmarks.push({
            role,
            name: cut(cb.nameOf(element), 300),
            links: inside("a[href]"),
            fields: inside("input:not([type=hidden]), select, textarea"),
            headings: inside("h1, h2, h3, h4, h5, h6"),
          });
        }
      }
    });
    reported.items = items;
    reported.headings = headings;
    reported.landmarks = landmarks;
    reported.headingsLeft = headingsLeft;
    return reported;
  });

/** The attribute `name` of `id`, as the markup has it. */
read.attribute = (id, name) => {
  const target = id === null ? rootOf(document) : cb.byId(id);
  if (!target || !cb.isConnected(target)) return null;
  const value = attr(target, name);
  const isSecret = cb.isSensitive(target) && name.toLowerCase() === "value";
  return { present: value !== null, text: cut(value ?? "", 200000), sensitive: isSecret };
};
const outerOf = get(Element.prototype, "outerHTML");
const innerOf = get(Element.prototype, "innerHTML");
const implementationOf = get(Document.prototype, "implementation");
const createDocument = call(DOMImplementation.prototype, "createHTMLDocument");
const importInto = call(Document.prototype, "importNode");
const setAttribute = call(Element.prototype, "setAttribute");
/** The markup of `id`, or of the body, as the document has it: `inner` or `outer`. */
read.markup = (id, which) => {
  const target = id === null ? (bodyOf(document) ?? rootOf(document)) : cb.byId(id);
  if (!target || !cb.isConnected(target)) return null;
  const all = (root) => [root, ...queryAll(root, "*")];
  const isSecret = (element) => isHtml(element) && attr(element, "value") && cb.isSensitive(element);
  const secret = all(target).map((element) => !!isSecret(element));
  let shown = target;
  if (secret.includes(true)) {
    // A copy in another document, where nothing runs and the page does not see it.
    shown = importInto(createDocument(implementationOf(document), ""), target, true);
    all(shown).forEach((element, at) => {
      if (secret[at]) setAttribute(element, "value", "[redacted]");
    });
  }
  const text = (which === "outer" ? outerOf : innerOf)(shown);
  return { text: cut(text, 200000), length: text.length };
};
