// @ts-check
// What a thing on a page is about: the texts that stand around it. The page modeler reads it when it offers a
// candidate, the executor when it acts on one; both through this file, so that both mean the same.
//
// Labels are short and are shown. What identifies is whole and is compared as a digest: the name and role of the
// thing; each row, list item, article, dialog, group and section around it; the headings above it. What a page
// changes by itself is left out where it can be known: see ARCHITECTURE.md, "What identifies".
import {
  attr, characterData, collapse, cut, firstChild, flatChildren, flatParent, hasAttribute, isElement, isHtml,
  lookOf, matches, memo, nextSibling, nodeType, once, parentNode, position, previousSibling, queryAll, rootNode,
  shadowOf, styleOf, tagOf, textContent, typeOf,
} from "./tree.js";
import { textsIn, title } from "./tools.js";
import { isEditingHost, roleOf } from "./roles.js";
import { contentOf, controlOf, isHidden, nameOf, referenced, SKIPPED } from "./names.js";
import { statesOf } from "./states.js";
import { isVisible } from "./visible.js";
import { requestOf } from "./activation.js";

const MENUS = new Set(["menu", "menubar", "listbox", "tablist", "tree"]);
const HEADINGS = "h1,h2,h3,h4,h5,h6,[role=heading]";
/** A number for a text, 53 bits, in short digits: equal texts, equal numbers. */
export const digestOf = (text) => {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
};

/** What a page wrote, on one line; of megabytes only the beginning is read. */
export const shortText = (text, limit = 80) => cut(collapse(text.slice(0, 20_000)), limit);
/** The beginning of what is written in an element, hidden or not. */
export const textHead = (element, limit = 2000) => {
  const walker = textsIn(element);
  let text = "";
  while (text.length < limit && walker.nextNode()) text += characterData(walker.currentNode).slice(0, limit);
  return text;
};

// What the pointer brings out: tips, and the actions of a row.
const isDrawnAside = ({ position }) => position === "absolute" || position === "fixed";
export const isTip = (element) =>
  attr(element, "role") === "tooltip" || hasAttribute(element, "popover") || isDrawnAside(styleOf(element));
const isTipOrActions = (element) => {
  if (isTip(element) || matches(element, ACTABLE)) return true;
  const inner = Array.from(queryAll(element, ACTABLE));
  return (
    inner.length > 0 &&
    !/[\p{L}\p{N}]/u.test(inner.reduce((rest, one) => rest.replace(textContent(one), ""), textContent(element)))
  );
};
/**
 * While a gesture arrives: what was shown before. Tips and actions that only appear under the pointer say nothing
 * else.
 */
let arrival = null;
/** Whether an element is shown since a gesture arrives, and of a kind that adds nothing to what is said. */
export const hasAppeared = (element, isKind) => {
  if (!arrival) return false;
  if (arrival.isHere) return !arrival.shown.has(element) && (arrival.isPressed || isKind(element));
  if (!isHidden(element)) arrival.shown.add(element);
  return false;
};
/** Generated text, without tips that the pointer brought. */
export const generatedBefore = (element, which, text) => {
  if (!arrival) return text;
  const key = which === "::before" ? arrival.before : arrival.after;
  if (arrival.isHere)
    return key.get(element) !== text && isDrawnAside(getComputedStyle(element, which))
      ? (key.get(element) ?? "")
      : text;
  key.set(element, text);
  return text;
};
/** Does `work` and notes in `noted` what is shown while it is done, for `onArrival`. */
export const beforeArrival = (noted, work) => {
  arrival = Object.assign(noted, { isHere: false, shown: new WeakSet(), before: new WeakMap(), after: new WeakMap() });
  try {
    return once(work);
  } finally {
    arrival = null;
  }
};
/**
 * Does `work` as if what the pointer has brought out since were not there, nor, once the thing `isPressed`, anything
 * that was added.
 */
export const onArrival = (noted, isPressed, work) => {
  arrival = { ...noted, isHere: true, isPressed };
  try {
    return once(work);
  } finally {
    arrival = null;
  }
};

