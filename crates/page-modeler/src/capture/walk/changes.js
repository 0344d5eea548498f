// @ts-check
// What the page changes between walks: noted as it happens, sorted out when the next walk begins.
//
// Invariant: between two walks a bounded number of changes is kept. A page that changes more is walked in full.
import * as cb from "cuebook:core";
import { attr, tagOf } from "cuebook:core";
import { memory } from "./memory.js";
import { BY_SIBLINGS, drop, dropRow, forget, relist, renew, renewAll, touch } from "./infos.js";

const NOTED = 5000;
let watched = new WeakSet();
export const note = (list) => {
  if (memory.everything) return;
  for (const record of list) memory.records.push(record);
  if (memory.records.length > NOTED) overflow();
};
export const overflow = () => {
  memory.everything = true;
  memory.records = [];
  memory.targets = [];
  observer.disconnect();
  watched = new WeakSet();
};
export const observer = new MutationObserver(note);
const EVENTS = (
  "input change focusin focusout toggle slotchange transitionend animationend invalid reset " + "fullscreenchange"
).split(" ");
const listened = new WeakSet();
const onEvent = (event) => {
  if (memory.everything || (!event.isTrusted && event.type !== "input" && event.type !== "change")) return;
  memory.targets.push(event.composedPath()[0]);
  if (memory.targets.length > NOTED) overflow();
};
export const watch = (root) => {
  if (watched.has(root)) return;
  watched.add(root);
  memory.roots.push(root);
  if (root !== document) cb.noteRoot(root);
  observer.observe(root, {
    subtree: true,
    childList: true,
    attributes: true,
    characterData: true,
    attributeOldValue: true,
  });
  if (listened.has(root)) return;
  listened.add(root);
  for (const name of EVENTS) cb.listen(root, name, onEvent, { capture: true, passive: true });
};

export const REFERRING =
  "[aria-labelledby],[aria-describedby],[aria-errormessage],[aria-owns],[aria-controls],[aria-activedescendant],[list]";
export const REFERENCES = [
  "for",
  "aria-labelledby",
  "aria-describedby",
  "aria-errormessage",
  "aria-owns",
  "aria-controls",
  "list",
];
/** The nearest Info around a node. */
const around = (node) => {
  for (let up = node; up; up = cb.composedParentOf(up)) {
    const info = memory.infos.get(up);
    if (info) return info;
  }
  return null;
};
export const resort = (info) => {
  if (info) {
    relist(info);
    touch(info);
  }
};
/** Ids that came, went or changed: who refers to them, and whose selectors begin with them. */
const idsChanged = (ids, root) => {
  if (ids.size > 50) {
    memory.everything = true;
    return;
  }
  for (const id of ids) {
    if (!id || id.length > 200) continue;
    const literal = CSS.escape(id);
    const named = Array.from(cb.queryAll(root, `#${literal}`), (element) => memory.infos.get(element)).filter(
      (info) => info,
    );
    for (const info of named) info.shifts = true;
    if (!cb.queryAll(root, REFERENCES.map((name) => `[${name}~="${literal}"]`).join(",")).length) continue;
    // The first of them is what a label is for; the others no longer are.
    for (const info of named) touch(info);
    for (const label of cb.queryAll(root, `label[for="${literal}"]`)) {
      const info = memory.infos.get(label);
      if (info) renew(info);
      const control = cb.control(label);
      if (control) dropRow(control);
    }
  }
};
const changedChildren = (record, ids) => {
  const { target } = record;
  const type = cb.nodeType(target);
  if (type === 9) {
    memory.everything = true;
    return;
  }
  const inShadow = cb.nodeType(cb.rootNode(target)) === 11;
  // Slots move elements: the whole content of a host is walked again.
  if (inShadow) {
    const host = cb.hostOf(cb.rootNode(target));
    if (host) resort(around(host));
  }
  const info = memory.infos.get(target);
  if (info && cb.shadowOf(target)) resort(info);
  else if (info) {
    if (info.kids) for (const kid of info.kids) if (BY_SIBLINGS.has(kid.tag)) renew(kid);
    info.kids = null;
    renew(info);
  } else {
    const outer = around(target);
    if (outer) {
      drop(outer);
      touch(outer);
    }
  }
  for (const nodes of [record.addedNodes, record.removedNodes])
    for (const node of nodes) {
      if (cb.nodeType(node) !== 1) continue;
      // What was out of the document for a while may have changed there unseen.
      const gone = memory.infos.get(node);
      if (gone) forget(gone);
      const own = attr(node, "id");
      if (own) ids.add(own);
      for (const inner of cb.queryAll(node, "[id]")) {
        ids.add(attr(inner, "id"));
        if (ids.size > 60) break;
      }
      const labels = tagOf(node) === "label" ? [node, ...cb.queryAll(node, "label")] : cb.queryAll(node, "label");
      for (const label of labels) {
        const control = cb.control(label);
        if (control) dropRow(control);
        const named = attr(label, "for");
        if (named && named.length <= 200)
          for (const element of cb.queryAll(inShadow ? cb.rootNode(target) : document, `#${CSS.escape(named)}`))
            dropRow(element);
      }
    }
};
const changedAttribute = (record, ids) => {
  const { target, attributeName: name } = record;
  const info = memory.infos.get(target);
  if (name === "id") {
    ids.add(attr(target, "id"));
    ids.add(record.oldValue);
    if (info) info.shifts = true;
  }
  if (name === "for" && info?.tag === "label") {
    if (info.control) dropRow(info.control);
    const control = cb.control(target);
    if (control) dropRow(control);
  }
  if (name === "slot" || (name === "name" && tagOf(target) === "slot")) {
    const host = cb.composedParentOf(target);
    if (host) resort(around(name === "slot" ? host : (cb.hostOf(cb.rootNode(target)) ?? host)));
  }
  if (info) renewAll(info);
  else {
    const outer = around(target);
    if (outer) {
      drop(outer);
      touch(outer);
    }
  }
  // Where a form leads identifies its buttons.
  if (name === "action" && tagOf(target) === "form") memory.everything = true;
  if (name === "role" || name === "lang" || name === "dir") {
    if (target === cb.rootElement()) memory.everything = true;
  }
};
/** Whether anything changed since the last walk, as far as is noted. */
export const changed = () => {
  note(observer.takeRecords());
  return memory.everything || memory.records.length > 0;
};
/** Drops what the changes since the last walk make doubtful; whether there were any. */
export const sortChanges = () => {
  note(observer.takeRecords());
  const noted = memory.records;
  const events = memory.targets;
  memory.records = [];
  memory.targets = [];
  if (memory.everything) return true;
  const ids = new Map();
  const idsIn = (node) => {
    const root = cb.rootNode(node);
    const key = cb.hostOf(root) ? root : document;
    if (!ids.has(key)) ids.set(key, new Set());
    return ids.get(key);
  };
  for (const record of noted) {
    if (memory.everything) return true;
    if (record.type === "childList") changedChildren(record, idsIn(record.target));
    else if (record.type === "attributes") changedAttribute(record, idsIn(record.target));
    else {
      const info = around(cb.composedParentOf(record.target));
      if (info) {
        drop(info);
        touch(info);
      }
    }
  }
  for (const target of events) {
    if (!(target instanceof Node) || !cb.nodeType(target)) continue;
    if (!cb.isElement(target) || tagOf(target) === "slot") {
      resort(around(target));
      continue;
    }
    const info = memory.infos.get(target);
    if (info) renewAll(info);
  }
  for (const [root, set] of ids) idsChanged(set, root);
  return noted.length > 0 || events.length > 0;
};
