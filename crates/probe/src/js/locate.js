// @ts-check
// Rough filters: what a locator may mean. Whether it does is decided on the facts, elsewhere.
import {
  attr, byId, collapse, composedParent, contains, cut, hasAttribute, idOf, isElement, once, queryAll, tagOf,
} from "./tree.js";
import { roleOf } from "./roles.js";
import { isExcluded, LABELABLE, labelTexts, mayBeCalled, nameOf, SKIPPED } from "./names.js";
import { isVisible } from "./visible.js";
import { composedTextOf, factsOf, testIdOf } from "./facts.js";
import { byCss, inTreeOrder } from "./css.js";

export const refuse = (message) => {
  throw { badSelector: cut(String(message), 300) };
};
const byXPath = (expression, within) => {
  const found = new Set();
  for (const context of within ?? [document]) {
    let result;
    // Below a context, an absolute path starts there.
    const path = within && /^\s*\//.test(expression) ? `.${expression.trim()}` : expression;
    try {
      result = Reflect.apply(Document.prototype.evaluate, document, [
        path,
        context,
        null,
        XPathResult.ORDERED_NODE_SNAPSHOT_TYPE,
        null,
      ]);
    } catch (error) {
      refuse(error.message);
    }
    for (let i = 0; i < result.snapshotLength && found.size < 5000; i++) {
      const node = result.snapshotItem(i);
      if (isElement(node)) found.add(node);
    }
  }
  return found;
};
/** What a selector or an expression means that starts from an element: `:scope > li`, `./td`. */
export const relativeTo = (element, { by, selector }) => {
  if (by === "xpath") return [...byXPath(selector, [element])];
  try {
    return Array.from(queryAll(element, selector));
  } catch (error) {
    return refuse(error.message);
  }
};
/** Whether a text has the wanted words, which are collapsed and in lower case. */
const holds = (text, words) =>
  text !== null && text !== undefined && (words === undefined || collapse(text).toLowerCase().includes(words));
const asWords = (wanted) => (wanted === undefined ? undefined : collapse(wanted).toLowerCase());

export const locate = (filter, ask) =>
  once(() => {
    const found = [];
    let skipped = 0;
    const words = asWords(filter.text);
    const hasWords = asWords(filter.hasText);
    const inner = (ids) => ids?.map(byId).filter((element) => element);
    const within = inner(filter.within);
    const has = inner(filter.has);
    const hasNot = inner(filter.hasNot);
    const texts = new Map();
    const textual = (element) => {
      let text = texts.get(element);
      if (text === undefined) texts.set(element, (text = composedTextOf(element)));
      return text;
    };
    // A text is looked for first, and what narrows it is reported: the smallest element with a text is that, whatever
    // it has.
    const isText = filter.by === "text";
    const hasOne = (element) =>
      filter.hasRelative
        ? relativeTo(element, filter.hasRelative).length > 0
        : has.some((one) => (filter.hasItself || one !== element) && contains(element, one));
    const hasNone = (element) =>
      filter.hasNotRelative
        ? !relativeTo(element, filter.hasNotRelative).length
        : !hasNot.some((one) => (filter.hasNotItself || one !== element) && contains(element, one));
    const relates = (element) => {
      // An XPath was evaluated from there.
      if (
        within &&
        filter.by !== "xpath" &&
        !within.some((outer) => (isText || outer !== element) && contains(outer, element))
      )
        return false;
      if (isText) return true;
      if ((has && !hasOne(element)) || (hasNot && !hasNone(element))) return false;
      if (filter.visible !== undefined && isVisible(element) !== filter.visible) return false;
      return hasWords === undefined || holds(textual(element), hasWords);
    };
    const consider = (element, fits) => {
      if (!fits(element) || !relates(element)) return;
      if (found.length < filter.limit) found.push(element);
      else skipped++;
    };
    const every = (fits) =>
      inTreeOrder(document, (element) => {
        consider(element, fits);
      });
    const withAttribute = (name) => (element) => hasAttribute(element, name) && holds(attr(element, name), words);
    let selector;
    switch (filter.by) {
      case "testId":
        every((element) => holds(testIdOf(element, ask.testIds), words));
        break;
      case "role": {
        const presentational = filter.role === "none" || filter.role === "presentation";
        every(
          (element) =>
            roleOf(element) === filter.role &&
            (words === undefined || mayBeCalled(element, words)) &&
            (presentational || filter.includeHidden || !isExcluded(element)) &&
            (words === undefined || holds(nameOf(element), words)),
        );
        break;
      }
      case "label":
        every(
          (element) =>
            (LABELABLE.has(tagOf(element)) ||
              hasAttribute(element, "aria-label") ||
              hasAttribute(element, "aria-labelledby")) &&
            labelTexts(element).some((text) => holds(text, words)),
        );
        break;
      case "placeholder":
        every(withAttribute("placeholder"));
        break;
      case "alt":
        every(withAttribute("alt"));
        break;
      case "title":
        every(withAttribute("title"));
        break;
      case "text":
        every((element) => {
          const tag = tagOf(element);
          if (
            SKIPPED.has(tag) ||
            tag === "html" ||
            tag === "title" ||
            tag === "meta" ||
            tag === "link" ||
            tag === "base"
          )
            return false;
          const text = textual(element);
          return text !== "" && holds(text, words);
        });
        break;
      case "css":
        selector = true;
        for (const element of byCss(filter.selector)) consider(element, () => true);
        break;
      case "xpath":
        selector = true;
        for (const element of byXPath(filter.selector, within)) consider(element, () => true);
        break;
    }
    const position = new Map(found.map((element, index) => [element, index]));
    let budget = 4_000_000;
    const rows = [];
    for (const element of found) {
      if (budget <= 0) {
        skipped++;
        continue;
      }
      const facts = factsOf(element, { ...ask, text: false });
      if (ask.text) {
        facts.text = textual(element);
        budget -= facts.text.length;
      }
      const relations = {};
      if (selector) relations.selector = true;
      if (within) relations.within = true;
      if (has) relations.has = !isText || hasOne(element);
      if (hasNot) relations.hasNot = !isText || hasNone(element);
      facts.relations = relations;
      const row = { id: idOf(element), facts };
      if (filter.by === "text") {
        for (let up = composedParent(element); up; up = composedParent(up)) {
          if (position.has(up)) {
            row.parent = position.get(up);
            break;
          }
        }
      }
      rows.push(row);
    }
    return { rows, skipped };
  });