// What is made to change by itself: what says so by its role, and what its page or a library of carousels calls so.
const TICKING_ROLES = new Set(["timer", "marquee", "progressbar", "meter", "scrollbar"]);
const TICKING_TAGS = new Set(["progress", "meter", "marquee"]);
const TICKING_WORDS = (
  "clock timer countdown ticker marquee carousel carousel-inner slideshow swiper slick-slider splide glide " +
  "flickity-enabled owl-carousel"
).split(" ");
const TICKING_NAMES = new RegExp(`(?:^|\\s)(?:${TICKING_WORDS.join("|")})(?:\\s|$)`, "i");
const isTicking = (element, tag) => {
  if (TICKING_TAGS.has(tag)) return true;
  const role = attr(element, "role");
  if (role && TICKING_ROLES.has(role)) return true;
  if (/carousel|slide/i.test(attr(element, "aria-roledescription") ?? "")) return true;
  const names = attr(element, "class");
  return (names !== null && TICKING_NAMES.test(names)) || TICKING_NAMES.test(attr(element, "id") ?? "");
};
// What has a meaning apart from what stands around it: its headings are not those of its neighbours.
const APART_TAGS = new Set(
  "article aside nav section main dialog form fieldset li tr table figure details blockquote".split(" "),
);
const APART_ROLES = new Set(
  (
    "article complementary navigation region main dialog alertdialog form search group radiogroup " +
    "listitem row treeitem tabpanel"
  ).split(" "),
);
const isApart = (element) => {
  const tag = tagOf(element);
  return APART_TAGS.has(tag) || APART_ROLES.has(attr(element, "role")) || isTicking(element, tag);
};
const ITEM_TAGS = new Set(["li", "tr", "article", "dialog"]);
const ITEM_ROLES = new Set(["listitem", "row", "article", "treeitem", "dialog", "alertdialog"]);
const PRESSED_TAGS = new Set(["button", "input", "select", "textarea"]);
/** Whether text is entered or an option is chosen there: what stands after it may depend on what is entered. */
const takesText = (element, tag) => {
  if (tag === "input")
    return !["button", "submit", "reset", "image", "checkbox", "radio", "hidden", "file", "range", "color"].includes(
      typeOf(element),
    );
  return (
    tag === "select" ||
    tag === "textarea" ||
    isEditingHost(element) ||
    attr(element, "role") === "textbox" ||
    attr(element, "role") === "combobox"
  );
};
const ANSWERING_ROLES = new Set(["alert", "status", "log", "listbox"]);
/** What says nothing about what it is in, for now. */
let silent = null;
/**
 * The visible text of a container without what can be acted on in it, and as far as its first field; `every` reads
 * what ticks and what its inner items say, too; `items` the latter alone.
 */
const readWords = (container, limit, every, items = every) => {
  let text = "";
  let lead = -1;
  const read = (node, depth) => {
    if (depth > 40) return;
    for (const child of flatChildren(node)) {
      if (text.length > limit) return;
      if (nodeType(child) === 3) text += characterData(child).slice(0, limit);
      else if (isElement(child)) {
        if (child === silent) continue;
        const tag = tagOf(child);
        const role = attr(child, "role");
        if (PRESSED_TAGS.has(tag) || role === "button" || role === "checkbox") {
          if (lead < 0 && takesText(child, tag)) lead = text.length;
          continue;
        }
        if (SKIPPED.has(tag) || isHidden(child) || hasAppeared(child, isTipOrActions)) continue;
        if (!every) {
          // What a field opens or shows in response changes as it is used.
          if (lead >= 0 && (isTip(child) || ANSWERING_ROLES.has(role) || hasAttribute(child, "aria-live"))) continue;
          // The moment that a relative time refers to does not change.
          const moment = tag === "time" ? attr(child, "datetime") : null;
          if (moment) {
            text += ` ${moment} `;
            continue;
          }
          if (isTicking(child, tag) || (!items && (ITEM_TAGS.has(tag) || ITEM_ROLES.has(role)))) continue;
          if (lead < 0 && takesText(child, tag)) lead = text.length;
        }
        text += " ";
        read(child, depth + 1);
        text += " ";
      }
    }
  };
  read(container, 0);
  return { text, lead: lead < 0 ? "" : text.slice(0, lead), hasField: lead >= 0 };
};
/** The visible text of a container without what can be acted on in it. */
export const ownText = (container, limit = 80) => shortText(readWords(container, limit * 2, true).text, limit);

