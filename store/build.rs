//! Build script: rebuilds the store when a migration changes, because `migrate!` reads the folder at compile time.
fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
