//! Authorization: decides which operations a caller may use, under which identity, and which reviews it may see.
//!
//! Without a token the caller names itself, except as a pool reviewer: only a pool reviewer's own credential may act
//! under its name.

use actors::{
    BrokerError, Caller, Credentials, ListQuery, ReviewerCredential,
    credentials::{Authority, Scope},
};
use api::{ErrorBody, ErrorCode, OperationId, RequiredRole};
use domain::{
    identity::is_same_identity,
    review::{Review, Role},
};

use super::error::error_body;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Authorization<'a> {
    caller: Option<&'a Caller>,
    credentials: &'a Credentials,
}

impl<'a> Authorization<'a> {
    /// `caller`: the holder of the request's token, if it has one.
    pub(crate) fn new(caller: Option<&'a Caller>, credentials: &'a Credentials) -> Self {
        Self { caller, credentials }
    }

    /// The name for the log.
    pub(super) fn identity(self) -> Option<&'a str> {
        self.caller.map(|caller| caller.identity.as_str())
    }

    /// The name that a call without a name argument is recorded under.
    pub(super) fn name(self) -> Option<String> {
        self.caller.and_then(Caller::name).map(Into::into)
    }

    pub(super) fn authority(self) -> Option<Authority> {
        self.caller.map(|caller| caller.authority)
    }

    /// The projects that the token is valid for.
    pub(crate) fn scope(self) -> Option<&'a Scope> {
        self.caller.map(|caller| &caller.scope)
    }

    /// The credential of a pool reviewer.
    pub(super) fn credential(self) -> Option<&'a ReviewerCredential> {
        self.caller.and_then(|caller| caller.credential.as_deref())
    }

    /// The only role that the token may act in; `None` if it may act in both.
    pub(super) fn role(self) -> Option<Role> {
        match self.caller?.authority {
            Authority::Proposer => Some(Role::Proposer),
            Authority::Reviewer => Some(Role::Reviewer),
            Authority::Operator => None,
        }
    }

    /// Checks that the caller may use an operation.
    pub(super) fn check_role(self, operation: OperationId) -> Result<(), ErrorBody> {
        let Some(caller) = self.caller else { return Ok(()) };
        let role = operation.role();
        if role.allows(caller.authority) {
            if role == RequiredRole::AllProjectsOperator && caller.scope != Scope::All {
                let error = format!("{} requires a token for all projects; yours is for one", operation.name());
                return Err(ErrorBody::new(ErrorCode::WrongProject, error));
            }
            return Ok(());
        }
        let allowed: Vec<_> = Authority::ALL.iter().filter(|one| role.allows(**one)).map(|one| one.as_str()).collect();
        let error = format!(
            "{} is not allowed with a {} token; allowed: {}",
            operation.name(),
            caller.authority,
            allowed.join(", ")
        );
        Err(ErrorBody::new(ErrorCode::WrongRole, error).with("allowed", allowed))
    }

    /// The name that a call is made under: the given one, else the token's.
    pub(super) fn identity_for(self, field: &'static str, given: Option<String>) -> Result<Option<String>, ErrorBody> {
        let name = match (given, self.caller) {
            (Some(given), Some(caller))
                if caller.authority != Authority::Operator && !is_same_identity(&given, &caller.identity) =>
            {
                let error = format!("{field}: your token belongs to {:?}; give that name or none", caller.identity);
                let body = ErrorBody::new(ErrorCode::WrongIdentity, error).with("field", field);
                return Err(body.with("allowed", vec![caller.identity.clone()]));
            }
            (Some(_), Some(caller)) if caller.authority != Authority::Operator => Some(caller.identity.clone()),
            (Some(given), _) => Some(given),
            (None, _) => self.name(),
        };
        match name {
            Some(name) if self.is_other_pool_reviewer(&name) => {
                Err(error_body(&BrokerError::WrongIdentity { field, name }))
            }
            Some(_) | None => Ok(name),
        }
    }

    /// The name whose queue a list shows. Without a name only a reviewer's token limits the queue.
    pub(super) fn queue_identity(self, given: Option<String>) -> Result<Option<String>, ErrorBody> {
        let is_reviewer = self.role() == Some(Role::Reviewer);
        if given.is_none() && !is_reviewer { Ok(None) } else { self.identity_for("caller_id", given) }
    }

    /// Whether `name` is a pool reviewer and this is not its credential.
    fn is_other_pool_reviewer(self, name: &str) -> bool {
        self.credentials.is_reserved(name)
            && (self.credential().is_none() || self.identity().is_none_or(|own| !is_same_identity(own, name)))
    }

    /// Whether a call has to load its review to check the caller's rights.
    pub(super) fn is_limited(self) -> bool {
        self.caller.is_some_and(|caller| caller.scope != Scope::All || caller.authority == Authority::Proposer)
    }

    pub(super) fn can_see_project(self, project: Option<&str>) -> bool {
        self.caller.is_none_or(|caller| caller.scope.allows(project))
    }

    /// Checks that a reviewer or webhook of this project is within the token's scope.
    pub(super) fn check_project(self, project: Option<&str>) -> Result<(), ErrorBody> {
        match self.caller {
            Some(caller) if !caller.scope.allows(project) => {
                Err(wrong_project(&caller.scope, "this one belongs to another project").with("field", "project"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the review is within the token's scope, and that a proposer acts only on its own reviews.
    pub(crate) fn check_review(self, review: &Review, operation: Option<OperationId>) -> Result<(), ErrorBody> {
        let Some(caller) = self.caller else { return Ok(()) };
        if !caller.scope.allows(review.proposer.project.as_deref()) {
            return Err(wrong_project(&caller.scope, &format!("{} belongs to another project", review.number)));
        }
        if let Some(only) = caller.scope.only_review().filter(|only| *only != review.number) {
            let error = format!("your token is valid only for {only}; {} is another review", review.number);
            return Err(ErrorBody::new(ErrorCode::WrongReview, error).with("allowed", vec![only.to_string()]));
        }
        let is_proposers = operation.is_some_and(|operation| operation.role() == RequiredRole::Proposer);
        let owner = review.proposer.proposer_id.as_deref();
        if is_proposers
            && caller.authority == Authority::Proposer
            && owner.is_some_and(|owner| !is_same_identity(owner, &caller.identity))
        {
            let error = format!("{} belongs to another proposer; only its proposer may do this", review.number);
            return Err(ErrorBody::new(ErrorCode::NotTheProposer, error));
        }
        Ok(())
    }

    /// Limits a list to the token's scope.
    pub(crate) fn limit_list(self, query: ListQuery) -> Result<ListQuery, ErrorBody> {
        let Some(scope @ (Scope::Project(own) | Scope::Review { project: own, .. })) = self.scope() else {
            return Ok(query);
        };
        if let Some(other) = query.projects.iter().find(|project| Some(*project) != own.as_ref()) {
            return Err(wrong_requested_project(scope, other));
        }
        // The only review of a dedicated reviewer is the one in which it holds a seat.
        let participant = match scope.only_review() {
            Some(_) => self.name(),
            None => query.participant,
        };
        let projects = own.iter().cloned().collect();
        Ok(ListQuery { projects, without_project: own.is_none(), participant, ..query })
    }

    /// The only project whose history the caller may see (`Some(None)`: what has no project); `None`: all.
    pub(super) fn only_project(self) -> Option<Option<String>> {
        match self.scope() {
            Some(Scope::Project(own) | Scope::Review { project: own, .. }) => Some(own.clone()),
            Some(Scope::All) | None => None,
        }
    }

    pub(super) fn check_readable_project(self, given: &str) -> Result<(), ErrorBody> {
        match self.caller {
            Some(caller) if !caller.scope.allows(Some(given)) => Err(wrong_requested_project(&caller.scope, given)),
            Some(_) | None => Ok(()),
        }
    }

    /// The project of a new proposal: the given one, else the token's, else `own`, the broker's.
    pub(super) fn proposal_project(
        self,
        given: Option<String>,
        own: Option<&str>,
    ) -> Result<Option<String>, ErrorBody> {
        let Some(scope @ (Scope::Project(only) | Scope::Review { project: only, .. })) = self.scope() else {
            return Ok(given);
        };
        let project = given.or_else(|| only.clone());
        if project.as_deref().or(own) != only.as_deref() {
            return Err(wrong_project(scope, "proposals to other projects are not allowed").with("field", "project"));
        }
        Ok(project)
    }
}

fn wrong_requested_project(scope: &Scope, given: &str) -> ErrorBody {
    let given: String = given.chars().take(80).collect();
    wrong_project(scope, &format!("{given:?} is not allowed")).with("field", "project")
}

fn wrong_project(scope: &Scope, problem: &str) -> ErrorBody {
    let only = match scope {
        Scope::All => "every project".to_owned(),
        Scope::Project(Some(project)) => format!("the project {project:?}"),
        Scope::Project(None) => "reviews without a project".to_owned(),
        Scope::Review { number, .. } => number.to_string(),
    };
    let body = ErrorBody::new(ErrorCode::WrongProject, format!("your token is valid only for {only}; {problem}"));
    match scope {
        Scope::Project(Some(project)) => body.with("allowed", vec![project.clone()]),
        Scope::All | Scope::Project(None) | Scope::Review { .. } => body,
    }
}

#[cfg(test)]
#[path = "authz_tests.rs"]
mod tests;
