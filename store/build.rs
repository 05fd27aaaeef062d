//! Rebuilds when a migration is added: `migrate!` reads the folder at compile time.
fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
