//! The version of the running broker and the id of its database. An open page notices by them that the broker was
//! updated, or that another database is at its address.

use config::ProofKey;
use std::path::PathBuf;
use tokio::sync::OnceCell;

pub struct BrokerIdentity {
    /// Identifies the files of the page.
    pub build: &'static str,
    /// Identifies the database.
    pub database_id: String,
    /// Only a reader of the data folder knows it too.
    pub proof_key: ProofKey,
    /// The broker plays the demo and keeps nothing.
    pub is_demo: bool,
    /// The folder whose git settings may name the user.
    folder: PathBuf,
    user_name: OnceCell<Option<String>>,
}

impl BrokerIdentity {
    pub fn new(database_id: String, proof_key: ProofKey, is_demo: bool, folder: PathBuf) -> Self {
        Self { build: ui::BUILD, database_id, proof_key, is_demo, folder, user_name: OnceCell::new() }
    }

    /// The name under which the commands of the broker's user act. Looked up once, when a page first asks for it.
    pub(crate) async fn user_name(&self) -> Option<&str> {
        self.user_name.get_or_init(|| cli::local_name(&self.folder)).await.as_deref()
    }
}
