use serde::{Deserialize, Serialize};
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffectedFile { pub path: String }
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag { pub detail: String }
