//! Adds the routes with which a browser signs in and out to the OpenAPI document. They are not in the table of
//! operations, because they set a cookie.

use super::problem;
use crate::{
    json_schema::reference,
    sign_in::{SESSION_CODES_PATH, SESSION_PATH},
};
use serde_json::{Map, Value, json};

pub(super) fn paths() -> Map<String, Value> {
    let create = describe(
        "create_session",
        "Sign in",
        "For the page: exchanges a one-time code or a token for a cookie, which only requests of the page itself may use. \
         Returns what whoami returns.",
        Some(reference("CreateSessionRequest")),
        &reference("Whoami"),
    );
    let delete = describe(
        "delete_session",
        "Sign out",
        "Ends the session of the cookie, also on other connections. Returns what whoami returns.",
        None,
        &reference("Whoami"),
    );
    let code = describe(
        "create_session_code",
        "A code to sign in with",
        "For the holder of a token: a one-time code with which a browser signs in under the same name. `countersign open` \
         puts it into the address of the page.",
        Some(json!({ "type": "object" })),
        &reference("SessionCode"),
    );
    let paths =
        [(SESSION_PATH, json!({ "post": create, "delete": delete })), (SESSION_CODES_PATH, json!({ "post": code }))];
    paths.into_iter().map(|(path, methods)| (path.to_owned(), methods)).collect()
}

fn describe(id: &str, summary: &str, description: &str, body: Option<Value>, response: &Value) -> Value {
    let mut described = json!({
        "operationId": id,
        "summary": summary,
        "description": description,
        "responses": {
            "200": { "description": "Success.", "content": { "application/json": { "schema": response } } },
            "4XX": problem(),
            "5XX": problem(),
        },
        "tags": ["session"],
    });
    if let Some(schema) = body {
        described["requestBody"] =
            json!({ "required": false, "content": { "application/json": { "schema": schema } } });
    }
    described
}
