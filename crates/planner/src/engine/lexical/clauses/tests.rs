use super::*;

/// The clauses as their sources.
fn cut(task: &str) -> Vec<String> {
    clauses(task).into_iter().map(|clause| clause.source).collect()
}

#[test]
fn instructions_are_cut_where_a_verb_follows() {
    for (task, expected) in [
        ("Click A and B", &["Click A and B"][..]),
        ("Click A and press B", &["Click A", "press B"]),
        ("Select words A, B, and C and click Submit.", &["Select words A, B, and C", "click Submit"]),
        ("Please log in as ann and then open Orders.", &["log in as ann", "open Orders"]),
        ("Type \"a and click b\" in Name, then submit", &["Type \"a and click b\" in Name", "submit"]),
        (
            "Fill out the form: name Bob; email b@x.y. Press Send",
            &["Fill out the form: name Bob; email b@x.y", "Press Send"],
        ),
        ("Fill in Name with Bob, Note with hi and submit", &["Fill in Name with Bob, Note with hi", "submit"]),
        ("Choose Large from the list, then order", &["Choose Large from the list", "order"]),
        ("Once the page is open, press Go", &["Once the page is open, press Go"]),
        ("Click A\nClick B", &["Click A", "Click B"]),
        (
            "Click the \"Menu\" button, and then find and click on the item labeled \"X\".",
            &["Click the \"Menu\" button", "find and click on the item labeled \"X\""],
        ),
        ("Tick A but do not tick C", &["Tick A", "do not tick C"]),
        ("", &[]),
        ("...", &[]),
    ] {
        assert_eq!(cut(task), expected, "{task}");
    }
}

#[test]
fn the_clauses_of_a_text_are_always_the_same() {
    let task = "Log in as a with password b, then tick X and Y; what is the total?";
    assert_eq!(clauses(task), clauses(task));
    assert_eq!(clauses(task).len(), 3);
}
