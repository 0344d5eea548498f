// @ts-check
// Makes the document drift: from its first element on, and while it is used.
import { drift } from "./draw.js";
import { all, isElement, isOurs, takeOut, whenParsed } from "./page.js";
import { NAMING, noteStyles, rename, restyleAll, startNames } from "./names.js";
import { rewordAll, startTexts } from "./texts.js";
import { reorderAll, startOrder } from "./order.js";
import { delay, moveAll, startTiming } from "./timing.js";
import { coverAll } from "./covers.js";
import { recycleAll, startNodes } from "./nodes.js";

let isWhole = false;
const arrived = (elements) => {
  for (const element of elements) {
    noteStyles(element);
    rename(element);
    delay(element);
  }
  restyleAll();
  // Words change once all of the page's own are known.
  if (isWhole) rewordAll(elements);
};
const observed = (records) => {
  const elements = new Set();
  for (const record of records) {
    const changed = isElement(record.target) ? record.target : record.target.parentElement;
    if (record.type !== "childList" && changed) elements.add(changed);
    if (record.type === "childList" && isWhole && isElement(record.target)) elements.add(record.target);
    for (const node of Array.from(record.addedNodes))
      if (isElement(node)) for (const one of [node, ...all("*", node)]) elements.add(one);
  }
  arrived([...elements].filter((element) => element.isConnected && !isOurs(element)));
};

/** @param {typeof drift} config */
export const start = (config) => {
  if (document.currentScript) takeOut(document.currentScript);
  Object.assign(drift, config);
  startNodes();
  startNames();
  startTexts();
  startOrder();
  startTiming();
  arrived(all("*"));
  new MutationObserver(observed).observe(document, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true,
    attributeFilter: [...NAMING, "aria-label", "placeholder", "title"],
  });
  whenParsed(() => {
    arrived(all("*"));
    isWhole = true;
    reorderAll();
    rewordAll(all("*"));
    moveAll();
    coverAll();
    recycleAll();
  });
};
