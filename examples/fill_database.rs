//! Fills a new data folder with stored reviews, to see how the page behaves with many: `cargo run --example fill_database
//! -- HOME COUNT`. The folder is `HOME/data`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failure ends the program")]

#[allow(dead_code, reason = "the tests use the other kinds of reviews")]
#[path = "../tests/it/support/database.rs"]
mod database;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (home, count) = (arguments.next().expect("a folder"), arguments.next().expect("a number of reviews"));
    database::fill(home.as_ref(), count.parse().expect("a number of reviews"), database::Stored::Mixed).await;
}
