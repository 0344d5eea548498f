// @ts-check
// The cache between walks, shared by the modules that change it.
export const memory = {
  infos: new WeakMap(),
  /** Everything that the last walk visited, in its order; null if it cannot be relied on. */
  order: null,
  /** Fields without a name, or that show a choice beside them: what stands there may change without them. */
  surrounded: new Set(),
  /** Counts walks, so that one drops each Info once. */
  epoch: 1,
  records: [],
  targets: [],
  everything: true,
  roots: [],
  surroundings: null,
  /** Scroll containers, and where each was scrolled to. */
  panes: [],
  animated: [],
  extents: "same",
  changedIn: 0,
  walks: 0,
  versions: 0,
};
