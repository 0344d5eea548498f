// @ts-check
// What lies over an element.
import * as cb from "cuebook:core";
import { attr, cut, tagOf } from "cuebook:core";

/** Whether two boxes share an area. */
export const touches = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
export const describe = (element) => {
  if (!element) return "nothing";
  const id = attr(element, "id");
  const name = (attr(element, "class") ?? "").trim().split(/\s+/)[0];
  return cut(tagOf(element) + (id ? `#${id}` : name ? `.${name}` : ""), 80);
};
/** The modal dialog that lies over all else; null if none is open. */
export const topModal = () => {
  const modals = cb.queryAll(
    document,
    "dialog:modal, [role=dialog][aria-modal=true], [role=alertdialog][aria-modal=true]",
  );
  return Array.from(modals).findLast((dialog) => cb.isVisible(dialog)) ?? null;
};
/** Whether a hit counts as hitting the element: itself, what it holds, what holds it, or its label. */
const belongs = (element, stand, hit) => {
  if (!hit || cb.contains(element, hit) || cb.contains(stand, hit) || cb.contains(hit, element)) return true;
  for (const label of cb.labelsOf(element)) if (cb.contains(label, hit)) return true;
  return false;
};
/** What covers the part of an element that is in view, if anything does, and what stands at its middle. */
export const occlusionOf = (element, stand, shown) => {
  const inset = (share) => [shown.x + shown.width * share, shown.y + shown.height * share];
  const [cx, cy] = inset(0.5);
  const [lx, ly] = inset(0.2);
  const [rx, ry] = inset(0.8);
  const points =
    shown.width * shown.height < 1500
      ? [[cx, cy]]
      : [
          [cx, cy],
          [lx, ly],
          [rx, ry],
          [rx, ly],
          [lx, ry],
        ];
  let covered = 0;
  let by = null;
  let middle = null;
  for (let i = 0; i < points.length; i++) {
    // Where nothing lies over the middle and two opposite corners, the others are not asked.
    if (i === 3 && !covered) break;
    const hit = cb.elementAt(points[i][0], points[i][1]);
    if (i === 0) middle = hit;
    if (!belongs(element, stand, hit)) {
      covered++;
      by ??= hit;
    }
  }
  return { cover: covered ? { ratio: covered / points.length, by: describe(by) } : undefined, hit: middle };
};
