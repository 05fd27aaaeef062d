//! Fills a new data folder with stored reviews, to see how the page behaves with many: `cargo run --example fill_database
//! -- HOME COUNT`. The folder is `HOME/data`. Of a hundred reviews one is pending, one
//! has open issues, and the others are closed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure ends the program")]

#[allow(dead_code, reason = "the tests use the other kinds of reviews")]
#[path = "../tests/it/support/database.rs"]
mod database;

use database::{Stored, fill_each, index};

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (home, count) = (arguments.next().expect("a folder"), arguments.next().expect("a number of reviews"));
    let state = |number| match number % 100 {
        0 => Stored::Pending,
        50 => Stored::Contested,
        _ => Stored::Lived,
    };
    fill_each(home.as_ref(), count.parse().expect("a number of reviews"), state).await;
    index(home.as_ref()).await;
}
