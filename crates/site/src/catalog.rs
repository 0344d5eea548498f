//! Products that the shop sells.

/// One product. The catalogue is the same for every seed.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) sku: &'static str,
    pub(crate) name: &'static str,
    pub(crate) blurb: &'static str,
    /// Price of one, in cents.
    pub(crate) cents: u64,
    /// A glyph that stands for the photograph; one that plain text fonts have.
    pub(crate) glyph: &'static str,
}

pub(crate) const SIZES: [&str; 3] = ["Small", "Medium", "Large"];

pub(crate) const PRODUCTS: [Product; 6] = [
    Product {
        sku: "fountain-pen",
        name: "Fountain pen",
        blurb: "Steel nib, converter included.",
        cents: 2_450,
        glyph: "✒",
    },
    Product { sku: "notebook", name: "Notebook", blurb: "Dotted, 192 pages, lies flat.", cents: 1_290, glyph: "▤" },
    Product {
        sku: "desk-lamp", name: "Desk lamp", blurb: "Warm light, clamps to any desk.", cents: 6_900, glyph: "☀"
    },
    Product { sku: "paper-tray", name: "Paper tray", blurb: "Stackable, recycled steel.", cents: 1_875, glyph: "☰" },
    Product { sku: "envelopes", name: "Envelopes", blurb: "Box of fifty, peel and seal.", cents: 799, glyph: "✉" },
    Product { sku: "scissors", name: "Scissors", blurb: "Forged blades, left or right.", cents: 1_420, glyph: "✂" },
];

/// The product with this stock number.
pub(crate) fn product(sku: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.sku == sku)
}

/// `name` if it is a size on sale, else the middle one, which the pages preselect.
pub(crate) fn size(name: &str) -> &'static str {
    SIZES.into_iter().find(|size| *size == name).unwrap_or(SIZES[1])
}
