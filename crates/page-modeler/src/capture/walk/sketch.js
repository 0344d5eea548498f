// @ts-check
// The page in a few lines: landmarks and metadata.
import * as cb from "cuebook:core";
import { attr, shortText, tagOf, textHead } from "cuebook:core";
import { firstElement, nextElement } from "./infos.js";

export const count = (container, selector) => cb.queryAll(container, selector).length;
const plural = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;
const cellsOf = cb.elementChildren;
const CONTROLS =
  "a[href],button,input:not([type=hidden]),select,textarea,[role=button],[role=link],[role=tab],[role=menuitem]";
export const summaryOf = (element, tag, role) => {
  const id = attr(element, "id");
  const first = tag === "table" ? firstElement(element) : null;
  const caption = first && tagOf(first) === "caption" ? shortText(textHead(first, 200), 40) : "";
  const label = attr(element, "aria-label") || caption;
  const name =
    tag + (id && /^[\w-]{1,40}$/.test(id) ? `#${id}` : "") + (label ? ` ${JSON.stringify(shortText(label, 40))}` : "");
  if (tag === "form" || role === "form" || role === "search")
    return `${name}: ${plural(count(element, "input:not([type=hidden]),select,textarea"), "input")}`;
  if (tag === "table" || role === "table" || role === "grid") {
    const rows = Array.from(cb.queryAll(element, "tr,[role=row]"));
    const cells = rows[0] ? cellsOf(rows[0]).length : 0;
    const headers = rows.filter(
      (row) =>
        cellsOf(row).length &&
        Array.from(cellsOf(row)).every((cell) => tagOf(cell) === "th" || attr(cell, "role") === "columnheader"),
    ).length;
    return `${name}: ${plural(cells, "col")}, ${plural(rows.length - headers, "row")}`;
  }
  if (tag === "ul" || tag === "ol" || role === "list")
    return `${name}: ${plural(count(element, ":scope > li, :scope > [role=listitem]"), "item")}`;
  if (role === "navigation") return `${name}: ${plural(count(element, "a[href],[role=link]"), "link")}`;
  if (
    role === "main" ||
    role === "complementary" ||
    role === "region" ||
    role === "banner" ||
    role === "contentinfo" ||
    role === "dialog" ||
    role === "alertdialog" ||
    role === "tablist" ||
    role === "toolbar" ||
    role === "menu"
  )
    return `${name}: ${plural(count(element, CONTROLS), "control")}`;
  return "";
};
/** How many items a list has; counting ends at a few. */
export const itemsOf = (element) => {
  let items = 0;
  for (let child = firstElement(element); child && items < 3; child = nextElement(child))
    if (tagOf(child) === "li" || attr(child, "role") === "listitem") items++;
  return items;
};
export const LANDMARKS = new Set(
  (
    "form search table grid navigation main complementary region dialog alertdialog banner contentinfo " +
    "tablist toolbar menu"
  ).split(" "),
);
export const metaOf = (selector) => {
  const meta = cb.queryAll(document, selector)[0];
  return meta ? shortText(attr(meta, "content") ?? "", 300) : "";
};
const linkedData = () => Array.from(cb.queryAll(document, 'script[type="application/ld+json"]')).slice(0, 5);
export const schemaType = () => {
  for (const script of linkedData()) {
    const found = /"@type"\s*:\s*(?:\[\s*)?"([A-Za-z:/.]{2,60})"/.exec(textHead(script, 20000).slice(0, 20000));
    if (found) return found[1];
  }
  return "";
};

const FRAMES = new Set(["WebSite", "Organization", "BreadcrumbList", "WebPage"]);
const object = (value) => (typeof value === "object" && value) || {};
/** A value of linked data in words: the first of a list, the name of an object. */
const worded = (value) => {
  const [one] = Array.isArray(value) ? value : [value];
  const { name } = object(one);
  const text = name ?? one;
  return typeof text === "string" || typeof text === "number" ? shortText(String(text), 200) : "";
};
/** The objects of a script of linked data; none if it is long or no JSON. */
const objectsOf = (script) => {
  const text = textHead(script, 50_000);
  try {
    const read = text.length < 50_000 ? JSON.parse(text) : [];
    const graph = object(read)["@graph"] ?? read;
    return (Array.isArray(graph) ? graph : [graph]).slice(0, 50).map(object);
  } catch {
    return [];
  }
};
/** What the page states about its subject, in linked data first. */
export const stated = () => {
  const all = linkedData().flatMap(objectsOf);
  const subject = all.find((one) => !FRAMES.has(worded(one["@type"]))) ?? {};
  const { name, headline, author, datePublished } = subject;
  const [offer] = [subject.offers].flat().map(object);
  const graph = new Map();
  for (const meta of Array.from(cb.queryAll(document, "meta[property]")).slice(0, 100))
    graph.set(attr(meta, "property"), shortText(attr(meta, "content") ?? "", 200));
  const told = (value, ...names) => worded(value) || names.map((name) => graph.get(name)).find(Boolean);
  return {
    name: told(name ?? headline, "og:title"),
    price: told(offer.price ?? offer.lowPrice, "product:price:amount", "og:price:amount"),
    currency: told(offer.priceCurrency, "product:price:currency", "og:price:currency"),
    author: told(author, "article:author"),
    date: told(datePublished, "article:published_time"),
  };
};
