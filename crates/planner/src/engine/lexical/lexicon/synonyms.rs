//! Words that mean the same on a control.

/// Words that are used for each other on controls. The first letter of each list's meaning is in its first word.
pub(super) const SYNONYMS: &[&[&str]] = &[
    &["submit", "send", "ok", "go", "confirm", "apply", "done", "continue"],
    &["username", "user", "login", "account", "email"],
    &["delete", "remove", "trash", "erase", "discard"],
    &["edit", "modify", "change", "update", "rename"],
    &["close", "dismiss", "x", "cancel", "exit", "hide"],
    &["save", "store", "apply", "keep"],
    &["buy", "purchase", "order", "checkout"],
    &["checkout", "pay"],
    &["search", "find", "lookup", "query", "go"],
    &["next", "continue", "forward", "proceed"],
    &["back", "previous", "prev", "return"],
    &["add", "new", "create", "plus", "+", "insert"],
    &["setting", "preference", "option", "configuration"],
    &["login", "enter"],
    &["logout", "exit"],
    &["signup", "register", "join"],
    &["accept", "agree", "allow", "ok", "yes"],
    &["decline", "reject", "deny", "no", "refuse"],
    &["comment", "message", "remark", "note"],
    &["quantity", "amount", "number", "count"],
    &["image", "picture", "photo"],
    &["expand", "open", "show", "more", "view"],
    &["view", "show", "detail", "open", "see"],
    &["website", "url", "homepage", "link"],
    &["firstname", "given"],
    &["lastname", "family"],
    &["zip", "postal"],
    &["finish", "complete", "done"],
    &["start", "begin", "run", "play"],
    &["reset", "clear"],
    &["verify", "confirm", "repeat", "again", "retype"],
    &["phone", "cell"],
    &["home", "homepage", "start"],
    &["profile", "account"],
];

/// Whether two words are used for each other.
pub(in super::super) fn are_synonyms(a: &str, b: &str) -> bool {
    SYNONYMS.iter().any(|group| group.contains(&a) && group.contains(&b))
}
