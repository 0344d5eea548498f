// @ts-check
// What comes late, and what moves.
//
// Invariant: what is late shows after 1.7 s at most, whatever else happens; nothing moves more often than it says here.
import { draw, isHit, strength } from "./draw.js";
import {
  after,
  all,
  around,
  claim,
  CONTROLS,
  dropAttribute,
  first,
  fits,
  insert,
  isElement,
  isOurs,
  listen,
  make,
  parentOf,
  setAttribute,
} from "./page.js";

const MARK = "data-pending";
const HIDABLE = new Set(["section", "form", "article", "fieldset", "table", "nav", "ul", "button", "p"]);
const NEVER =
  "[role=status], [role=alert], [aria-live], [role=listbox], [role=menu], [role=tooltip], dialog, output, td, label";
const seen = new Map();
let dynamic = 0;
let isParsed = false;

let hidden = 0;

const hide = (element, ms) => {
  hidden += 1;
  const mark = String(hidden);
  setAttribute(element, MARK, mark);
  after(ms, () => {
    dropAttribute(element, MARK);
    // It may have been drawn again meanwhile, as a copy with its attributes.
    for (const copy of all(`[${MARK}="${mark}"]`)) dropAttribute(copy, MARK);
  });
};
/** Each element that comes into the document. */
export const delay = (element) => {
  if (!strength("late-rendering") || isOurs(element) || around(element, NEVER) || around(element, `[${MARK}]`)) return;
  if (!isParsed) {
    const tag = element.localName;
    if (!HIDABLE.has(tag)) return;
    // Documents are parsed in one order.
    const count = (seen.get(tag) ?? 0) + 1;
    seen.set(tag, count);
    if (isHit("late-rendering", 0.35, tag, count))
      hide(element, 200 + draw("late-rendering", "time", tag, count) * 1500);
    return;
  }
  if (dynamic >= 6 || performance.now() > 10_000 || !(fits(element, CONTROLS) || all(CONTROLS, element).length)) return;
  dynamic += 1;
  if (isHit("late-rendering", 0.5, "dynamic", dynamic))
    hide(element, 200 + draw("late-rendering", "dynamic", dynamic) * 700);
};

const spacer = () => {
  const space = claim(make("div"));
  setAttribute(space, "aria-hidden", "true");
  space.style.cssText = "height: 0; background: repeating-linear-gradient(45deg, #eee 0 12px, #f7f7f7 12px 24px)";
  const main = first("main");
  const parent = (main && parentOf(main)) ?? document.body;
  if (parent) insert(parent, space, main ?? parent.firstChild);
  return space;
};
const startMoving = () => {
  const amount = strength("moved-targets");
  if (!amount || !document.body) return;
  const space = spacer();
  let height = 0;
  const grow = (by) => {
    height = Math.max(0, height + by);
    space.style.height = `${height}px`;
  };
  const size = (what) => Math.round((24 + draw("moved-targets", what) * 110) * amount);
  after(80 + draw("moved-targets", "one") * 800, () => grow(size("first")));
  after(900 + draw("moved-targets", "two") * 1300, () =>
    grow(draw("moved-targets", "way") < 0.5 ? size("second") : -height),
  );
  let isLeft = draw("moved-targets", "pointer") < 0.6;
  listen(
    document,
    "pointerover",
    (event) => {
      if (!isLeft || !event.isTrusted || !isElement(event.target) || !around(event.target, CONTROLS)) return;
      isLeft = false;
      grow(Math.round(40 * amount));
    },
    true,
  );
};

export const startTiming = () => {
  if (!strength("late-rendering")) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`[${MARK}] { display: none !important }`);
  document.adoptedStyleSheets = [...Array.from(document.adoptedStyleSheets), sheet];
};
/** Once the document is parsed. */
export const moveAll = () => {
  isParsed = true;
  startMoving();
};
