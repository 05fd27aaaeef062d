//! Who calls, and what that lets them do, say and see. Whoever shows no token is taken at its word, but
//! never for a reviewer that the pool has started.

use super::{
    Server,
    refusal::Refused,
    tools::{Tool, Whose},
};
use actors::{
    BrokerError, Caller, Credentials, ReviewerCredential,
    credentials::{Authority, Scope},
    requests::ListQuery,
};
use axum::http::request::Parts;
use domain::review::{Review, Role};
use rmcp::model::Extensions;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Who<'a> {
    caller: Option<&'a Caller>,
    credentials: &'a Credentials,
}

impl<'a> Who<'a> {
    /// The door has put the caller beside the request.
    pub(super) fn of(server: &'a Server, extensions: &'a Extensions) -> Self {
        Self::new(server, extensions.get::<Parts>().and_then(|parts| parts.extensions.get()))
    }

    pub(crate) fn new(server: &'a Server, caller: Option<&'a Caller>) -> Self {
        Self { caller, credentials: server.broker.credentials() }
    }

    /// For the log.
    pub(super) fn identity(self) -> Option<&'a str> {
        self.caller.map(|caller| caller.identity.as_str())
    }

    /// The name a call is recorded under that has no argument for it.
    pub(super) fn name(self) -> Option<String> {
        self.caller.and_then(Caller::name).map(Into::into)
    }

    /// What its token lets it do.
    pub(super) fn authority(self) -> Option<Authority> {
        self.caller.map(|caller| caller.authority)
    }

    /// Whose reviews its token is good for.
    pub(crate) fn scope(self) -> Option<&'a Scope> {
        self.caller.map(|caller| &caller.scope)
    }

    /// Only of a reviewer that the pool has started.
    pub(super) fn credential(self) -> Option<&'a ReviewerCredential> {
        self.caller.and_then(|caller| caller.credential.as_deref())
    }

    /// The one role its token lets it speak in; none if it may speak in both.
    pub(super) fn role(self) -> Option<Role> {
        match self.caller?.authority {
            Authority::Proposer => Some(Role::Proposer),
            Authority::Reviewer => Some(Role::Reviewer),
            Authority::Operator => None,
        }
    }

    pub(super) fn may_call(self, tool: Tool) -> Result<(), Refused> {
        self.may_use(tool.name(), tool.whose())
    }

    /// The same for what is no tool.
    pub(crate) fn may_use(self, name: &str, whose: Whose) -> Result<(), Refused> {
        let Some(caller) = self.caller else { return Ok(()) };
        if whose.allows(caller.authority) {
            return Ok(());
        }
        let allowed: Vec<_> = Authority::ALL.iter().filter(|one| whose.allows(**one)).map(|one| one.as_str()).collect();
        let error = format!("{name} is not for a token of the {}; allowed: {}", caller.authority, allowed.join(", "));
        Err(Refused::new("wrong_role", error).with("allowed", allowed))
    }

    /// The name a call is made under: the one it gives, or else the token's.
    pub(super) fn speaks_as(self, field: &'static str, given: Option<String>) -> Result<Option<String>, Refused> {
        let name = match (given, self.caller) {
            (Some(given), Some(caller)) if caller.authority != Authority::Operator && given != caller.identity => {
                let error = format!("{field}: your token is that of {:?}; leave it out or give that", caller.identity);
                let refused = Refused::new("wrong_identity", error).with("field", field);
                return Err(refused.with("allowed", vec![caller.identity.clone()]));
            }
            (Some(given), _) => Some(given),
            (None, _) => self.name(),
        };
        match name {
            Some(name) if self.is_anothers(&name) => Err(BrokerError::OfThePool { field, name }.into()),
            Some(_) | None => Ok(name),
        }
    }

    /// The name whose queue a list shows. Only a reviewer's token brings one along: to anybody else the
    /// queue is shown whole.
    pub(super) fn listens_as(self, given: Option<String>) -> Result<Option<String>, Refused> {
        let is_reviewer = self.role() == Some(Role::Reviewer);
        if given.is_none() && !is_reviewer { Ok(None) } else { self.speaks_as("caller_id", given) }
    }

    /// The name of a pool reviewer, and this is not its pass.
    fn is_anothers(self, name: &str) -> bool {
        self.credentials.is_issued(name) && self.credential().is_none_or(|credential| credential.identity() != name)
    }

    /// Whether a call of `tool` on `review` has to look at the review first.
    pub(super) fn is_bounded(self) -> bool {
        self.caller.is_some_and(|caller| caller.scope != Scope::All || caller.authority == Authority::Proposer)
    }

    /// Only what the token is good for, and of the proposer's work only the caller's own.
    /// Whether what belongs to this project is within reach.
    pub(super) fn allows(self, project: Option<&str>) -> bool {
        self.caller.is_none_or(|caller| caller.scope.allows(project))
    }

    pub(crate) fn may_touch_project(self, project: Option<&str>) -> Result<(), Refused> {
        match self.caller {
            Some(caller) if !caller.scope.allows(project) => {
                Err(wrong_project(&caller.scope, "that reviewer is another's").with("field", "project"))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn may_touch(self, review: &Review, tool: Option<Tool>) -> Result<(), Refused> {
        let Some(caller) = self.caller else { return Ok(()) };
        if !caller.scope.allows(review.proposer.project.as_deref()) {
            return Err(wrong_project(&caller.scope, &format!("{} belongs to another", review.number)));
        }
        let is_proposers = tool.is_some_and(|tool| tool.whose() == Whose::Only(Role::Proposer));
        let owner = review.proposer.proposer_id.as_deref();
        if is_proposers
            && caller.authority == Authority::Proposer
            && owner.is_some_and(|owner| owner != caller.identity)
        {
            let error = format!("{} was proposed by somebody else; only the proposer may", review.number);
            return Err(Refused::new("not_the_proposer", error));
        }
        Ok(())
    }

    /// The list, cut to what the token is good for.
    pub(super) fn confine(self, query: ListQuery) -> Result<ListQuery, Refused> {
        let Some(Scope::Project(own)) = self.caller.map(|caller| &caller.scope) else { return Ok(query) };
        if let Some(other) = query.projects.iter().find(|project| Some(*project) != own.as_ref()) {
            let other = domain::text::truncate(other, 80);
            return Err(
                wrong_project(&Scope::Project(own.clone()), &format!("not for {other:?}")).with("field", "project")
            );
        }
        Ok(ListQuery { projects: own.iter().cloned().collect(), without_project: own.is_none(), ..query })
    }

    /// The one project whose past it sees (`None` inside: what belongs to none); without it, all.
    pub(super) fn own_project(self) -> Option<Option<String>> {
        match self.scope() {
            Some(Scope::Project(own)) => Some(own.clone()),
            Some(Scope::All) | None => None,
        }
    }

    pub(super) fn may_read_project(self, given: &str) -> Result<(), Refused> {
        match self.caller {
            Some(caller) if !caller.scope.allows(Some(given)) => {
                let given = domain::text::truncate(given, 80);
                Err(wrong_project(&caller.scope, &format!("not for {given:?}")).with("field", "project"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The project of a new proposal: the one it names, else the token's, else the broker's own.
    pub(super) fn proposes_in(self, given: Option<String>, own: Option<&str>) -> Result<Option<String>, Refused> {
        let Some(Scope::Project(only)) = self.caller.map(|caller| &caller.scope) else { return Ok(given) };
        let project = given.or_else(|| only.clone());
        match project.as_deref().or(own) {
            project if project == only.as_deref() => {}
            _ => {
                return Err(
                    wrong_project(&Scope::Project(only.clone()), "propose nothing elsewhere").with("field", "project")
                );
            }
        }
        Ok(project)
    }
}

impl Whose {
    /// Whether a token of this authority may call such a tool.
    pub(super) fn allows(self, authority: Authority) -> bool {
        match (self, authority) {
            (_, Authority::Operator) | (Self::Everyones, _) | (Self::Only(Role::Proposer), Authority::Proposer) => true,
            (Self::Only(role), Authority::Reviewer) => role == Role::Reviewer,
            (Self::Only(Role::Reviewer), Authority::Proposer) | (Self::Operators, _) => false,
        }
    }
}

fn wrong_project(scope: &Scope, what: &str) -> Refused {
    let only = match scope {
        Scope::All => "every project".to_owned(),
        Scope::Project(Some(project)) => format!("the project {project:?}"),
        Scope::Project(None) => "reviews without a project".to_owned(),
    };
    let refused = Refused::new("wrong_project", format!("your token is good for {only} only; {what}"));
    match scope {
        Scope::Project(Some(project)) => refused.with("allowed", vec![project.clone()]),
        Scope::All | Scope::Project(None) => refused,
    }
}

#[cfg(test)]
#[path = "who_tests.rs"]
mod tests;