const WORDS_LIMIT = 2000;
/** A longer text is that of a layout: only its beginning counts. */
const HEAD_LIMIT = 200;
const wholeText = ({ text, lead }) => {
  const whole = collapse(lead) || collapse(text);
  return whole.length > WORDS_LIMIT ? cut(whole, HEAD_LIMIT) : whole;
};
/** What a dialog says, with what it lists. */
export const wordsOf = (dialog) => itemText(dialog, true);
/** What an item says: its text, else that of all in it, else what its controls are called. */
const itemText = (element, items = false) => {
  const own = readWords(element, WORDS_LIMIT, false, items);
  // What a field finds may be items of a list.
  const words = wholeText(own) || own.hasField ? wholeText(own) : wholeText(readWords(element, WORDS_LIMIT, true));
  return words || own.hasField
    ? words
    : Array.from(queryAll(element, "button,a,[role=button]")).slice(0, 5).map(nameOf).join(" ");
};
/**
 * The words of an element without the numbers in them, once those have changed by themselves: a countdown. Only of
 * headings and dialogs: in a row or an item a number may be what names it, and a list that shifts changes it too.
 */
const withoutTicks = (element, kind, text) => {
  let kinds = ticks.get(element);
  if (!kinds) ticks.set(element, (kinds = new Map()));
  const bare = text.replace(/\d+/g, "#");
  const last = kinds.get(kind);
  const changes = !last || last.bare !== bare ? 0 : last.changes + (last.text === text ? 0 : 1);
  kinds.set(kind, { text, bare, changes });
  return changes >= TICKS ? bare : text;
};
const TICKS = 2;
const ticks = new WeakMap();
/** Counts in brackets tick: "Inbox (3)". */
const withoutCounts = (text) => collapse(text.replace(/[([]\s*\d+\s*[)\]]/g, " ").replace(LONE_SIGNS, " ")) || text;
/** Signs that stand alone turn in their place: a spinner made of text. */
const LONE_SIGNS = /(?<=^|\s)[^\p{L}\p{N}\p{Sc}\s]+(?=\s|$)/gu;

const isWithin = (outer, inner) => {
  for (let up = flatParent(inner); up && up !== outer; up = flatParent(up)) if (isApart(up)) return false;
  return true;
};
/** The first heading of a container that is not of something apart in it. */
export const headingIn = (container) => {
  for (const heading of Array.from(queryAll(container, `${HEADINGS},legend,summary`)).slice(0, 20))
    if (isWithin(container, heading)) return shortText(textHead(heading));
  return "";
};
const headingChild = (container) => {
  for (const child of headedChildren(container))
    if (/^h[1-6]$/.test(tagOf(child))) return shortText(textHead(child));
  return "";
};
const rowTexts = (row) => {
  const texts = [];
  for (const cell of flatChildren(row).filter(isElement).slice(0, 20)) {
    const text = ownText(cell);
    if (!text) continue;
    if (roleOf(cell) === "rowheader") texts.unshift(text);
    else texts.push(text);
  }
  if (!texts.length) {
    const whole = ownText(row);
    if (whole) texts.push(whole);
  }
  return texts;
};
/**
 * What an element says about all that it holds: `labels` of kinds and texts, and what identifies: `near` where it is
 * the nearest item around a thing, `far` around another item. `ends`: what lies beyond it is another matter.
 */
export const placeOf = (element, tag = tagOf(element), role = roleOf(element)) => {
  const labels = [];
  const add = (kind, text) => {
    if (text) labels.push([kind, text]);
  };
  const plain = (kind, text) => {
    add(kind, shortText(text));
    const key = text && digestOf(`${kind} ${withoutCounts(text)}`);
    return { labels, near: key, far: key, item: false, ends: false };
  };
  const item = (kind, whole, head, ends = false) => ({
    labels,
    near: whole && digestOf(`${kind} ${head} ${whole}`),
    far: digestOf(`${kind} ${head || whole}`),
    item: true,
    ends,
  });
  const stated = () => attr(element, "aria-label") ?? "";
  if (role === "row") {
    for (const text of rowTexts(element).slice(0, 4)) add("row", text);
    return item("row", itemText(element), stated());
  }
  if (role === "listitem" || role === "article" || role === "treeitem" || role === "option" || role === "menuitem") {
    const kind = role === "listitem" ? "list item" : role;
    const name = role === "article" ? nameOf(element) : stated();
    const whole = itemText(element);
    const heading = role === "listitem" || role === "article" ? headingIn(element) : "";
    if (role === "article") add(kind, shortText(name));
    add(kind, heading);
    add(kind, shortText(whole));
    return item(kind, whole, name || heading);
  }
  if (role === "dialog" || role === "alertdialog") {
    const name = nameOf(element) || headingIn(element);
    add("dialog", shortText(name));
    // The content of a dialog is what it asks about.
    const words = withoutTicks(element, "words", itemText(element, true));
    return item("dialog", words, withoutTicks(element, "name", name), true);
  }
  if (MENUS.has(role)) return plain(role, nameOf(element));
  if (role === "group" || role === "radiogroup")
    return plain("group", nameOf(element) || (tag === "details" ? headingIn(element) : ""));
  if (role === "form" || tag === "form") {
    const said = plain("form", stated() || headingIn(element));
    if (!labels.length) add("form", shortText(attr(element, "name") ?? attr(element, "id") ?? ""));
    return said;
  }
  if (role === "region" || role === "tabpanel" || tag === "section")
    return plain(role === "tabpanel" ? "tab panel" : "section", nameOf(element) || headingIn(element));
  if (
    role === "navigation" ||
    role === "banner" ||
    role === "contentinfo" ||
    role === "complementary" ||
    role === "search" ||
    role === "toolbar" ||
    role === "main"
  )
    return plain(role, nameOf(element) || `the ${role}`);
  if (role === "table" || role === "grid") return plain("table", nameOf(element));
  if (tag === "dd") {
    let term = previousSibling(element);
    while (term && !(isElement(term) && tagOf(term) === "dt")) term = previousSibling(term);
    return plain("term", term ? ownText(term, 200) : "");
  }
  return plain("under", tag === "div" ? headingChild(element) : "");
};

