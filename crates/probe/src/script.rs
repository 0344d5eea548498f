//! The script as one source: the core, and what layers add to it.
//!
//! Invariant: evaluating a source twice in one document changes nothing; elements keep their numbers.

/// The version of the core: a hash of its source, so that a document never runs another one.
pub(crate) const VERSION: &str = include_str!(concat!(env!("OUT_DIR"), "/core.version"));

/// The core: an expression that installs `globalThis.__cuebook` unless this version is there already. An element of
/// that name is not ours.
pub(crate) const CORE: &str = concat!(
    "(() => {\nconst version = \"",
    include_str!(concat!(env!("OUT_DIR"), "/core.version")),
    "\";\nif (Object.hasOwn(globalThis, '__cuebook') && globalThis.__cuebook.version === version) return;\n",
    "const value = Object.assign((",
    include_str!(concat!(env!("OUT_DIR"), "/core.js")),
    ")(), { version });\n",
    "Object.defineProperty(globalThis, '__cuebook', { value, configurable: true, writable: true });\n})();\n",
);

/// Functions of a layer, installed on top of the core in the same world.
///
/// `source` is an expression of a function that takes the core and returns what stands under
/// `cb[name]`; it runs once per document. What the core offers is what `js/core.js` exports; modules import it from
/// `cuebook:core`, and are joined by `cuebook-bundle`.
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
        format!(
            "(() => {{ const cb = globalThis.__cuebook; \
             if (cb?.version === {VERSION:?} && !cb.{name}) cb.{name} = ({source})(cb).{name}; }})();\n"
        )
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

/// Error that a bare call throws where the script is missing.
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

/// Returns `true` if a bare call failed because the script is missing.
pub(crate) fn is_missing(thrown: &str) -> bool {
    thrown.strip_prefix("Error: ").is_some_and(|text| text.starts_with(MISSING))
}

fn present(extensions: &[Extension]) -> String {
    let extensions: String = extensions.iter().map(|extension| format!(" && cb.{}", extension.name)).collect();
    format!("cb?.version === {VERSION:?}{extensions}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_states_the_version_that_calls_ask_for() {
        assert_eq!(VERSION.len(), 16);
        assert!(CORE.contains(&format!("const version = {VERSION:?};")) && present(&[]).contains(VERSION));
    }
}
