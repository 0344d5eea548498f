// @ts-check
// Other words for the same: names of controls, labels, headings.
//
// Invariants: a text becomes the same other one wherever it stands; no control or label gets a text that another one has
// or had; the page's scripts read the texts that they wrote; whatever has a digit, or stands in a table's cells, is data.
import { drift, hash, strength } from "./draw.js";
import { around, attribute, dataOf, fits, isOurs, nodesOf, setAttribute, setData, textOf, wrapGetter } from "./page.js";

/** What a person takes for the same, in lower case. */
const SAME = new Map(
  Object.entries({
    "log in": ["Sign in", "Log on", "Log in now"],
    "sign in": ["Log in", "Sign in here"],
    "log out": ["Sign out", "Log off"],
    "sign out": ["Log out", "Log off"],
    "sign up": ["Register", "Create account"],
    register: ["Sign up", "Create account"],
    "add to cart": ["Add to basket", "Add to bag", "Put in cart"],
    "check out": ["Checkout", "Go to checkout", "Proceed to checkout"],
    checkout: ["Check out", "Go to checkout"],
    "continue shopping": ["Keep shopping", "Shop on"],
    "place order": ["Submit order", "Place your order", "Order now"],
    order: ["Order now", "Place order"],
    shop: ["Store", "To the shop"],
    continue: ["Go on", "Proceed", "Continue now"],
    next: ["Next page", "Forward"],
    previous: ["Previous page", "Back"],
    back: ["Go back"],
    submit: ["Send", "Submit now"],
    send: ["Submit", "Send now"],
    search: ["Find", "Search now"],
    apply: ["Apply now", "Use these"],
    save: ["Save now", "Store"],
    "save changes": ["Save your changes", "Store changes"],
    "save preferences": ["Save your preferences", "Store preferences"],
    edit: ["Change", "Modify"],
    delete: ["Delete this", "Erase"],
    remove: ["Take out", "Remove this"],
    cancel: ["Never mind", "Abort"],
    close: ["Close this", "Dismiss"],
    ok: ["Okay", "OK, fine"],
    email: ["E-mail", "Email address", "Your email"],
    "email address": ["Email", "E-mail address"],
    password: ["Your password", "Secret password"],
    username: ["User name", "Your username"],
    "full name": ["Your full name", "Name in full"],
    name: ["Your name"],
    phone: ["Telephone", "Phone number"],
    quantity: ["Qty", "How many"],
    "card number": ["Credit card number", "Number of the card"],
    "delivery date": ["Date of delivery", "Deliver on"],
    customer: ["Customer name", "Client"],
    company: ["Company name", "Firm"],
    subscribe: ["Subscribe now", "Sign me up"],
    "keep me signed in": ["Stay signed in", "Remember me"],
    "gift wrap": ["Wrap as a gift", "Gift wrapping"],
    "i accept the terms": ["I agree to the terms", "Accept the terms"],
  }),
);
const NAMED = "button, a[href], summary, [role=button], [role=link], [role=menuitem], [role=tab]";
const WORDED = `${NAMED}, input, select, textarea`;
const LABELS = "label, legend, th[scope=col]";
const HEADINGS = "main h1, main section > h2";
/** Texts in these are data or belong to somebody. */
const DATA =
  "td, option, svg, pre, code, script, style, textarea, [contenteditable], " +
  "[aria-live], [role=status], [role=alert], [role=option]";
const SPOKEN = ["aria-label", "placeholder", "title"];

const isRewording = () => strength("changed-texts") > 0;
const plain = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
/** What the page calls its controls, plainly. */
const spoken = new Set();
/** Role and plain text, to what it becomes. */
const became = new Map();
/** Plain new texts, to the plain text that each was made of. */
const madeOf = new Map();
/** New texts as they stand. */
const made = new Set();
/** Text nodes, to what the page wrote and what stands there. */
const written = new WeakMap();
let isAnyWritten = false;

