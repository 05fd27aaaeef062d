//! Turns a cart into an order.

use crate::{card::CardNumber, cart::Cart};

/// How a customer pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    Invoice,
    Card(CardNumber),
}

#[derive(Debug)]
pub struct Order {
    pub customer: String,
    pub amount: u32,
    pub payment: Payment,
}

pub fn check_out(customer: &str, cart: &Cart, payment: Payment) -> Option<Order> {
    if cart.items.is_empty() {
        return None;
    }
    log::info!("order of {customer}, paid by {payment:?}");
    Some(Order { customer: customer.to_owned(), amount: cart.total(), payment })
}
