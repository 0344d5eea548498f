// The walk: what a person could act on in a document, and the page in a few lines. This file begins the
// function that the others are the body of; `answers.js` ends it.
//
// Everything is read in synchronous calls, so that a row and its box are of one moment. Nothing is written
// but marks of ours on wrappers of this world.
(cb) => {
  const { attr, tagOf, typeOf, matches, hasAttribute, collapse, cut, lookOf, roleOf } = cb.tools;
  const { context } = cb;
  const { shortText, textHead, ownText, headingIn, ACTABLE } = context;
  const FIELDS = new Set(["text", "password", "multiline", "select", "check", "number", "range", "color", "file", "dateTime", "richText"]);
