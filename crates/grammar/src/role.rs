//! ARIA roles.
//!
//! Source: WAI-ARIA 1.2, section 5.4, with Graphics ARIA and the roles of ARIA 1.3 that Chromium exposes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! roles {
    ($($variant:ident = $name:literal),+ $(,)?) => {
        /// An ARIA role, written as in the specification.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Role {
            $( #[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant, )+
            /// `generic`: no specific role.
            #[default]
            #[serde(rename = "generic")]
            Generic,
        }

        impl Role {
            /// Every role, `generic` last.
            pub const ALL: &'static [Role] = &[$(Role::$variant,)+ Role::Generic];

            /// The role as the specification writes it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ Self::Generic => "generic" }
            }

            /// Reads a role in its exact spelling; `None` for anything else.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $( $name => Some(Self::$variant), )+ "generic" => Some(Self::Generic), _ => None }
            }
        }
    };
}

roles! {
    Alert = "alert", AlertDialog = "alertdialog", Application = "application", Article = "article",
    Banner = "banner", Blockquote = "blockquote", Button = "button", Caption = "caption", Cell = "cell",
    Checkbox = "checkbox", Code = "code", ColumnHeader = "columnheader", ComboBox = "combobox",
    Comment = "comment", Complementary = "complementary", ContentInfo = "contentinfo",
    Definition = "definition", Deletion = "deletion", Dialog = "dialog", Directory = "directory",
    Document = "document", Emphasis = "emphasis", Feed = "feed", Figure = "figure", Form = "form",
    GraphicsDocument = "graphics-document", GraphicsObject = "graphics-object",
    GraphicsSymbol = "graphics-symbol", Grid = "grid", GridCell = "gridcell", Group = "group",
    Heading = "heading", Img = "img", Insertion = "insertion", Link = "link", List = "list",
    ListBox = "listbox", ListItem = "listitem", Log = "log", Main = "main", Mark = "mark",
    Marquee = "marquee", Math = "math", Menu = "menu", MenuBar = "menubar", MenuItem = "menuitem",
    MenuItemCheckbox = "menuitemcheckbox", MenuItemRadio = "menuitemradio", Meter = "meter",
    Navigation = "navigation", None = "none", Note = "note", Option = "option", Paragraph = "paragraph",
    Presentation = "presentation", ProgressBar = "progressbar", Radio = "radio", RadioGroup = "radiogroup",
    Region = "region", Row = "row", RowGroup = "rowgroup", RowHeader = "rowheader", ScrollBar = "scrollbar",
    Search = "search", SearchBox = "searchbox", Separator = "separator", Slider = "slider",
    SpinButton = "spinbutton", Status = "status", Strong = "strong", Subscript = "subscript",
    Suggestion = "suggestion", Superscript = "superscript", Switch = "switch", Tab = "tab",
    Table = "table", TabList = "tablist", TabPanel = "tabpanel", Term = "term", TextBox = "textbox",
    Time = "time", Timer = "timer", Toolbar = "toolbar", Tooltip = "tooltip", Tree = "tree",
    TreeGrid = "treegrid", TreeItem = "treeitem",
}

impl Role {
    /// Returns `true` if text can be entered into elements with this role, judged by the role alone.
    #[must_use]
    pub const fn is_text_entry(self) -> bool {
        matches!(self, Self::TextBox | Self::SearchBox | Self::ComboBox | Self::SpinButton)
    }

    /// Returns `true` if elements with this role have a checked state.
    #[must_use]
    pub const fn is_checkable(self) -> bool {
        matches!(self, Self::Checkbox | Self::Radio | Self::Switch | Self::MenuItemCheckbox | Self::MenuItemRadio)
    }

    /// Returns `true` if elements with this role own options.
    #[must_use]
    pub const fn is_selectable(self) -> bool {
        matches!(self, Self::ComboBox | Self::ListBox)
    }
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