const titled = (text) => text.replace(/\p{L}+/gu, (word) => word[0].toUpperCase() + word.slice(1));
const signed = (text, role) => {
  if (role === "label") return [`${text}:`, `${text} \u2013`];
  return role === "name" ? [`${text} \u2192`, `\u203a ${text}`, `${text} \u00bb`] : [];
};
const isTaken = (key, text) => {
  const other = plain(text);
  return other !== key && (spoken.has(other) || (madeOf.get(other) ?? key) !== key);
};
const drawn = (text, key, role) => {
  const number = (what) => hash(drift.seed, "changed-texts", what, key);
  if (number("share") / 2 ** 32 >= strength("changed-texts") * 0.8) return text;
  const words = role === "heading" ? [] : (SAME.get(key) ?? []).filter((one) => !isTaken(key, one));
  const spellings = [text.toUpperCase(), titled(text), ...signed(text, role)].filter((one) => one !== text);
  const from = words.length && number("words") % 3 ? words : spellings;
  return from[number("which") % Math.max(1, from.length)] ?? text;
};
/** What a text becomes. */
const changed = (text, role) => {
  const key = plain(text);
  if (!key || text.length > 40 || /\p{N}/u.test(text) || made.has(text)) return text;
  const place = `${role} ${text}`;
  if (!became.has(place)) {
    const other = drawn(text, key, role);
    became.set(place, other);
    if (other !== text) {
      made.add(other);
      madeOf.set(plain(other), key);
    }
  }
  return became.get(place);
};

const ownText = (element) => {
  const texts = nodesOf(element).filter((node) => node.nodeType === 3 && dataOf(node).trim());
  return texts.length === 1 ? texts[0] : null;
};
const rewrite = (node, role) => {
  const value = dataOf(node);
  if (written.get(node)?.now === value) return;
  const text = value.trim();
  const now = value.replace(text, () => changed(text, role));
  if (now === value) return;
  written.set(node, { was: text, now });
  isAnyWritten = true;
  setData(node, now);
};
const roleOf = (element) => {
  if (fits(element, NAMED)) return "name";
  if (fits(element, LABELS)) return "label";
  return fits(element, HEADINGS) ? "heading" : null;
};
const reword = (element) => {
  if (around(element, DATA) !== null || isOurs(element)) return;
  const role = roleOf(element);
  const node = role && ownText(element);
  if (node) rewrite(node, role);
  const spokenNames = fits(element, "input:is([type=submit], [type=button]):not([name])")
    ? [...SPOKEN, "value"]
    : SPOKEN;
  if (!fits(element, WORDED)) return;
  for (const name of spokenNames) {
    const value = attribute(element, name);
    const other = value === null ? null : changed(value, "spoken");
    if (other !== value) setAttribute(element, name, other);
  }
};
/** Gives these elements other words. */
export const rewordAll = (elements) => {
  if (!isRewording()) return;
  // First what all of them are called, so that none gets the name of another.
  for (const element of elements) {
    if (!fits(element, `${WORDED}, ${LABELS}, option, h1, h2, h3, th, td`)) continue;
    for (const text of [textOf(element), ...SPOKEN.map((name) => attribute(element, name) ?? "")])
      if (text.length <= 60 && !made.has(text)) spoken.add(plain(text));
  }
  for (const element of elements) reword(element);
};

/** What the page reads is what it wrote. */
const restored = (node, text) => {
  if (!isAnyWritten || typeof text !== "string") return text;
  let result = text;
  const visit = (at) => {
    const seen = at.nodeType === 3 ? written.get(at) : undefined;
    if (seen && dataOf(at) === seen.now) result = result.replace(seen.now.trim(), () => seen.was);
    for (const child of nodesOf(at)) visit(child);
  };
  visit(node);
  return result;
};
export const startTexts = () => {
  if (!isRewording()) return;
  for (const [proto, name] of [
    [Node.prototype, "textContent"],
    [Node.prototype, "nodeValue"],
    [CharacterData.prototype, "data"],
    [HTMLElement.prototype, "innerText"],
  ])
    wrapGetter(
      proto,
      name,
      (before) =>
        function () {
          return restored(this, Reflect.apply(before, this, []));
        },
    );
};