/**
 * What leads to a heading in each tree, with those of its children that do, in order: all else is passed over without
 * being asked.
 */
const readHeaded = (root) => {
  const known = new Map();
  for (const heading of queryAll(root, HEADINGS)) {
    if (!known.has(heading)) known.set(heading, []);
    for (let child = heading, up = parentNode(child); up; child = up, up = parentNode(up)) {
      const children = known.get(up);
      if (!children) known.set(up, [child]);
      else {
        if (children.at(-1) !== child) children.push(child);
        break;
      }
    }
  }
  return known;
};
/** What was read of each tree, until its elements or their roles change: a meaning is asked for at each event. */
const headed = new WeakMap();
const headedIn = (root) => {
  const sure = memo?.headed.get(root);
  if (sure) return sure;
  let kept = headed.get(root);
  if (!kept) {
    const observer = new MutationObserver(() => (kept.known = null));
    observer.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["role"] });
    headed.set(root, (kept = { known: null, observer }));
  }
  if (kept.observer.takeRecords().length || !kept.known) kept.known = readHeaded(root);
  memo?.headed.set(root, kept.known);
  return kept.known;
};
/** Whether the children in the flat tree are of another tree. */
const showsOthers = (element) => shadowOf(element) !== null || tagOf(element) === "slot";
/** The children of an element in which headings may be, in order; all where they are of another tree. */
const headedChildren = (element) =>
  showsOthers(element)
    ? flatChildren(element).filter(isElement)
    : (headedIn(rootNode(element)).get(element) ?? []);
const headingFact = (element) => {
  const text = isVisible(element) ? nameOf(element) || shortText(textHead(element), 200) : "";
  return text ? { level: statesOf(element).level ?? 2, text, words: withoutTicks(element, "words", text) } : null;
};
/** The heading that an element gives to what follows it: itself, or the only one of the highest rank in it. */
export const crownOf = (element) => {
  if (!headedIn(rootNode(element)).has(element)) return null;
  if (roleOf(element) === "heading") return headingFact(element);
  if (isApart(element)) return null;
  let best = null;
  let alone = true;
  for (const heading of queryAll(element, HEADINGS)) {
    const level = statesOf(heading).level ?? 2;
    if (best && level > best.level) continue;
    if (!isWithin(element, heading)) continue;
    alone = !best || level < best.level;
    best = { level, heading };
  }
  return best && alone ? headingFact(best.heading) : null;
};
/** A line of headings, the nearest first, with one more: it ends those of its rank and below. */
export const crowned = (line, crown) => {
  let up = line;
  while (up && up.level >= crown.level) up = up.up;
  return { ...crown, up, key: digestOf(`${crown.level} ${withoutCounts(crown.words)} ${up?.key ?? ""}`) };
};
/** `Node.DOCUMENT_POSITION_FOLLOWING`. */
const FOLLOWING = 4;
/** The headings above an element: those before it in what holds it, and in what holds that, up to a dialog. */
const lineOf = (element) => {
  const path = [];
  for (let up = element; up; up = flatParent(up)) path.push(up);
  let line = null;
  for (let i = path.length - 1; i > 0; i--) {
    if (isDialog(path[i])) line = null;
    const [outer, inner] = [path[i], path[i - 1]];
    const isOrdered = !showsOthers(outer);
    for (const child of headedChildren(outer)) {
      if (child === inner || (isOrdered && position(inner, child) & FOLLOWING)) break;
      const crown = crownOf(child);
      if (crown) line = crowned(line, crown);
    }
  }
  return line;
};
const isDialog = (element) => {
  const role = roleOf(element);
  return role === "dialog" || role === "alertdialog";
};

