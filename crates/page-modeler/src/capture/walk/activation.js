// @ts-check
// What activating an element does, and what is asked around it. Both depend on much beyond the element, so they are
// read in every walk, once for each form and dialog.
import * as cb from "cuebook:core";
import { attr, cut } from "cuebook:core";

const CARD = /\bcc-(?:number|exp|exp-month|exp-year|csc)\b|card-?_?num|\bcvc|\bcvv|\bcsc\b/i;
const addressOf = (text) => {
  try {
    const { origin, pathname } = new URL(text, cb.baseUri(document));
    return origin === "null" ? undefined : cut(origin + pathname, 2000);
  } catch {
    return undefined;
  }
};
const sentBy = (field) => {
  const hint = attr(field, "autocomplete") ?? "";
  if (CARD.test(`${hint} ${attr(field, "name") ?? ""}`)) return "card";
  if (/\bone-time-code\b/i.test(hint)) return "oneTimeCode";
  return (attr(field, "type") ?? "").toLowerCase() === "password" ? "password" : null;
};
const formFacts = (form) => {
  const fields = cb.controlsOf(form).slice(0, 200);
  const method = fields.find((field) => attr(field, "name") === "_method");
  const sends = fields.map(sentBy).filter((sent) => sent !== null);
  return { override: method ? cb.controlValue(method) : null, sends: [...new Set(sends)].sort() };
};
const readOnce = (known, key, make) => {
  if (!known.has(key)) known.set(key, make(key));
  return known.get(key);
};
const spelled = (said) => ({ said, key: JSON.stringify(said) });
const INERT = spelled(undefined);
/** What depends on the element alone, read while nothing in it changes. */
const ownActivation = (element) => {
  const [method, url] = cb.scriptedRequest(element);
  const accessKey = cut(attr(element, "accesskey") ?? "", 20);
  if (!method && !accessKey) return INERT;
  return spelled({
    method: method ? cut(method.toUpperCase(), 20) : undefined,
    url: url ? addressOf(url) : undefined,
    accessKey: accessKey || undefined,
  });
};
const SUBMITTING = new Set(["button", "input", "textarea"]);
/** What activating a candidate does, and a key to compare it by. */
export const activationOf = (run, info) => {
  const own = (info.activation ??= ownActivation(info.element));
  if (!SUBMITTING.has(info.tag) || !cb.formOf(info.element)) return own;
  const { method, url, form, submitter } = cb.requestOf(info.element);
  if (!form) return own;
  const facts = readOnce(run.formFacts, form, formFacts);
  return spelled({
    ...own.said,
    method: cut((facts.override ?? method ?? "").toUpperCase(), 20) || undefined,
    url: url ? addressOf(url) : undefined,
    sends: facts.sends.length ? facts.sends : undefined,
    button: (submitter && cut(cb.nameOf(submitter), 200)) || undefined,
  });
};
/** Whether an element asks what the controls in it answer. */
export const asks = (role, names) =>
  role === "dialog" || role === "alertdialog" || role === "tooltip" || names.includes("aria-modal");
/** What the dialog around a control says, else the heading above a button. */
export const askedAround = (run, info) => {
  const words = (found) => {
    const [name, said] = [cb.nameOf(found.element), cb.wordsOf(found.element)];
    return cut(name && !said.includes(name) ? `${name}: ${said}` : said, 500);
  };
  if (info.asking) return readOnce(run.dialogs, info.asking, words) || undefined;
  return (info.role === "button" && info.line?.text) || undefined;
};
