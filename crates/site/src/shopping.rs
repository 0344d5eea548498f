//! Carts, and the checkout's rules: pure values, judged without a server.

use serde::Serialize;

use crate::catalog::{self, Product};
use crate::fields::Fields;

const DELIVERIES: [(&str, u64); 2] = [("Standard", 0), ("Express", 900)];
const GIFT_WRAP_CENTS: u64 = 350;
const MOST_OF_ONE: u64 = 99;
const MOST_LINES: usize = 50;

/// One line of a cart or an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    pub(crate) sku: &'static str,
    pub(crate) name: &'static str,
    pub(crate) size: &'static str,
    pub(crate) quantity: u64,
    pub(crate) gift_wrap: bool,
    pub(crate) delivery: &'static str,
    /// The whole line, in cents: goods, wrapping and delivery.
    pub(crate) cents: u64,
}

impl Line {
    /// The line that a product's form asks for; nothing if there is no such product.
    pub(crate) fn from_fields(fields: &Fields) -> Option<Self> {
        let Product { sku, name, cents, .. } = catalog::product(fields.get("sku"))?;
        let quantity = fields.number("quantity", 1, (1, MOST_OF_ONE));
        let gift_wrap = fields.has("gift-wrap");
        let (delivery, delivery_cents) =
            DELIVERIES.into_iter().find(|(delivery, _)| *delivery == fields.get("delivery")).unwrap_or(DELIVERIES[0]);
        let wrapping = if gift_wrap { GIFT_WRAP_CENTS } else { 0 };
        Some(Self {
            sku,
            name,
            size: catalog::size(fields.get("size")),
            quantity,
            gift_wrap,
            delivery,
            cents: cents * quantity + wrapping + delivery_cents,
        })
    }
}

/// Lines that a visitor is about to order, at most [`MOST_LINES`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Cart {
    lines: Vec<Line>,
}

impl Cart {
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn add(&mut self, line: Line) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line);
        }
    }

    pub(crate) fn remove(&mut self, index: usize) {
        if index < self.lines.len() {
            self.lines.remove(index);
        }
    }

    pub(crate) fn cents(&self) -> u64 {
        total(&self.lines)
    }

    /// Empties the cart into an order.
    pub(crate) fn take(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.lines)
    }
}

/// The sum of `lines`, in cents.
pub(crate) fn total(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.cents).sum()
}

/// Who gets an order, and how; only [`Delivery::from_fields`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delivery {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) date: String,
    /// The card's last four digits. The rest is never stored.
    pub(crate) card_ending: String,
    pub(crate) notes: String,
}

/// A field of the checkout form that was filled in badly, and what to say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) field: &'static str,
    pub(crate) message: &'static str,
}

impl Delivery {
    /// Judges a checkout form as a whole, so that all complaints are shown at once.
    pub(crate) fn from_fields(fields: &Fields) -> Result<Self, Vec<Complaint>> {
        let name = fields.get("name").trim();
        let email = fields.get("email").trim();
        let date = fields.get("date").trim();
        let card: String = fields.get("card").chars().filter(|c| !c.is_whitespace()).collect();
        let mut complaints = Vec::new();
        let mut complain = |field, message| complaints.push(Complaint { field, message });
        if name.is_empty() {
            complain("name", "Enter your full name.");
        }
        if !is_email(email) {
            complain("email", "Enter an email address such as ann@example.com.");
        }
        if !is_date(date) {
            complain("date", "Choose a delivery date.");
        }
        if !is_card(&card) {
            complain("card", "Enter a valid card number.");
        }
        if !fields.has("terms") {
            complain("terms", "Accept the terms to place the order.");
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        Ok(Self {
            name: name.to_owned(),
            email: email.to_owned(),
            date: date.to_owned(),
            card_ending: card.chars().skip(card.len().saturating_sub(4)).collect(),
            notes: fields.get("notes").trim().to_owned(),
        })
    }
}

fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty()
            && !host.contains('@')
            && host.split('.').count() > 1
            && host.split('.').all(|label| !label.is_empty())
            && !text.contains(char::is_whitespace)
    })
}

/// A day of the Gregorian calendar as `YYYY-MM-DD`, which is what a date input sends.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let &[year, month, day] = parts.as_slice() else {
        return false;
    };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) || !text.chars().all(|c| c == '-' || c.is_ascii_digit()) {
        return false;
    }
    let (Ok(year), Ok(month), Ok(day)) = (year.parse::<u32>(), month.parse::<u32>(), day.parse::<u32>()) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// Twelve to nineteen digits with the check digit of ISO/IEC 7812-1 (Luhn).
fn is_card(digits: &str) -> bool {
    let values: Option<Vec<u32>> = digits.chars().map(|c| c.to_digit(10)).collect();
    let Some(values) = values else { return false };
    let sum: u32 = values
        .iter()
        .rev()
        .enumerate()
        .map(|(index, &value)| match (index % 2, value * 2) {
            (0, _) => value,
            (_, doubled) => doubled / 10 + doubled % 10,
        })
        .sum();
    (12..=19).contains(&values.len()) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::{Cart, Delivery, Line, MOST_LINES, is_card, is_date, is_email};
    use crate::fields::Fields;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields::new(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn dates_exist() {
        for good in ["2026-02-28", "2024-02-29", "2000-02-29", "2026-12-31"] {
            assert!(is_date(good), "{good}");
        }
        for bad in ["", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "26-01-01", "+026-01-01"] {
            assert!(!is_date(bad), "{bad}");
        }
    }

    #[test]
    fn cards_carry_their_check_digit() {
        assert!(is_card("4242424242424242"));
        for bad in ["", "4242424242424241", "4242", "42424242424242424242", "４２４２４２４２４２４２"] {
            assert!(!is_card(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_have_a_user_and_a_host() {
        assert!(is_email("ann@example.com"));
        for bad in ["", "ann", "@example.com", "ann@", "ann@host", "ann@a..b", "a b@example.com", "a@b@c.d"] {
            assert!(!is_email(bad), "{bad}");
        }
    }

    #[test]
    fn an_empty_checkout_is_complained_about_field_by_field() {
        let complaints = Delivery::from_fields(&Fields::default()).unwrap_err();
        let complained: Vec<_> = complaints.iter().map(|complaint| complaint.field).collect();
        assert_eq!(complained, ["name", "email", "date", "card", "terms"]);
    }

    #[test]
    fn a_card_is_stored_by_its_last_digits_only() {
        let delivery = Delivery::from_fields(&fields(&[
            ("name", "Ann"),
            ("email", "ann@example.com"),
            ("date", "2026-12-01"),
            ("card", "4242 4242 4242 4242"),
            ("terms", "on"),
        ]))
        .unwrap();
        assert_eq!(delivery.card_ending, "4242");
        assert!(!serde_json::to_string(&delivery).unwrap().contains("42424"));
    }

    #[test]
    fn a_line_costs_goods_wrapping_and_delivery() {
        let line = Line::from_fields(&fields(&[
            ("sku", "fountain-pen"),
            ("size", "Large"),
            ("quantity", "2"),
            ("gift-wrap", "on"),
            ("delivery", "Express"),
        ]))
        .unwrap();
        assert_eq!((line.size, line.cents), ("Large", 2 * 2_450 + 350 + 900));
    }

    #[test]
    fn a_cart_is_bounded() {
        let mut cart = Cart::default();
        for _ in 0..MOST_LINES + 10 {
            cart.add(Line::from_fields(&fields(&[("sku", "notebook")])).unwrap());
        }
        cart.remove(usize::MAX);
        assert_eq!(cart.lines().len(), MOST_LINES);
    }
}