/** The same, where the places around a thing, nearest first, and its line of headings are known. */
export const aboutOf = (role, name, places, line, own) => {
  const labels = [];
  const parts = own ? [own] : [];
  let inItem = false;
  let ended = false;
  for (const place of places) {
    for (const label of place.labels) if (labels.length < 12) labels.push(label);
    if (ended) continue;
    const key = place.item && inItem ? place.far : place.near;
    if (key) parts.push(key);
    inItem ||= place.item;
    ended = place.ends;
  }
  if (line) {
    labels.push(["after heading", shortText(line.text)]);
    parts.push(line.key);
  }
  // Without any other context, the page's title is the context.
  if (parts.length === (own ? 1 : 0))
    parts.push(
      `title ${withoutCounts(title(document))
        .replace(/\d+(?::\d+)+|\d+\s*%/g, "")
        .trim()}`,
    );
  return {
    labels,
    titled: !places.some((place) => place.near) && !line,
    key: digestOf(`${role} ${name} ${parts.join(" ")}`),
  };
};

/** The text that stands beside an element, on one side, up to the next control. */
const besideText = (element, forward) => {
  let text = "";
  const step = forward ? nextSibling : previousSibling;
  for (let node = step(element), read = 0; node && read < 20; node = step(node), read++) {
    let piece = "";
    if (nodeType(node) === 3) piece = collapse(textContent(node).slice(-400));
    else if (isElement(node)) {
      const tag = tagOf(node);
      if (tag === "br" || tag === "script" || tag === "style") {
        if (text) break;
        continue;
      }
      if (isHidden(node)) continue;
      const control = isHtml(node, "label") ? controlOf(node) : null;
      if ((control && control !== element) || matches(node, ACTABLE) || queryAll(node, ACTABLE).length)
        return { text, ended: true };
      piece = ownText(node);
      if (piece && !/^inline/.test(lookOf(node).display)) {
        text ||= piece;
        break;
      }
    }
    if (piece) text = forward ? `${text} ${piece}` : `${piece} ${text}`;
  }
  return { text, ended: text !== "" };
};
export const ACTABLE =
  "a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link]," +
  "[role=tab],[role=menuitem],[role=checkbox],[role=radio],[role=switch],[tabindex='0'],[onclick]," +
  "[contenteditable]";
const OUTER = new Set(
  (
    "body html form fieldset main section article aside nav header footer dialog table tbody thead tfoot " +
    "tr ul ol dl"
  ).split(" "),
);
const BOXES = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"]);
/** What a field without a name is called beside it: before it, or after a box to be checked. */
export const besideOf = (element, tag, role) => {
  const isBox = BOXES.has(tag === "input" ? typeOf(element) : role);
  if (!isBox && !takesText(element, tag) && !(tag === "input" && ["file", "range", "color"].includes(typeOf(element))))
    return "";
  for (
    let up = element, depth = 0;
    up && depth < 5 && isElement(up) && !OUTER.has(tagOf(up));
    up = parentNode(up), depth++
  ) {
    for (const forward of isBox ? [true, false] : [false]) {
      const { text, ended } = besideText(up, forward);
      const label = shortText(text.replace(/[\s:*]+$/, ""));
      if (label) return label;
      if (ended && !(isBox && forward)) return "";
    }
  }
  return "";
};
/** The replacement for a missing name. */
export const fallbackOf = (element, tag, role) => {
  const read =
    tag === "select" || tag === "input" || tag === "textarea" || role === "textbox" || role === "combobox"
      ? ""
      : shortText(contentOf(element), 120);
  return (
    read ||
    shortText(
      attr(element, "title") ??
        attr(element, "data-tooltip") ??
        attr(element, "alt") ??
        attr(element, "placeholder") ??
        "",
    )
  );
};
/**
 * What a button or link says of itself beside its name: what it requests or where it leads, and what describes it for
 * all to see.
 */
