//! Response type that tells a page who its user is and which broker answers.

use domain::credential::Authority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response of whoami: the caller, and the broker that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    /// The name that the token belongs to. `null` without a token.
    pub name: Option<String>,
    /// What the token allows. `null` without a token: if no token is required, the caller acts as a local operator.
    pub authority: Option<Authority>,
    /// The projects that the token is limited to. `null`: all.
    pub projects: Option<Vec<String>>,
    /// The name of the user that runs the broker, for a caller without a name.
    pub suggested_name: String,
    /// The broker refuses calls without a token.
    pub token_required: bool,
    /// The request carried a valid session cookie.
    pub signed_in: bool,
    /// Changes with every build of the broker.
    pub build: String,
    /// Identifies the database. Another value means that another broker answers at this address.
    pub database_id: String,
    /// The broker plays the demo and keeps nothing.
    pub demo: bool,
}
