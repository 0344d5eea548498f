// @ts-check
// Widgets that are made of two elements.
import * as cb from "cuebook:core";
import { WIDGETS } from "./reasons.js";

const COLLECTED = new Set(["tab", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
const PRESSED = new Set(["link", "button"]);
/** Whether a click on the middle of one box hits the other, not just its edge. */
const holdsMiddle = (inner, outer) => {
  const [x, y] = [outer.x + outer.width / 2 - inner.x, outer.y + outer.height / 2 - inner.y];
  return x >= EDGE && y >= EDGE && x <= inner.width - EDGE && y <= inner.height - EDGE;
};
const EDGE = 1;
/** Which of two nested rows of one name and nearly one box represents both: "outer", "inner", or neither. */
const standsForBoth = ({ row: outer, box: outerBox }, { row: inner, box: innerBox }) => {
  const called = (row) => row.name || row.fallback || "";
  const area = (box) => box.width * box.height;
  if (!called(outer) || called(outer) !== called(inner) || area(innerBox) < area(outerBox) / 2) return "";
  if (!holdsMiddle(innerBox, outerBox)) return "";
  if (
    ["draggable", "drop"].includes(outer.reason) ||
    ["draggable", "drop"].includes(inner.reason) ||
    (outer.control !== "plain" && outer.control !== inner.control)
  )
    return "";
  const widgets = [outer, inner].map((row) => WIDGETS.has(row.role));
  if (!widgets[1]) return inner.control === "plain" ? "outer" : "";
  if (!widgets[0]) return "inner";
  if (inner.role === outer.role) return inner.reason === "native" && outer.reason !== "native" ? "inner" : "outer";
  return PRESSED.has(inner.role) && (COLLECTED.has(outer.role) || PRESSED.has(outer.role)) ? "outer" : "";
};
/** Whether a row is for the box that stands for the field in it, or for a part of that: no control of its own. */
const isBoxOf = (outer, { row, info }) =>
  row.role === "combobox" &&
  row.stand !== undefined &&
  !WIDGETS.has(outer.row.role) &&
  cb.contains(info.offer, outer.info.element);
/** Leaves one entry of each widget that is made of two elements. */
export const withoutDoubles = (entries) => {
  const owners = entries.map((entry) => entry.owner);
  const inside = entries.map(() => 0);
  const gone = entries.map(() => false);
  for (const owner of owners) if (owner >= 0) inside[owner]++;
  for (let i = entries.length - 1; i >= 0; i--) {
    const owner = owners[i];
    if (gone[i] || owner < 0 || inside[owner] !== 1 || inside[i] > 0) continue;
    const keeps = isBoxOf(entries[owner], entries[i]) ? "inner" : standsForBoth(entries[owner], entries[i]);
    if (keeps === "") continue;
    inside[owner] = 0;
    if (keeps === "outer") {
      gone[i] = true;
      entries[owner].destination ??= entries[i].row.destination ?? entries[i].destination;
    } else {
      // What is left keeps its place in the order, and is compared with the row around both.
      gone[owner] = true;
      owners[i] = owners[owner];
      i++;
    }
  }
  return entries.filter((_, i) => !gone[i]);
};
