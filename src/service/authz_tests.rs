use super::Authorization;
use actors::{
    Caller, Credentials, ListQuery,
    credentials::{Authority, Scope},
};
use api::{ErrorBody, OperationId, RequiredRole};
use domain::review::Role;

fn caller(authority: Authority, identity: &str, scope: Scope) -> Caller {
    Caller { authority, identity: identity.into(), scope, credential: None }
}

fn code<T>(result: Result<T, ErrorBody>) -> Result<T, &'static str> {
    result.map_err(|body| body.code.as_str())
}

#[test]
fn an_operation_is_for_its_own_role_and_for_operators() {
    use Authority::{Operator, Proposer, Reviewer};
    for (role, allowed) in [
        (RequiredRole::Any, &[Proposer, Reviewer, Operator][..]),
        (RequiredRole::Proposer, &[Proposer, Operator]),
        (RequiredRole::Reviewer, &[Reviewer, Operator]),
        (RequiredRole::Operator, &[Operator]),
    ] {
        for authority in Authority::ALL {
            assert_eq!(role.allows(*authority), allowed.contains(authority), "{role:?} {authority}");
        }
    }
}

#[test]
fn only_the_endpoint_without_a_role_offers_operator_tools() {
    let operator = RequiredRole::Operator;
    assert!(operator.is_offered_to(None));
    assert!(!operator.is_offered_to(Some(Role::Proposer)) && !operator.is_offered_to(Some(Role::Reviewer)));
}

#[test]
fn a_token_acts_in_its_own_name() {
    let credentials = Credentials::default();
    let ada = caller(Authority::Reviewer, "ada", Scope::All);
    let authz = Authorization::new(Some(&ada), &credentials);
    assert_eq!(code(authz.identity_for("reviewer_id", None)), Ok(Some("ada".into())));
    assert_eq!(code(authz.identity_for("reviewer_id", Some("ada".into()))), Ok(Some("ada".into())));
    assert_eq!(code(authz.identity_for("reviewer_id", Some("bob".into()))), Err("wrong_identity"));
    assert!(authz.check_role(OperationId::ClaimReview).is_ok() && authz.check_role(OperationId::CreateReview).is_err());
    assert_eq!(authz.role(), Some(Role::Reviewer));
}

#[test]
fn an_operator_acts_under_any_name_and_the_local_operator_has_none_of_its_own() {
    let credentials = Credentials::default();
    let boss = caller(Authority::Operator, "boss", Scope::All);
    let authz = Authorization::new(Some(&boss), &credentials);
    assert_eq!(code(authz.identity_for("reviewer_id", Some("bob".into()))), Ok(Some("bob".into())));
    assert_eq!(code(authz.identity_for("reviewer_id", None)), Ok(Some("boss".into())));
    let local = credentials.find(&credentials.issue_local_operator()).unwrap();
    let authz = Authorization::new(Some(&local), &credentials);
    assert_eq!(code(authz.identity_for("reviewer_id", None)), Ok(None));
    assert_eq!((authz.identity(), authz.role()), (Some("operator"), None));
}

#[test]
fn only_its_own_credential_acts_for_a_pool_reviewer() {
    let credentials = Credentials::default();
    let (secret, _) = credentials.issue("codex-r1", Scope::All);
    let own = credentials.find(&secret).unwrap();
    let name = || Some("codex-r1".to_owned());
    let authz = |caller| Authorization::new(caller, &credentials);
    assert_eq!(code(authz(Some(&own)).identity_for("reviewer_id", None)), Ok(name()));
    assert!(authz(Some(&own)).credential().is_some());
    let impostor = caller(Authority::Reviewer, "codex-r1", Scope::All);
    let operator = caller(Authority::Operator, "boss", Scope::All);
    for other in [None, Some(&impostor), Some(&operator)] {
        assert_eq!(code(authz(other).identity_for("reviewer_id", name())), Err("wrong_identity"));
    }
    assert_eq!(code(authz(Some(&impostor)).identity_for("reviewer_id", None)), Err("wrong_identity"));
    // Also not after it has ended, while its claims are being released.
    credentials.revoke("codex-r1");
    assert_eq!(code(authz(None).identity_for("reviewer_id", name())), Err("wrong_identity"));
}

#[test]
fn a_reviewers_token_limits_the_queue() {
    let credentials = Credentials::default();
    let (ada, eve) = (caller(Authority::Reviewer, "ada", Scope::All), caller(Authority::Proposer, "eve", Scope::All));
    let identity = |caller| code(Authorization::new(Some(caller), &credentials).queue_identity(None));
    assert_eq!((identity(&ada), identity(&eve)), (Ok(Some("ada".into())), Ok(None)));
}

#[test]
fn a_scope_limits_lists_and_proposals() {
    let credentials = Credentials::default();
    let app = caller(Authority::Proposer, "eve", Scope::Project(Some("app".into())));
    let authz = Authorization::new(Some(&app), &credentials);
    let list = |projects: &[&str]| ListQuery {
        projects: projects.iter().map(|project| (*project).to_owned()).collect(),
        ..ListQuery::default()
    };
    assert_eq!(code(authz.limit_list(list(&[]))), Ok(list(&["app"])));
    assert_eq!(code(authz.limit_list(list(&["app"]))), Ok(list(&["app"])));
    assert_eq!(code(authz.limit_list(list(&["app", "web"]))), Err("wrong_project"));
    assert_eq!(code(authz.proposal_project(None, Some("web"))), Ok(Some("app".into())));
    assert_eq!(code(authz.proposal_project(Some("web".into()), Some("app"))), Err("wrong_project"));

    let (secret, _) = credentials.issue("r1", Scope::Project(None));
    let without = credentials.find(&secret).unwrap();
    let authz = Authorization::new(Some(&without), &credentials);
    assert_eq!(code(authz.limit_list(list(&[]))), Ok(ListQuery { without_project: true, ..list(&[]) }));
    assert_eq!(code(authz.limit_list(list(&["app"]))), Err("wrong_project"));
    assert_eq!(code(authz.proposal_project(None, None)), Ok(None));
    assert_eq!(code(authz.proposal_project(None, Some("app"))), Err("wrong_project"));
}
