//! Fills a new data folder with stored reviews, to see how the page behaves with many: `cargo run --example fill_database
//! -- HOME COUNT`. The folder is `HOME/data`. Of a hundred reviews one is pending, one has open issues, and
//! the others are closed and have ten events each, so 102,000 reviews have more than 1,000,000. They are a minute apart, and the
//! last one is from now.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure ends the program")]

#[allow(dead_code, reason = "the tests use the other kinds of reviews")]
#[path = "../tests/it/support/database.rs"]
mod database;

use database::{FIRST_AT, MINUTE, Stored, fill_each, index};
use std::time::UNIX_EPOCH;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (home, count) = (arguments.next().expect("a folder"), arguments.next().expect("a number of reviews"));
    let count: usize = count.parse().expect("a number of reviews");
    let length = MINUTE * i64::try_from(count + 1).expect("a small number");
    let begin = i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap() - FIRST_AT - length;
    let state = |number| match number % 100 {
        0 => Stored::Pending,
        50 => Stored::Contested,
        _ => Stored::Lived,
    };
    fill_each(home.as_ref(), count, begin, state).await;
    index(home.as_ref()).await;
}
