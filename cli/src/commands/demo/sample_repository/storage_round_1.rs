//! Keeps carts in files, one per customer.

use std::{fs, io, path::PathBuf};

pub struct Storage {
    folder: PathBuf,
}

impl Storage {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn file(&self, customer: &str) -> PathBuf {
        self.folder.join(format!("{customer}.cart"))
    }

    pub fn save(&self, customer: &str, cart: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::write(self.file(customer), cart)
    }

    pub fn load(&self, customer: &str) -> String {
        fs::read_to_string(self.file(customer)).unwrap_or_default()
    }
}
