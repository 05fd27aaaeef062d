//! The cart of one customer.

use crate::price::total;

/// A product in the cart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub name: String,
    /// In cents.
    pub price: u32,
    pub count: u32,
}

#[derive(Debug, Default)]
pub struct Cart {
    pub items: Vec<Item>,
}

impl Cart {
    pub fn add(&mut self, item: Item) {
        match self.items.iter_mut().find(|other| other.name == item.name) {
            Some(same) => same.count += item.count,
            None => self.items.push(item),
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.items.retain(|item| item.name != name);
    }

    /// The amount to pay, in cents.
    pub fn total(&self) -> u32 {
        let prices: Vec<_> = self.items.iter().map(|item| item.price * item.count).collect();
        total(&prices)
    }
}
