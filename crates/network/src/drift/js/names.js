// @ts-check
// Other names of ids and classes. The page's scripts still see and find the old ones, its styles apply as before.
//
// Invariant: a name becomes the same other one everywhere, and its selector means both, so that nothing depends on when an
// element is renamed.
import { drift, hash, strength } from "./draw.js";
import { attribute, attributes, isElement, isOurs, listen, setAttribute, withId, wrap, wrapGetter } from "./page.js";

const SVG = "http://www.w3.org/2000/svg";
/** Attributes that hold ids. */
const REFERENCES = new Set(
  (
    "for form list headers popovertarget commandfor aria-labelledby aria-describedby aria-controls aria-owns " +
    "aria-activedescendant aria-errormessage aria-details aria-flowto"
  ).split(" "),
);
export const NAMING = ["id", "class", ...REFERENCES];

/** New name to old name. */
const old = new Map();
let renamesClasses = true;
const isRenaming = () => strength("renamed-names") > 0;

const renamed = (kind, name) => {
  if (!name || old.has(name)) return name;
  if (kind === "class" && !renamesClasses) return name;
  const number = hash(drift.seed, "renamed-names", kind, name);
  if (number / 2 ** 32 >= strength("renamed-names")) return name;
  const other = `${"abcdefghkmnprstuvwxyz"[number % 21]}${number.toString(36)}`;
  old.set(other, name);
  return other;
};
const listRenamed = (kind, text) =>
  text
    .split(/\s+/)
    .filter(Boolean)
    .map((name) => renamed(kind, name))
    .join(" ");
const listBefore = (text) => (text.trim() ? text.replace(/\S+/g, (name) => old.get(name) ?? name) : text);

const publish = (name, other) => {
  if (name in globalThis) return;
  Object.defineProperty(globalThis, name, {
    configurable: true,
    get: () => withId(other) ?? undefined,
    set: (value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true }),
  });
};

/** Gives an element its new names. */
export const rename = (element) => {
  if (!isRenaming() || element.namespaceURI === SVG || isOurs(element)) return;
  for (const name of attributes(element)) {
    const kind = name === "class" ? "class" : "id";
    if (name !== "id" && name !== "class" && !REFERENCES.has(name)) continue;
    const value = attribute(element, name);
    const other = listRenamed(kind, value);
    if (other === value.trim()) continue;
    setAttribute(element, name, other);
    if (name === "id") publish(value, other);
  }
};

