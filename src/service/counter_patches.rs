//! Accepting and rejecting a counter-patch.

use super::{Call, error::CallError};
use api::{counter_patches::CounterPatchRequest, reviews::ReviewStatusResponse};

pub(super) async fn accept(call: &Call<'_>, request: CounterPatchRequest) -> Result<ReviewStatusResponse, CallError> {
    let id = call.resolve(&request.review_id).await?;
    let review = call.broker.accept_counter_patch(id, call.authz.name(), request.persona).await?;
    Ok(ReviewStatusResponse::from(&*review))
}

pub(super) async fn reject(call: &Call<'_>, request: CounterPatchRequest) -> Result<ReviewStatusResponse, CallError> {
    let id = call.resolve(&request.review_id).await?;
    let review = call.broker.reject_counter_patch(id, call.authz.name(), request.persona).await?;
    Ok(ReviewStatusResponse::from(&*review))
}
