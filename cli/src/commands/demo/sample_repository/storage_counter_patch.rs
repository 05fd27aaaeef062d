//! Keeps carts in files, one per customer.

use std::{fs, io, path::PathBuf};

pub struct Storage {
    folder: PathBuf,
}

impl Storage {
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The name is written in hex, so that it cannot leave the folder.
    fn file(&self, customer: &str) -> PathBuf {
        let name: String = customer.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}.cart"))
    }

    /// Replaces the whole file in one step, so that a crash leaves the old cart or the new one.
    pub fn save(&self, customer: &str, cart: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let file = self.file(customer);
        let draft = file.with_extension("draft");
        fs::write(&draft, cart)?;
        fs::rename(draft, file)
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
