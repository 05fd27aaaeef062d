//! Accepting and rejecting a counter-patch.

use super::{Call, error::CallError};
use api::{counter_patches::CounterPatchRequest, reviews::ReviewStatusResponse};
use domain::review::{AcceptCounterPatch, Command};

pub(super) async fn accept(call: &Call<'_>, request: CounterPatchRequest) -> Result<ReviewStatusResponse, CallError> {
    let accept = AcceptCounterPatch { by: call.authz.name(), persona: request.persona, patched: None };
    call.execute(&request.review_id, Command::AcceptCounterPatch(accept)).await
}

pub(super) async fn reject(call: &Call<'_>, request: CounterPatchRequest) -> Result<ReviewStatusResponse, CallError> {
    let command = Command::RejectCounterPatch { by: call.authz.name(), persona: request.persona };
    call.execute(&request.review_id, command).await
}
