//! The script as one source: the core, and what layers add to it.
//!
//! Invariant: evaluating a source twice in one document changes nothing; elements keep their numbers.

/// The version of the core. Raised with every change that an older core in a living document would break.
pub(crate) const VERSION: u32 = 2;

/// The core: an expression that installs `globalThis.__cuebook` unless this version is there already.
pub(crate) const CORE: &str = concat!(
    "(() => {\n\"use strict\";\nconst VERSION = 2;\n",
    "if (globalThis.__cuebook && globalThis.__cuebook.version === VERSION) return;\n",
    "const cb = { version: VERSION };\n",
    include_str!("js/tree.js"),
    include_str!("js/roles.js"),
    include_str!("js/names.js"),
    include_str!("js/states.js"),
    include_str!("js/visible.js"),
    include_str!("js/facts.js"),
    include_str!("js/context.js"),
    include_str!("js/css.js"),
    include_str!("js/locate.js"),
    "Object.defineProperty(globalThis, '__cuebook', { value: cb, configurable: true, writable: true });\n})();\n",
);

/// Functions of a layer, installed on top of the core in the same world.
///
/// `source` is an expression of a function that takes the core and returns what stands under
/// `cb[name]`; it runs once per document. The core offers, among others: `cb.idOf(element)`,
/// `cb.byId(id)`, `cb.roleOf`, `cb.nameOf`, `cb.statesOf`, `cb.isVisible`, `cb.factsOf`,
/// `cb.parentOf` and `cb.childrenOf` of the flat tree, `cb.elementAt(x, y)` through shadow roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The property of the core, an identifier such as `walk`.
    pub name: &'static str,
    /// The function expression: `(cb) => ({ … })`.
    pub source: &'static str,
}

impl Extension {
    /// The statement that installs the extension where the core is.
    pub(crate) fn install(&self) -> String {
        let Self { name, source } = self;
        format!("(() => {{ const cb = globalThis.__cuebook; if (cb && !cb.{name}) cb.{name} = ({source})(cb); }})();\n")
    }
}

/// Wraps a function of a caller, `(cb, …args) => answer`, so that it answers in an envelope.
pub(crate) fn wrapped(function: &str, extensions: &[Extension]) -> String {
    let present = present(extensions);
    format!(
        "function (...args) {{
  const cb = globalThis.__cuebook;
  if (!({present})) return {{ missing: true }};
  const done = (value) => ({{ ok: value === undefined ? null : value }});
  const failed = (error) => {{ if (error && error.badSelector) return {{ badSelector: error.badSelector }}; throw error; }};
  try {{
    const value = ({function})(cb, ...args);
    return value instanceof Promise ? value.then(done, failed) : done(value);
  }} catch (error) {{ return failed(error); }}
}}"
    )
}

/// What a bare call throws where the script is missing.
const MISSING: &str = "no script of ours in this document";

/// Wraps a function that is handed nodes or returns them: its answer goes out as it is.
pub(crate) fn bare(function: &str, extensions: &[Extension]) -> String {
    let present = present(extensions);
    format!(
        "function (...args) {{
  const cb = globalThis.__cuebook;
  if (!({present})) throw new Error({MISSING:?});
  return ({function})(cb, ...args);
}}"
    )
}

/// Whether a bare call failed because the script is missing.
pub(crate) fn is_missing(thrown: &str) -> bool {
    thrown.strip_prefix("Error: ").is_some_and(|text| text.starts_with(MISSING))
}

fn present(extensions: &[Extension]) -> String {
    let extensions: String = extensions.iter().map(|extension| format!(" && cb.{}", extension.name)).collect();
    format!("cb && cb.version === {VERSION}{extensions}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_states_the_version_that_calls_ask_for() {
        assert!(CORE.contains(&format!("const VERSION = {VERSION};")));
    }
}
