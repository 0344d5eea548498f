//! The invoices that the order desk manages: rows that look alike, made from the seed.

use serde::Serialize;

use crate::fields::Fields;
use crate::random::Random;
use crate::text::{LONGEST_NAME, clip};

const FIRST_NUMBER: u64 = 1_001;
const HOW_MANY: u64 = 24;
const FIRST_NAMES: [&str; 8] = ["Ada", "Bruno", "Chiara", "Dmitri", "Elena", "Farid", "Greta", "Hugo"];
// Few family names on purpose: several rows then carry the same customer and differ by address.
const FAMILY_NAMES: [&str; 3] = ["Lindqvist", "Okafor", "Moreau"];
pub(crate) const STATUSES: [&str; 4] = ["Open", "Paid", "Overdue", "Refunded"];

/// One row of the order desk. Number and email are unique; nothing else is.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Invoice {
    pub(crate) number: String,
    pub(crate) customer: String,
    pub(crate) email: String,
    pub(crate) status: String,
    /// Amount due, in cents.
    pub(crate) cents: u64,
}

/// The order of the table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortKey {
    Number,
    Customer,
    Status,
    Total,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

/// Filter, order and page of a request for the table.
#[derive(Debug, Clone)]
pub(crate) struct Listing {
    pub(crate) text: String,
    pub(crate) status: String,
    pub(crate) key: SortKey,
    pub(crate) direction: Direction,
    /// The page, from 1.
    pub(crate) page: usize,
}

/// One page of the table.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Invoice>,
    pub(crate) found: usize,
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

/// Rows of one page.
pub(crate) const PAGE_SIZE: usize = 8;

impl SortKey {
    pub(crate) const ALL: [Self; 4] = [Self::Number, Self::Customer, Self::Status, Self::Total];

    pub(crate) const fn wire(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Customer => "customer",
            Self::Status => "status",
            Self::Total => "total",
        }
    }

    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::Number => "Invoice",
            Self::Customer => "Customer",
            Self::Status => "Status",
            Self::Total => "Total",
        }
    }
}

impl Direction {
    pub(crate) const fn wire(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
        }
    }

    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

impl Listing {
    /// Reads what a query string asks for; what it does not say, or says wrongly, is the default.
    pub(crate) fn from_fields(fields: &Fields) -> Self {
        let wire = fields.get("sort");
        let key = SortKey::ALL.into_iter().find(|key| key.wire() == wire);
        Self {
            text: clip(fields.get("q").trim(), LONGEST_NAME),
            status: STATUSES.into_iter().find(|status| *status == fields.get("status")).unwrap_or_default().to_owned(),
            key: key.unwrap_or(SortKey::Number),
            direction: match fields.get("dir") {
                "descending" => Direction::Descending,
                _ => Direction::Ascending,
            },
            page: usize::try_from(fields.number("page", 1, (1, 10_000))).unwrap_or(1),
        }
    }

    /// The rows asked for. A page beyond the last is the last.
    pub(crate) fn apply(&self, invoices: &[Invoice]) -> Rows {
        let needle = self.text.to_lowercase();
        let mut found: Vec<&Invoice> = invoices
            .iter()
            .filter(|invoice| self.status.is_empty() || invoice.status == self.status)
            .filter(|invoice| {
                [&invoice.number, &invoice.customer, &invoice.email]
                    .iter()
                    .any(|text| text.to_lowercase().contains(&needle))
            })
            .collect();
        found.sort_by(|a, b| match self.key {
            SortKey::Number => a.number.cmp(&b.number),
            SortKey::Customer => a.customer.cmp(&b.customer),
            SortKey::Status => a.status.cmp(&b.status),
            SortKey::Total => a.cents.cmp(&b.cents),
        });
        if self.direction == Direction::Descending {
            found.reverse();
        }
        let pages = found.len().div_ceil(PAGE_SIZE).max(1);
        let page = self.page.clamp(1, pages);
        Rows {
            found: found.len(),
            rows: found
                .chunks(PAGE_SIZE)
                .nth(page.saturating_sub(1))
                .unwrap_or_default()
                .iter()
                .map(|invoice| (*invoice).clone())
                .collect(),
            page,
            pages,
        }
    }
}

/// The table of a seed: numbers are the same for all, people, states and totals are not.
pub(crate) fn seeded(seed: u64) -> Vec<Invoice> {
    let mut random = Random::new(seed);
    (0..HOW_MANY)
        .map(|index| {
            let number = FIRST_NUMBER + index;
            let first = random.pick(&FIRST_NAMES).copied().unwrap_or("Ada");
            let family = random.pick(&FAMILY_NAMES).copied().unwrap_or("Moreau");
            Invoice {
                number: format!("INV-{number}"),
                customer: format!("{first} {family}"),
                email: format!("{}.{}{}@example.com", first.to_lowercase(), family.to_lowercase(), number),
                status: random.pick(&STATUSES).copied().unwrap_or("Open").to_owned(),
                cents: 900 + random.below(40_000),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Direction, Listing, SortKey, seeded};

    fn everything() -> Listing {
        Listing {
            text: String::new(),
            status: String::new(),
            key: SortKey::Number,
            direction: Direction::Ascending,
            page: 1,
        }
    }

    #[test]
    fn rows_are_twins_except_for_number_and_email() {
        for seed in 0..20 {
            let invoices = seeded(seed);
            let emails: BTreeSet<_> = invoices.iter().map(|invoice| &invoice.email).collect();
            let customers: BTreeSet<_> = invoices.iter().map(|invoice| &invoice.customer).collect();
            assert_eq!(emails.len(), invoices.len());
            assert!(customers.len() < invoices.len(), "seed {seed} has no two alike");
        }
    }

    #[test]
    fn pages_partition_the_table() {
        let invoices = seeded(0);
        let mut seen = BTreeSet::new();
        for page in 1..=3 {
            let rows = Listing { page, ..everything() }.apply(&invoices);
            assert_eq!((rows.pages, rows.rows.len()), (3, 8));
            seen.extend(rows.rows.into_iter().map(|invoice| invoice.number));
        }
        assert_eq!(seen.len(), invoices.len());
    }

    #[test]
    fn a_page_beyond_the_last_is_the_last() {
        let rows = Listing { page: usize::MAX, ..everything() }.apply(&seeded(0));
        assert_eq!(rows.page, 3);
        let none = Listing { text: "nobody".into(), ..everything() }.apply(&seeded(0));
        assert_eq!((none.page, none.found), (1, 0));
    }

    #[test]
    fn totals_sort_as_numbers() {
        let listing = Listing { key: SortKey::Total, direction: Direction::Descending, ..everything() };
        let rows = listing.apply(&seeded(4)).rows;
        assert!(rows.windows(2).all(|pair| pair[0].cents >= pair[1].cents));
    }
}
