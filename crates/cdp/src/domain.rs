//! Protocol domains that cost something while they are enabled.

/// A protocol domain that is enabled on demand. Page, Target and Inspector are always on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Domain {
    /// Accessibility: keeps node ids stable between calls, and keeps the engine computing the tree.
    Accessibility,
    /// Style sheets and matched rules.
    Css,
    /// DOM mutation events for pushed nodes.
    Dom,
    /// Browser log entries: failed loads, violations, deprecations.
    Log,
    /// Requests and responses; also enabled on workers.
    Network,
    /// Counters that `Performance.getMetrics` returns.
    Performance,
    /// Execution contexts and console messages: a page can flood this one.
    Runtime,
}

impl Domain {
    pub(crate) fn enable(self) -> &'static str {
        match self {
            Self::Accessibility => "Accessibility.enable",
            Self::Css => "CSS.enable",
            Self::Dom => "DOM.enable",
            Self::Log => "Log.enable",
            Self::Network => "Network.enable",
            Self::Performance => "Performance.enable",
            Self::Runtime => "Runtime.enable",
        }
    }

    pub(crate) fn disable(self) -> &'static str {
        match self {
            Self::Accessibility => "Accessibility.disable",
            Self::Css => "CSS.disable",
            Self::Dom => "DOM.disable",
            Self::Log => "Log.disable",
            Self::Network => "Network.disable",
            Self::Performance => "Performance.disable",
            Self::Runtime => "Runtime.disable",
        }
    }

    /// Returns `true` if a worker's session has this domain and a page's effects include it.
    pub(crate) fn covers_workers(self) -> bool {
        matches!(self, Self::Network)
    }
}
