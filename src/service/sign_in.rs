//! The operation that tells a page who its user is and which broker answers.

use super::{Call, CallContext, Service, error::CallError};
use actors::{Caller, credentials::Scope};
use api::{operation::NoArguments, sign_in::Whoami};

pub(super) async fn whoami(call: &Call<'_>, _: NoArguments) -> Result<Whoami, CallError> {
    let CallContext { caller, needs_token, is_signed_in, .. } = call.context;
    Ok(call.service.whoami(caller, needs_token, is_signed_in).await)
}

impl Service {
    pub(crate) async fn whoami(&self, caller: Option<&Caller>, needs_token: bool, is_signed_in: bool) -> Whoami {
        let identity = &self.identity;
        // The name of the broker's user is not for strangers.
        let may_know = caller.is_some() || !needs_token;
        let suggested_name = if may_know { identity.user_name().await } else { None };
        Whoami {
            name: caller.and_then(Caller::name).map(Into::into),
            authority: caller.map(|caller| caller.authority),
            projects: caller.and_then(|caller| projects(&caller.scope)),
            suggested_name: suggested_name.unwrap_or_default().to_owned(),
            token_required: needs_token,
            signed_in: is_signed_in,
            build: identity.build.to_owned(),
            database_id: identity.database_id.clone(),
            seq: may_know.then(|| *self.broker().feed().committed.borrow()),
            demo: identity.is_demo,
        }
    }
}

/// `None`: all.
fn projects(scope: &Scope) -> Option<Vec<String>> {
    match scope {
        Scope::All => None,
        Scope::Project(project) | Scope::Review { project, .. } => Some(project.iter().cloned().collect()),
    }
}
