//! The verbs, one file for each kind.

mod acted;
mod check;
#[cfg(feature = "extract")]
mod clean_html;
mod click;
mod dialog;
mod dispatch;
mod enter_text;
mod evaluate;
mod extract;
mod list_box;
mod navigate;
#[cfg(feature = "extract")]
mod parse;
mod pointer;
mod press;
mod screenshot;
mod scroll;
mod scroll_until;
mod select;
mod set_value;
mod tab;
mod upload;
mod wait;

pub(crate) use acted::ActResult;
pub(crate) use screenshot::stored;
