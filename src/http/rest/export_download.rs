//! REST handlers that send a file while it is written.

use super::{Api, ApiRequest, response};
use crate::{
    http::problem_details::with_text,
    service::{CallError, Export},
};
use axum::{
    body::Body,
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures::{StreamExt as _, stream};

impl Api {
    /// A file that a browser saves.
    pub(super) async fn export(&self, request: &ApiRequest) -> Result<Response, CallError> {
        let permit = self.large_bodies.permit().await?;
        let arguments = request.arguments.clone();
        let Export { format, name, first, parts } =
            self.service.export(request.route.operation, arguments, request.context()).await?;
        let rest = stream::unfold((parts, permit), async |(mut parts, permit)| {
            let part = parts.recv().await?;
            Some((part.map_err(|_| "the export failed; the broker's log has the cause"), (parts, permit)))
        });
        let body = stream::once(async { Ok(first) }).chain(rest);
        // Compression polls it once more after its end.
        let mut response = with_text(StatusCode::OK, format.content_type(), Body::from_stream(body.fuse()));
        let headers = response.headers_mut();
        response::set_no_cache(headers);
        let name = format!("attachment; filename=\"{name}.{}\"", format.extension());
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::try_from(name).map_err(|_| CallError::Internal)?);
        Ok(response)
    }
}
