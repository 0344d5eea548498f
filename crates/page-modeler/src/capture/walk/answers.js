// @ts-check
// What the wire may ask, and the end of the function that `open.js` begins.
import * as cb from "cuebook:core";
import { attr, cut, lookOf, roleOf, tagOf } from "cuebook:core";
import { memory } from "./memory.js";
import { examined } from "./infos.js";
import { changed, resort } from "./changes.js";
import { droppable, isNative, listening, REGIONS } from "./reasons.js";
import { describe } from "./cover.js";
import { settle } from "./settle.js";
import { hundredths, isUnchanged, run } from "./answer.js";
import { actable, nearby, nearest, resolved } from "./explore.js";
import { reading } from "./reading.js";

/** A box on the wire: CSS pixels of the frame's viewport. */
const boxIn = ({ x, y, width, height }) => ({
  x: hundredths(x),
  y: hundredths(y),
  width: hundredths(width),
  height: hundredths(height),
});
/** Notes what an element listens for, maybe nothing any more; whether it is of this document, and news. */
const isNews = (element, { pointer, drop }) => {
  if (
    (listening.has(element) === pointer && droppable.has(element) === drop) ||
    cb.nodeType(element) !== 1 ||
    cb.ownerDocument(element) !== document
  )
    return false;
  if (pointer) listening.add(element);
  else listening.delete(element);
  if (drop) droppable.add(element);
  else droppable.delete(element);
  const tag = tagOf(element);
  // A native control is offered in any case.
  if (isNative(element, tag)) return false;
  memory.targets.push(element);
  if (REGIONS.has(tag))
    memory.targets.push(
      ...cb
        .childrenOf(element)
        .filter((child) => cb.nodeType(child) === 1)
        .slice(0, 500),
    );
  return true;
};
/** What the wire may ask. */
export const walk = {
  run: (options) => cb.once(() => run(options)),
  settle,
  isUnchanged: (asked) => cb.once(() => isUnchanged(asked)),
  /** Whether anything in the document changed since the last walk. */
  changed: () => changed(),
  /** Which of these points something else covers, in a frame that holds the frame that `owner` shows. */
  covered: (owner, points) =>
    cb.once(() => {
      const element = cb.byId(owner);
      return points.map(([x, y]) => {
        const hit = cb.elementAt(x, y);
        return !element || !hit || hit === element || cb.contains(hit, element) ? null : describe(hit);
      });
    }),
  /** The closed shadow roots that the wire found. */
  registered: (root) => {
    cb.registerClosedRoot(root);
    const host = cb.hostOf(root);
    resort(memory.infos.get(host) ?? null);
    if (host) memory.targets.push(host);
    return true;
  },
  /** The native controls of the document, without those in shadow roots. */
  natives: () => Array.from(cb.queryAll(document, "a[href],area[href],button,input,select,textarea")),
  /** What the wire found elements to listen for: each element, then what. Answers how many of them are news. */
  listen: (told) =>
    cb.once(() => {
      let news = 0;
      for (let i = 0; i < told.length; i += 2) if (isNews(told[i], told[i + 1])) news++;
      return news;
    }),
  /** The page's text in blocks, each with the nearest thing that can be acted on. */
  texts: (limit) =>
    JSON.stringify(
      cb.once(() => {
        const blocks = [];
        let budget = limit;
        let isCut = false;
        const stack = [{ element: cb.bodyElement() ?? cb.rootElement(), nearest: 0, depth: 0 }];
        while (stack.length && budget > 0) {
          const { element, nearest, depth } = stack.pop();
          if (
            !element ||
            depth > 1000 ||
            ["script", "style", "template", "noscript"].includes(tagOf(element)) ||
            cb.isHidden(element)
          )
            continue;
          const here = actable(element) ? cb.idOf(element) : nearest;
          const children = cb.childrenOf(element);
          const inline = children.every(
            (child) =>
              cb.nodeType(child) !== 1 ||
              (/^inline|contents/.test(lookOf(child).display) && !cb.queryAll(child, "p,div,li,td,h1,h2,h3").length),
          );
          const direct = children.some((child) => cb.nodeType(child) === 3 && /\S/.test(cb.characterData(child)));
          if (direct || inline) {
            const text = cut(cb.textOf(element), budget);
            if (text) {
              blocks.push([text, here || nearby(element)]);
              isCut ||= text.length >= cb.TEXT_LIMIT;
              budget -= text.length;
            }
            continue;
          }
          for (let i = children.length - 1; i >= 0; i--)
            if (cb.nodeType(children[i]) === 1) stack.push({ element: children[i], nearest: here, depth: depth + 1 });
        }
        return { blocks, whole: budget > 0 && !isCut };
      }),
    ),
  reading: (options) => JSON.stringify(cb.once(() => reading(options))),
  /** What matches a selector, with attributes; links and sources resolved. */
  find: (selector, attributes, within, limit) =>
    JSON.stringify(
      cb.once(() => {
        const outer = within ? cb.byId(within) : null;
        const found = cb
          .byCss(selector)
          .filter((element) => !within || (outer && outer !== element && cb.contains(outer, element)));
        const elements = found.slice(0, limit).map((element) => {
          const row = {
            node: cb.idOf(element),
            tag: cut(tagOf(element), 60),
            role: roleOf(element),
            name: cut(cb.nameOf(element), 200),
            text: cut(cb.textOf(element), 200),
            visible: cb.isVisible(element),
            nearest: actable(element) ? cb.idOf(element) : nearest(element),
          };
          if (row.visible) row.box = boxIn(cb.boxOf(element));
          if (attributes.length) {
            row.attributes = {};
            for (const name of attributes) {
              const stated = attr(element, name);
              if (name === "value" && cb.isSensitive(element)) {
                row.attributes[name] = null;
                continue;
              }
              if (name === "value") {
                const live = cb.valueOf(element);
                row.attributes[name] = live === undefined ? stated : cut(live, 2000);
                continue;
              }
              const url = stated !== null && ["href", "src", "action", "formaction", "poster", "data"].includes(name);
              row.attributes[name] = stated === null ? null : url ? resolved(stated) : cut(stated, 2000);
            }
          }
          return row;
        });
        return { total: found.length, elements };
      }),
    ),
  suspects: (ids) => ids.map((id) => cb.byId(id)).filter((element) => element),
  examined: (ids) => {
    for (const id of ids) {
      const element = cb.byId(id);
      if (element) examined.add(element);
    }
  },
};