const IDENT = /^(?:[\w-]|[^\0-\x7f]|\\.)+/;
const ATTRIBUTE = /^\[\s*([\w-]+)\s*(~?=)\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*\]/;
/** A selector that means the new names as well. @param {string} text */
const selecting = (text) => {
  let made = "";
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const letter = text[at];
    const quoted = letter === '"' || letter === "'" ? /^(["'])(?:\\.|(?!\1).)*\1/.exec(rest) : null;
    const bracket = letter === "[" ? ATTRIBUTE.exec(rest) : null;
    const ident = letter === "#" || letter === "." ? IDENT.exec(rest.slice(1)) : null;
    if (letter === "\\") {
      made += text.slice(at, at + 2);
      at += 2;
    } else if (quoted) {
      made += quoted[0];
      at += quoted[0].length;
    } else if (bracket) {
      const [whole, name, sign, one, two, three] = bracket;
      const value = one ?? two ?? three;
      const isNaming = name === "id" || name === "class" || REFERENCES.has(name);
      const other = isNaming ? listRenamed(name === "class" ? "class" : "id", value) : value;
      made += other === value ? whole : `:is([${name}${sign}"${other}"],${whole})`;
      at += whole.length;
    } else if (ident) {
      const name = ident[0].replace(/\\(.)/g, "$1");
      if (old.has(name)) return text;
      const other = renamed(letter === "#" ? "id" : "class", name);
      made += other === name ? letter + ident[0] : `:is(${letter}${other},${letter}${ident[0]})`;
      at += 1 + ident[0].length;
    } else {
      made += letter;
      at += 1;
    }
  }
  return made;
};
const selectors = new Map();
const selector = (text) => {
  const key = String(text);
  if (!selectors.has(key)) selectors.set(key, selecting(key));
  return selectors.get(key);
};

const rules = (list) => {
  for (const rule of Array.from(list)) {
    if (rule.selectorText) {
      const other = selecting(rule.selectorText);
      if (other !== rule.selectorText) rule.selectorText = other;
    }
    if (rule.cssRules) rules(rule.cssRules);
    if (rule.styleSheet) restyle(rule.styleSheet);
  }
};
const styled = new WeakMap();
const restyle = (sheet) => {
  try {
    const { length } = sheet.cssRules;
    if (styled.get(sheet) === length) return;
    styled.set(sheet, length);
    rules(sheet.cssRules);
  } catch {
    // A sheet of another origin cannot be read: see `foreign`.
  }
};
/** Applies the page's styles to the new names. */
export const restyleAll = () => {
  if (!isRenaming()) return;
  for (const sheet of [...Array.from(document.styleSheets), ...Array.from(document.adoptedStyleSheets)]) restyle(sheet);
};
/** Classes keep their names where a style sheet cannot be read. */
const foreign = (link) => {
  const href = attribute(link, "href");
  if (!href || !/\bstylesheet\b/i.test(attribute(link, "rel") ?? "") || attribute(link, "crossorigin") !== null) return;
  if (new URL(href, document.baseURI).origin !== location.origin) renamesClasses = false;
};

const wrapLookups = () => {
  const { apply } = Reflect;
  for (const proto of [Document.prototype, DocumentFragment.prototype])
    wrap(
      proto,
      "getElementById",
      (before) =>
        function (id) {
          const other = renamed("id", String(id));
          return apply(before, this, [other]) ?? apply(before, this, [id]);
        },
    );
  for (const proto of [Document.prototype, DocumentFragment.prototype, Element.prototype]) {
    for (const name of ["querySelector", "querySelectorAll", "matches", "closest", "webkitMatchesSelector"])
      wrap(
        proto,
        name,
        (before) =>
          function (...args) {
            return apply(before, this, args.length ? [selector(args[0])] : args);
          },
      );
    wrap(
      proto,
      "getElementsByClassName",
      (before) =>
        function (...args) {
          return apply(before, this, args.length ? [listRenamed("class", String(args[0]))] : args);
        },
    );
  }
  wrap(
    Element.prototype,
    "getAttribute",
    (before) =>
      function (name) {
        const value = apply(before, this, [name]);
        const key = String(name).toLowerCase();
        return value !== null && (key === "id" || key === "class" || REFERENCES.has(key)) ? listBefore(value) : value;
      },
  );
  for (const [proto, name] of [
    [Element.prototype, "id"],
    [Element.prototype, "className"],
    [HTMLLabelElement.prototype, "htmlFor"],
  ])
    wrapGetter(
      proto,
      name,
      (before) =>
        function () {
          const value = apply(before, this, []);
          return typeof value === "string" ? listBefore(value) : value;
        },
    );
};

const wrapLists = () => {
  const { apply } = Reflect;
  const lists = new WeakSet();
  wrapGetter(
    Element.prototype,
    "classList",
    (before) =>
      function () {
        const list = apply(before, this, []);
        lists.add(list);
        return list;
      },
  );
  const { contains, add, remove } = DOMTokenList.prototype;
  const both = (name) => [renamed("class", String(name)), String(name)];
  const has = (list, name) => both(name).some((one) => apply(contains, list, [one]));
  wrap(
    DOMTokenList.prototype,
    "contains",
    (before) =>
      function (name) {
        return lists.has(this) ? has(this, name) : apply(before, this, [name]);
      },
  );
  wrap(
    DOMTokenList.prototype,
    "add",
    (before) =>
      function (...names) {
        return apply(before, this, lists.has(this) ? names.map((name) => both(name)[0]) : names);
      },
  );
  wrap(
    DOMTokenList.prototype,
    "remove",
    (before) =>
      function (...names) {
        return apply(before, this, lists.has(this) ? names.flatMap(both) : names);
      },
  );
  wrap(
    DOMTokenList.prototype,
    "replace",
    (before) =>
      function (from, to) {
        if (!lists.has(this)) return apply(before, this, [from, to]);
        if (!has(this, from)) return false;
        apply(remove, this, both(from));
        apply(add, this, [both(to)[0]]);
        return true;
      },
  );
  wrap(
    DOMTokenList.prototype,
    "toggle",
    (before) =>
      function (...args) {
        if (!lists.has(this)) return apply(before, this, args);
        const [name, force] = args;
        const wanted = force === undefined ? !has(this, name) : Boolean(force);
        apply(remove, this, both(name));
        if (wanted) apply(add, this, [both(name)[0]]);
        return wanted;
      },
  );
};

/** Scrolls to what a fragment names: the address keeps the old name. */
const toFragment = () => {
  const name = decodeURIComponent(location.hash.slice(1));
  if (name && !withId(name)) withId(renamed("id", name))?.scrollIntoView();
};

export const startNames = () => {
  if (!isRenaming()) return;
  wrapLookups();
  wrapLists();
  wrap(
    CSSStyleSheet.prototype,
    "insertRule",
    (before) =>
      function (...args) {
        const at = Reflect.apply(before, this, args);
        styled.delete(this);
        restyle(this);
        return at;
      },
  );
  listen(document, "load", restyleAll, true);
  listen(globalThis, "load", toFragment);
  listen(globalThis, "hashchange", toFragment);
};
/** Before an element is renamed. */
export const noteStyles = (element) => {
  if (isRenaming() && isElement(element) && element.localName === "link") foreign(element);
};