export const ownOf = (element, tag) => {
  if (takesText(element, tag)) return "";
  const { method, url } = requestOf(element);
  const leads = url ?? (tag === "a" || tag === "area" ? attr(element, "href") : null);
  const isSaid = (found) => !isHidden(found) && !isTip(found) && !hasAppeared(found, isTip);
  const describing = hasAttribute(element, "aria-describedby") ? referenced(element, "aria-describedby") : [];
  const words = describing.filter(isSaid).map((found) => collapse(readWords(found, WORDS_LIMIT, false).text)).join(" ");
  const request = `${method ?? ""} ${(leads ?? "").split(/[?#]/)[0]}`;
  return leads || words ? digestOf(`${request} ${withoutCounts(words)}`) : "";
};
/** What a thing is called: its name, or what stands beside it and for its name. */
export const calledBy = (name, beside, fallback) => name || `${beside} ${fallback}`;

/** Where an element stands among its siblings of one tag: 1-based, and how many they are. */
export const rankOf = (element) => {
  const parent = parentNode(element);
  if (!parent) return { at: 1, of: 1 };
  let ranks = memo?.ranks.get(parent);
  if (!ranks) {
    ranks = { at: new Map(), of: new Map() };
    for (let child = firstChild(parent); child; child = nextSibling(child)) {
      if (!isElement(child)) continue;
      const count = (ranks.of.get(tagOf(child)) ?? 0) + 1;
      ranks.of.set(tagOf(child), count);
      ranks.at.set(child, count);
    }
    memo?.ranks.set(parent, ranks);
  }
  return { at: ranks.at.get(element) ?? 1, of: ranks.of.get(tagOf(element)) ?? 1 };
};
/**
 * Of a thing that its context does not tell from its twins: the part of the page that is its alone, so many parents
 * up.
 */
const partOf = (element, up) => {
  let part = element;
  for (let level = 0; level < up && part; level++) part = flatParent(part);
  return part;
};
export const partText = (part, up) => (up > 0 ? itemText(part) : "");

const placesAround = (element) => {
  const places = [];
  for (let up = flatParent(element), depth = 0; up && depth < 200; up = flatParent(up), depth++)
    places.push(placeOf(up));
  return places;
};
/** What an element is about, as a walk over the whole page would find it. */
export const meaningOf = (element) =>
  once(() => {
    const role = roleOf(element);
    const tag = tagOf(element);
    const called = nameOf(element) || calledBy("", besideOf(element, tag, role), fallbackOf(element, tag, role));
    return aboutOf(role, called, placesAround(element), lineOf(element), ownOf(element, tag));
  });
const LETTERS = /\p{L}/u;
/**
 * What names an item: its label, its heading, else its first words. Amounts, counts and messages in it may be answers
 * to what is entered there.
 */
const nameOfItem = (element, role) => {
  const stated = attr(element, "aria-label") || (isDialog(element) || role === "article" ? nameOf(element) : "");
  const heading = stated || headingIn(element);
  if (heading) return heading;
  const texts = role === "row" ? rowTexts(element) : [shortText(collapse(readWords(element, WORDS_LIMIT, false).lead))];
  // What follows the field may be an amount that depends on it.
  const rest = () => shortText(itemText(element).replace(/[\p{N}\p{Sc}.,]+/gu, " "));
  return texts.find((text) => LETTERS.test(text)) || texts.find((text) => text) || rest();
};
/**
 * What names the rows, items and dialogs that an element is in, the nearest first; not what the element says itself.
 */
export const itemNamesOf = (element) =>
  once(() => {
    silent = element;
    try {
      const names = [];
      for (let up = flatParent(element), depth = 0; up && depth < 200; up = flatParent(up), depth++) {
        const role = roleOf(up);
        if (ITEMS.has(role)) names.push(nameOfItem(up, role));
        if (isDialog(up)) break;
      }
      return names;
    } finally {
      silent = null;
    }
  });
const ITEMS = new Set(["row", "listitem", "article", "treeitem", "option", "menuitem", "dialog", "alertdialog"]);
/** Whether an element still has this meaning. */
export const isAbout = (element, { key, part }) =>
  once(() => {
    if (meaningOf(element).key !== key) return false;
    if (!part) return true;
    const own = partOf(element, part.up);
    if (!own || digestOf(partText(own, part.up)) !== part.key) return false;
    if (!part.of) return true;
    const { at, of } = rankOf(own);
    return at === part.at && of === part.of;
  });
