//! Prices of the first shop, in dollars.

pub const APPLE: f32 = 0.30;
pub const BREAD: f32 = 2.10;
pub const COFFEE: f32 = 4.80;

/// The price of a product, if the first shop sold it.
pub fn legacy_price(name: &str) -> Option<f32> {
    match name {
        "apple" => Some(APPLE),
        "bread" => Some(BREAD),
        "coffee" => Some(COFFEE),
        _ => None,
    }
}
