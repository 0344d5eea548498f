// @ts-check
// What is written around an element, by what the walk keeps of each that holds it; read by the probe's `context.js`.
import * as cb from "cuebook:core";
import { attr, collapse, cut, shortText } from "cuebook:core";

const ICON_FONT = /icon|material|glyph|awesome|symbol/i;
/** The texts in an element that an icon font draws as pictures. */
export const ligaturesOf = (element) => {
  const found = [];
  const look = (node, depth) => {
    if (depth > 4 || found.length > 4) return;
    for (const child of cb.childrenOf(node).slice(0, 20)) {
      if (cb.nodeType(child) === 1) look(child, depth + 1);
      else if (cb.nodeType(child) === 3) {
        const text = collapse(cb.characterData(child).slice(0, 60));
        if (text && /^[a-z0-9_]{2,40}$/.test(text) && ICON_FONT.test(cb.styleOf(node).fontFamily)) found.push(text);
      }
    }
  };
  look(element, 0);
  return found;
};

const DRAWN = "svg, use, i, span, img";
const ICON = /(?:^|[^a-z])(?:fa|fas|far|bi|icon|icons|ic|glyphicon|mdi|ti|lucide|ph|octicon)[-_ ]+([a-z][a-z-]*)/gi;
/** What the pictures of a control without words are called: by their class, file or symbol. */
export const iconOf = (element) => {
  const pictures = Array.from(cb.queryAll(element, DRAWN)).slice(0, 5);
  const said = [element, ...pictures].flatMap((one) =>
    ["class", "href", "xlink:href", "src", "data-icon", "data-lucide"].map((name) => cut(attr(one, name) ?? "", 200)),
  );
  const found = said.flatMap((text) => Array.from(text.matchAll(ICON), (hit) => hit[1]));
  return cut([...ligaturesOf(element), ...found].join(" ").replace(/[-_]/g, " "), 200);
};

/** The context that an element gives to its content; cached while nothing in it changes. */
export const placeKept = (info) => {
  if (info.place === undefined) {
    info.place = cb.placeOf(info.element, info.tag, info.role);
    info.placeKnown ??= placeKey(info.place);
  }
  return info.place;
};
export const placeKey = ({ labels, near, far }) => `${near} ${far} ${labels.join("\0")}`;
export const crownOf = (info) => {
  if (info.crown === undefined) info.crown = cb.crownOf(info.element);
  return info.crown;
};
/** The meaning of an element, from what the walk knows of its ancestors. */
export const aboutOf = (info, called) => {
  const places = [];
  for (let up = info.parent; up && places.length < 200; up = up.parent) places.push(placeKept(up));
  return cb.aboutOf(info.role, called, places, info.line, cb.ownOf(info.element, info.tag));
};
/** For rows with the same context, the part of the page that only one of them is in: its text, or its rank. */
export const distinguishTwins = (entries) => {
  const groups = new Map();
  for (const entry of entries) {
    const group = groups.get(entry.row.about);
    if (group) group.push(entry);
    else groups.set(entry.row.about, [entry]);
    entry.part = undefined;
  }
  for (const group of groups.values()) {
    if (group.length < 2) continue;
    const held = new Map();
    for (const { info } of group) for (let up = info; up; up = up.parent) held.set(up, (held.get(up) ?? 0) + 1);
    const seen = new Map();
    for (const entry of group) {
      let part = entry.info;
      let up = 0;
      while (part.parent && held.get(part.parent) === 1) {
        part = part.parent;
        up++;
      }
      const text = up > 0 ? (part.words ??= cb.partText(part.element, up)) : "";
      seen.set(text, (seen.get(text) ?? 0) + 1);
      entry.part = { up, key: cb.digestOf(text) };
      entry.partText = shortText(text);
      entry.own = part.element;
    }
    if (seen.size < group.length) for (const { part, own } of group) Object.assign(part, cb.rankOf(own));
  }
};
