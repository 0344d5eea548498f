// @ts-check
// What is drawn: by the seed, the document, the kind and what it is drawn for; never by order or time.

/** @type {{ seed: string, document: number, strengths: Record<string, number> }} */
export const drift = { seed: "0", document: 0, strengths: {} };

/** A number of 32 bits from texts. @param {...(string | number)} parts */
export const hash = (...parts) => {
  let state = 0x811c9dc5;
  for (const part of parts) {
    const text = `${part}\0`;
    for (let at = 0; at < text.length; at++) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
};

/** How strong a kind of drift is, from 0 to 1. @param {string} kind */
export const strength = (kind) => drift.strengths[kind] ?? 0;

/** From 0 to below 1, for this document. @param {string} kind @param {...(string | number)} key */
export const draw = (kind, ...key) => hash(drift.seed, drift.document, kind, ...key) / 2 ** 32;

/** One of several, for this document. @template T @param {T[]} all @param {string} kind @param {...(string | number)} key */
export const pick = (all, kind, ...key) => all[Math.floor(draw(kind, ...key) * all.length)];

/** Whether something is among this share, at full strength. @param {string} kind @param {number} share */
export const isHit = (kind, share, /** @type {(string | number)[]} */ ...key) =>
  draw(kind, "hit", ...key) < share * strength(kind);

/** The same things in a drawn order. @template T @param {T[]} all @param {(one: T) => string} keyOf */
export const shuffled = (all, kind, keyOf) =>
  all
    .map((one, index) => ({ one, by: draw(kind, "order", keyOf(one), index) }))
    .sort((a, b) => a.by - b.by)
    .map(({ one }) => one);
