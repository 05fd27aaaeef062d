//! Turns a cart into an order.

use crate::cart::Cart;

/// How a customer pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    Invoice,
}

#[derive(Debug)]
pub struct Order {
    pub customer: String,
    pub amount: u32,
    pub payment: Payment,
}

pub fn check_out(customer: &str, cart: &Cart) -> Option<Order> {
    if cart.items.is_empty() {
        return None;
    }
    Some(Order { customer: customer.to_owned(), amount: cart.total(), payment: Payment::Invoice })
}
