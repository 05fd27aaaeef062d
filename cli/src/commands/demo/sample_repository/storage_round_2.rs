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

    /// The saved cart, or `None` if the customer has none.
    pub fn load(&self, customer: &str) -> io::Result<Option<String>> {
        match fs::read_to_string(self.file(customer)) {
            Ok(cart) => Ok(Some(cart)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
