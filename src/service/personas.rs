//! Lists the personas that the settings define.

use super::{Call, error::CallError};
use api::operation::NoArguments;
use api::personas::{ListPersonasResponse, Persona};
use domain::persona;

pub(super) async fn list(call: &Call<'_>, _: NoArguments) -> Result<ListPersonasResponse, CallError> {
    Ok(ListPersonasResponse { personas: call.service.config.personas().to_vec() })
}

pub(super) fn describe(persona: &persona::Persona) -> Persona {
    Persona {
        name: persona.name.clone(),
        focus: persona.focus.clone(),
        prompt: persona.prompt.to_string(),
        ignore: persona.ignore.to_vec(),
        mode: persona.mode.as_str().into(),
        runtime: persona.runtime.map(|runtime| runtime.as_str().into()),
        model: persona.model.clone(),
        effort: persona.effort.map(|effort| effort.as_str().into()),
        time_limit_seconds: persona.time_limit.as_secs(),
        budget_usd: persona.budget_usd,
        max_turns: (persona.mode == persona::Mode::Dedicated).then_some(persona.max_turns),
        max_tokens: persona.max_tokens,
        front_matter: persona.front_matter,
    }
}
