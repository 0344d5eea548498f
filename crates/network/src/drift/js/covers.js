// @ts-check
// What lies over the page: offers, and questions about cookies.
//
// Invariants: each can be closed by a button of its own or goes away by itself; none asks twice in a tab once it was
// answered; no button of it is called like one of the page's.
import { draw, isHit, pick, strength } from "./draw.js";
import { after, all, attribute, claim, CONTROLS, insert, listen, make, setAttribute, takeOut, textOf } from "./page.js";

const remembered = (key) => {
  try {
    return sessionStorage.getItem(key) !== null;
  } catch {
    return false;
  }
};
const remember = (key) => {
  try {
    sessionStorage.setItem(key, "1");
  } catch {
    // A frame without storage asks again.
  }
};
const called = (element) => `${textOf(element)} ${attribute(element, "aria-label") ?? ""}`.toLowerCase().trim();
/** The first of these that no control of the page is called, from a drawn one on. */
const free = (names, kind) => {
  const taken = new Set(all(CONTROLS).map(called));
  const from = Math.floor(draw(kind, "name") * names.length);
  const turned = [...names.slice(from), ...names.slice(0, from)];
  return turned.find((name) => !taken.has(name.toLowerCase())) ?? `${turned[0]} this`;
};

const box = (style, text) => {
  const element = make("div");
  element.style.cssText = style;
  if (text) element.textContent = text;
  return element;
};
const button = (name, spoken, run) => {
  const element = make("button");
  element.type = "button";
  element.textContent = name;
  if (spoken !== name) setAttribute(element, "aria-label", spoken);
  element.style.cssText = "padding: 8px 14px; margin: 4px; cursor: pointer";
  listen(element, "click", run);
  return element;
};
const FULL =
  "position: fixed; inset: 0; z-index: 2147483000; background: rgb(0 0 0 / .5); display: grid; place-items: center";
const BOTTOM =
  "position: fixed; left: 0; right: 0; bottom: 0; z-index: 2147483000; background: #fff; " +
  "border-top: 2px solid #555; padding: 18px; min-height: 34vh";
const PANEL =
  "background: #fff; color: #222; padding: 28px 34px; max-width: 26rem; border-radius: 8px; " +
  "position: relative; font: 16px sans-serif";

const showOffer = () => {
  if (remembered("offer-seen") || !document.body) return;
  const isFull = draw("overlays", "full") < 0.6;
  const cover = claim(box(isFull ? FULL : BOTTOM));
  const panel = box(isFull ? PANEL : "font: 16px sans-serif; position: relative");
  const close = () => {
    remember("offer-seen");
    takeOut(cover);
  };
  if (draw("overlays", "role") < 0.6) {
    setAttribute(cover, "role", "dialog");
    setAttribute(cover, "aria-label", "Special offer");
    if (isFull) setAttribute(cover, "aria-modal", "true");
  }
  panel.append(
    box(
      "font-weight: bold; margin-bottom: 8px",
      pick(["Summer sale", "Stay in touch", "Good news"], "overlays", "title"),
    ),
  );
  panel.append(box("margin-bottom: 12px", "Everything for the garden is cheaper until Sunday."));
  if (draw("overlays", "way") < 0.3) {
    after(1500 + draw("overlays", "leaves") * 2500, close);
  } else {
    const name = free(["Close", "No thanks", "Not now", "Dismiss", "Maybe later", "Close offer"], "overlays");
    const isSign = name === "Close" && draw("overlays", "sign") < 0.6;
    panel.append(button(isSign ? "\u00d7" : name, name, close));
  }
  cover.append(panel);
  insert(document.body, cover, null);
};

const CHOICES = [
  ["Accept all", "Reject all"],
  ["Accept all cookies", "Only necessary"],
  ["Allow all", "Decline all"],
  ["Accept cookies", "Reject cookies"],
];
const askForConsent = () => {
  if (remembered("consent-given") || !document.body) return;
  const isFull = draw("consent-banners", "full") < 0.4;
  const cover = claim(box(isFull ? FULL : BOTTOM));
  const panel = box(isFull ? PANEL : "font: 16px sans-serif");
  setAttribute(cover, "id", "cookie-consent");
  setAttribute(cover, "role", isFull ? "dialog" : "region");
  setAttribute(cover, "aria-label", "Cookie consent");
  panel.append(
    box(
      "margin-bottom: 10px",
      "We use cookies to remember your choices and to measure what is read. Which may we set?",
    ),
  );
  const answer = () => {
    remember("consent-given");
    takeOut(cover);
  };
  const [yes, no] = pick(CHOICES, "consent-banners", "choices");
  const buttons = [button(free([yes], "consent-banners"), free([yes], "consent-banners"), answer)];
  buttons.push(button(free([no], "consent-banners"), free([no], "consent-banners"), answer));
  if (draw("consent-banners", "turned") < 0.5) buttons.reverse();
  panel.append(...buttons);
  cover.append(panel);
  insert(document.body, cover, null);
};

/** Once the document is parsed. */
export const coverAll = () => {
  if (globalThis.top !== globalThis) return;
  if (isHit("consent-banners", 1, "shown")) after(draw("consent-banners", "time") * 900, askForConsent);
  if (strength("overlays") && isHit("overlays", 0.9, "shown")) after(draw("overlays", "time") * 1600, showOffer);
};
