// @ts-check
// What a page asks of a person before it goes on: a check of the browser, a test for humans, consent to cookies.
//
// Tests are known by the marks that their makers document, never by words: addresses of frames and scripts, and the
// fields that hold the answers. A page can pretend to have one; then a person is asked.
import * as cb from "cuebook:core";
import { attr } from "cuebook:core";

// Each selector is one tag, class or id, which Chrome finds without looking at every element.
const INTERSTITIALS = ["#challenge-form", "#cf-challenge-running", "#sec-if-cpt-container", "#anubis_challenge"];
const CHECKING = /\/cdn-cgi\/challenge-platform\/.*\/orchestrate\//;
const DEPTH = 100;
/**
 * What is shown of a test, and the field that holds the answer.
 * @type {[string, string][]}
 */
const CAPTCHAS = [
  [".g-recaptcha", "g-recaptcha-response"],
  [".h-captcha", "h-captcha-response"],
  [".cf-turnstile", "cf-turnstile-response"],
  [".frc-captcha", "frc-captcha-response"],
  [".geetest_holder", "geetest_validate"],
  [".geetest_captcha", "geetest_validate"],
  [".mtcaptcha", "mtcaptcha-verifiedtoken"],
  ["altcha-widget", "altcha"],
  ["awswaf-captcha", ""],
  ["#px-captcha", ""],
  ['img[src*="captcha" i]', ""],
];
/**
 * The same for the addresses of frames.
 * @type {[RegExp, string][]}
 */
const CAPTCHA_FRAMES = [
  [/\/recaptcha\//, "g-recaptcha-response"],
  [/hcaptcha\.com\//, "h-captcha-response"],
  [/^https:\/\/challenges\.cloudflare\.com\//, "cf-turnstile-response"],
  [/(?:arkoselabs|funcaptcha)\.com\//, "fc-token"],
  [/captcha-delivery\.com\//, ""],
];
/** Tests that show nothing by themselves, and the badge that says so. */
const SILENT = '[data-size="invisible"], [src*="size=invisible"], .grecaptcha-badge, .grecaptcha-badge *';
/** The names of widgets that ask for consent, and the word itself where it is another one. */
const COOKIES = new RegExp(
  "cookie|onetrust|didomi|usercentrics|qc-cmp|cmpbox|fc-consent|sp_message|gdpr|dsgvo|rgpd|kakor|evästee|" +
    "informasjonskaps|sütik|çerez|ciastecz|クッキー|쿠키|คุกกี้|עוגיות|ملفات تعريف|कुकी",
  "i",
);

const isAnswered = (field) => {
  const fields = field ? Array.from(cb.queryAll(document, `[name="${field}"]`)) : [];
  return fields.some((one) => cb.valueOf(one));
};
const allOf = (selector) => Array.from(cb.queryAll(document, selector));
const sourceOf = (element) => attr(element, "src") ?? "";
const isTest = (element, field) => {
  if (cb.matches(element, SILENT) || !cb.isVisible(element)) return false;
  const { width, height } = cb.boxOf(element);
  return width >= 30 && height >= 20 && !isAnswered(field);
};
const hasTest = (frames) =>
  CAPTCHAS.some(([selector, field]) => allOf(selector).some((widget) => isTest(widget, field))) ||
  frames.some((frame) =>
    CAPTCHA_FRAMES.some(([address, field]) => address.test(sourceOf(frame)) && isTest(frame, field)),
  );
const isChecking = (frames) =>
  INTERSTITIALS.some((selector) => allOf(selector).length) ||
  allOf("script").some((script) => CHECKING.test(sourceOf(script))) ||
  frames.some((frame) => sourceOf(frame).includes("_Incapsula_Resource") && attr(frame, "id") === "main-iframe");
/** The box that lies over the whole view, if one does: nothing else of the page can be used. */
const coverOf = () => {
  const [width, height] = [globalThis.innerWidth, globalThis.innerHeight];
  const points = [0.5, 0.05, 0.95].flatMap((x) => [0.5, 0.05, 0.95].map((y) => [width * x, height * y]));
  let first = null;
  for (const [x, y] of points) {
    let over = cb.elementAt(x, y);
    for (let depth = 0; over && depth < DEPTH && cb.styleOf(over).position !== "fixed"; depth++)
      over = cb.parentOf(over);
    if (!over || cb.styleOf(over).position !== "fixed") return null;
    first ??= over;
  }
  return first;
};
const asksForCookies = (element) => {
  const marks = ["id", "class", "aria-label", "title"].map((name) => attr(element, name) ?? "").join(" ");
  return COOKIES.test(`${marks} ${cb.textHead(element, 2000)}`) && cb.queryAll(element, "button, a, input").length > 0;
};

/** What this document asks first; undefined if nothing. */
export const challengeOf = (modal) => {
  const frames = allOf("iframe");
  if (isChecking(frames)) return "interstitial";
  if (hasTest(frames)) return "captcha";
  const cover = modal ?? coverOf();
  return cover && asksForCookies(cover) ? "cookieWall" : undefined;
};
