//! Request and response types of the page's sign-in: who its user is, which broker answers, and one-time codes.

use domain::credential::Authority;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The path of the session of a browser.
pub const SESSION_PATH: &str = "/api/v1/session";

/// The path at which a token's holder gets a [`SessionCode`].
pub const SESSION_CODES_PATH: &str = "/api/v1/session-codes";

/// Signs a browser in: exactly one of the two.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionRequest {
    /// A one-time code, from `countersign open`.
    pub code: Option<String>,
    /// A token.
    pub token: Option<String>,
}

/// A code with which a browser signs in as the holder of the token that asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCode {
    /// Valid once.
    pub code: String,
    pub expires_in_seconds: u64,
}

/// Response of whoami: the caller, and the broker that answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    /// The name that the token belongs to. `null` without a token.
    pub name: Option<String>,
    /// What the token allows. `null` without a token: if no token is required, the caller acts as a local operator.
    pub authority: Option<Authority>,
    /// The projects that the token is limited to. `null`: all.
    pub projects: Option<Vec<String>>,
    /// The name under which the commands of the broker's user act, for a caller without a name. Empty if it is unknown, or
    /// if the broker requires a token and the request has none.
    pub suggested_name: String,
    /// The broker refuses calls without a token.
    pub token_required: bool,
    /// The request carried a valid session cookie.
    pub signed_in: bool,
    /// Identifies the files of the page. Another value than before means that the broker was updated: reload the page.
    pub build: String,
    /// Identifies the database. Another value means that another broker answers at this address.
    pub database_id: String,
    /// The last event. Who reads something after this response and follows the events from here misses no change. `null` if
    /// the broker requires a token and the request has none.
    pub seq: Option<u64>,
    /// The broker plays the demo and keeps nothing.
    pub demo: bool,
}
