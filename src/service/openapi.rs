//! Returns the description of the REST API.

use super::{Call, error::CallError};
use api::openapi::{self, OpenApi};
use api::operation::NoArguments;
use serde_json::{Map, Value};

pub(super) async fn get(_: &Call<'_>, _: NoArguments) -> Result<OpenApi, CallError> {
    Ok(OpenApi(object(openapi::document().clone())))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
