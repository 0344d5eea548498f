// @ts-check
// What is known of each element that was walked, kept between walks.
//
// Invariant: what an Info holds is what a walk from scratch would find. So code that learns that something
// changed drops what depends on it, at once (`changes.js`, `measure.js`); the next walk fills it in again.
import * as cb from "cuebook:core";
import { tagOf } from "cuebook:core";
import { memory } from "./memory.js";
import { HOSTABLE, listening } from "./reasons.js";
import { kept } from "./answer.js";

export class Info {
  constructor(element, parent) {
    this.element = element;
    this.parent = parent;
    this.tag = tagOf(element);
    this.level = parent ? parent.level + 1 : 0;
    /** The Infos of its child elements in the flat tree; null until they are listed. */
    this.kids = null;
    this.index = 0;
    // Its own facts: good while `fresh`.
    this.fresh = false;
    this.kind = PASSED;
    this.id = 0;
    this.testId = undefined;
    this.path = "";
    this.structure = 0;
    this.points = false;
    this.reason = "";
    this.role = "";
    this.field = undefined;
    this.control = null;
    /** Whether the controls in it answer what it asks. */
    this.asks = false;
    this.speaks = "";
    // What was measured.
    this.style = null;
    this.x = 0;
    this.y = 0;
    this.width = -1;
    this.height = -1;
    this.shows = true;
    this.cursor = "";
    this.moved = false;
    // What also depends on what is in it, or on what holds it; undefined where unknown.
    this.offer = undefined;
    this.countable = undefined;
    this.heading = undefined;
    this.summary = undefined;
    this.live = undefined;
    this.error = undefined;
    this.activation = undefined;
    this.place = undefined;
    this.placeKnown = null;
    this.placeVersion = 0;
    this.crown = undefined;
    this.words = undefined;
    this.row = null;
    this.rowLine = "";
    this.rowTitle = null;
    this.rowContext = 0;
    this.json = "";
    this.version = 0;
    this.builtIn = 0;
    // What a walk passes down: the headings above it, and above its next child.
    this.line = null;
    this.lineWithin = null;
    /** What asks around it: the nearest dialog. */
    this.asking = null;
    this.contextVersion = 0;
    this.clipMoved = false;
    this.placeShifted = false;
    this.shifts = false;
    this.scroller = "";
    this.within = -1;
    this.hosts = false;
    this.css = undefined;
    this.scrolls = undefined;
    this.rowStand = null;
    this.unique = undefined;
    this.lent = undefined;
    this.partTold = "";
    this.scrollerTold = "";
    // Where the marks of the present epoch stand.
    this.dropped = 0;
    this.renewed = 0;
  }
}
// What a walk does with an element: skips it, notes its frame, omits its content, or enters it.
export const PASSED = 0;
export const OWNER = 1;
export const CLOSED = 2;
export const WALKED = 3;

export const forgetAll = () => {
  memory.infos = new WeakMap();
  memory.order = null;
  memory.surrounded = new Set();
  kept.view = kept.full = null;
};
/** What depends on what an element holds. */
export const drop = (info) => {
  info.row = null;
  if (listening.has(info.element)) info.fresh = false;
  info.offer = info.countable = info.heading = info.summary = info.live = info.error = undefined;
  info.place = info.crown = info.words = undefined;
  if (info.control) dropRow(info.control);
};
/** What `element` is called changed, and with it what is read from content around it. */
export const dropRow = (element) => touch(memory.infos.get(element) ?? null);
/** Something in `info` changed: its text and those of its ancestors have to be read again. */
export const touch = (info) => {
  for (let up = info; up && up.dropped !== memory.epoch; up = up.parent) {
    up.dropped = memory.epoch;
    drop(up);
  }
};
/** `info` itself changed: its attributes, its style. */
export const renew = (info) => {
  info.fresh = false;
  drop(info);
  touch(info.parent);
};
/** `info` changed in a way that its descendants inherit or are styled by. */
export const renewAll = (info) => {
  const stack = [info];
  while (stack.length) {
    const one = stack.pop();
    if (one.renewed === memory.epoch) continue;
    one.renewed = memory.epoch;
    one.fresh = false;
    drop(one);
    if (one.kids) for (const kid of one.kids) stack.push(kid);
  }
  touch(info.parent);
};
/** What hangs on `info` in the walk that is under way has changed: its descendants are read again. */
export const renewKids = (info) => {
  const stack = info.kids ? [...info.kids] : [];
  while (stack.length) {
    const one = stack.pop();
    one.fresh = false;
    drop(one);
    if (one.kids) for (const kid of one.kids) stack.push(kid);
  }
};
/** `info` left its place. */
export const forget = (info) => {
  const stack = [info];
  while (stack.length) {
    const one = stack.pop();
    if (memory.infos.get(one.element) === one) memory.infos.delete(one.element);
    memory.surrounded.delete(one);
    if (one.control) dropRow(one.control);
    if (one.kids) for (const kid of one.kids) stack.push(kid);
  }
};
/** The content of an element has to be walked again, slots included. */
export const relist = (info) => {
  if (info.kids) for (const kid of info.kids) forget(kid);
  info.kids = null;
  renew(info);
};
/** Hosts whose closed roots were looked for. */
export const examined = new WeakSet();
export const firstElement = cb.firstElement;
export const nextElement = cb.nextElement;
export const isHost = (tag) => HOSTABLE.has(tag) || tag === "body" || tag.includes("-");
// Roles that depend on siblings.
export const BY_SIBLINGS = new Set([
  "td",
  "th",
  "summary",
  "legend",
  "caption",
  "figcaption",
  "title",
  "option",
  "source",
]);
/** Lists the children of an element in the flat tree; those that stay keep their Infos. */
export const list = (info) => {
  const { element, tag } = info;
  const found = [];
  let shifted = false;
  const add = (child) => {
    let kid = memory.infos.get(child);
    if (!kid || kid.parent !== info) {
      if (kid) forget(kid);
      kid = new Info(child, info);
      memory.infos.set(child, kid);
      shifted = true;
    } else if (kid.index !== found.length) shifted = true;
    kid.index = found.length;
    // The places of all that follow a new or moved one have changed.
    kid.shifts = kid.shifts || shifted;
    found.push(kid);
  };
  if (tag === "slot" || (isHost(tag) && cb.shadowOf(element))) {
    for (const child of cb.childrenOf(element)) if (cb.nodeType(child) === 1) add(child);
  } else for (let child = firstElement(element); child; child = nextElement(child)) add(child);
  info.kids = found;
};
