//! The same table, as `ARCHITECTURE.md` has it for people.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Presence, Violation};
use super::rules::{Allowed, TABLE};

/// Where the document and the rules differ.
///
/// The table is the first one whose first heading begins with "Crate". A row's first cell names
/// the crate's folder; its last one says `none`, `all`, or lists folders.
pub(super) fn compare(document: &str) -> Vec<Violation> {
    let Some(rows) = table(document) else {
        return vec![Violation::NoTable];
    };
    let unmatched = |folder: &str, document| Violation::Unmatched { folder: folder.to_owned(), document };
    let unknown = rows
        .keys()
        .filter(|folder| TABLE.iter().all(|(known, _)| known != *folder))
        .map(|folder| unmatched(folder, Presence::Present));
    let differing = TABLE.iter().filter_map(|&(folder, rules)| match rows.get(folder) {
        None => Some(unmatched(folder, Presence::Absent)),
        Some(cell) if says(cell, rules) => None,
        Some(cell) => Some(Violation::Disagreement { folder: folder.to_owned(), document: cell.clone(), rules }),
    });
    unknown.chain(differing).collect()
}

/// Whether a table's cell allows what the rule allows.
fn says(cell: &str, rule: Allowed) -> bool {
    match rule {
        Allowed::All => cell == "all",
        Allowed::Only([]) => cell == "none",
        Allowed::Only(folders) => {
            let listed: BTreeSet<&str> = cell.split(',').map(str::trim).collect();
            listed == folders.iter().copied().collect()
        }
    }
}

/// Last cells by first cells, both without their backticks.
fn table(document: &str) -> Option<BTreeMap<String, String>> {
    let mut lines = document
        .lines()
        .skip_while(|line| cells(line).is_none_or(|cells| cells.first().is_none_or(|cell| !cell.starts_with("Crate"))));
    lines.next()?;
    let rows = lines.map_while(cells).filter(|cells| !cells.iter().all(|cell| is_rule(cell)));
    Some(rows.filter_map(|cells| Some((cells.first()?.clone(), cells.last()?.clone()))).collect())
}

/// The cells of a table's line; nothing for any other line.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect())
}

/// Whether a cell is part of the line under the headings.
fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.chars().all(|c| matches!(c, '-' | ':'))
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::check_deps::rules::TABLE;

    fn document() -> String {
        let rows: Vec<String> =
            TABLE.iter().map(|(folder, allowed)| format!("| `{folder}` | what it is | {allowed} |")).collect();
        format!(
            "# Title\n\n| Other | table |\n|---|---|\n| x | y |\n\n\
             | Crate (folder) | About | May depend on |\n|:--|---|---|\n{}\n\nText.\n",
            rows.join("\n")
        )
    }

    fn told(document: &str) -> Vec<String> {
        compare(document).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_document_that_says_the_same_agrees() {
        assert_eq!(told(&document()), Vec::<String>::new());
        let reordered = document().replace("grammar, cdp, probe", "`probe`, `grammar`, `cdp`");
        assert_eq!(told(&reordered), Vec::<String>::new());
    }

    #[test]
    fn a_changed_cell_is_reported() {
        let changed = document().replace("| `repair` | what it is | grammar |", "| `repair` | x | all |");
        assert_eq!(told(&changed), ["repair: ARCHITECTURE.md allows all, rules.rs allows grammar"]);
    }

    #[test]
    fn missing_and_additional_rows_are_reported() {
        let changed = document().replace("| `repair` |", "| `mending` |");
        assert_eq!(
            told(&changed),
            [
                "mending: in the table of ARCHITECTURE.md, but not in rules.rs",
                "repair: in rules.rs, but not in the table of ARCHITECTURE.md",
            ]
        );
    }

    #[test]
    fn a_document_without_the_table_is_reported() {
        assert_eq!(compare("# Title\n\n| Other |\n|---|\n").len(), 1);
        assert_eq!(compare("").len(), 1);
    }
}
