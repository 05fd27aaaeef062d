use super::{Tool, Who, Whose};
use actors::{
    Caller, Credentials,
    credentials::{Authority, Scope},
    requests::ListQuery,
};
use domain::review::Role;

fn caller(authority: Authority, identity: &str, scope: Scope) -> Caller {
    Caller { authority, identity: identity.into(), scope, credential: None }
}

fn code<T>(answer: Result<T, super::Refused>) -> Result<T, &'static str> {
    answer.map_err(|refused| refused.code)
}

#[test]
fn a_tool_is_for_its_own_role_and_for_operators() {
    use Authority::{Operator, Proposer, Reviewer};
    for (whose, allowed) in [
        (Whose::Everyones, &[Proposer, Reviewer, Operator][..]),
        (Whose::Only(Role::Proposer), &[Proposer, Operator]),
        (Whose::Only(Role::Reviewer), &[Reviewer, Operator]),
        (Whose::Operators, &[Operator]),
    ] {
        for authority in Authority::ALL {
            assert_eq!(whose.allows(*authority), allowed.contains(authority), "{whose:?} {authority}");
        }
    }
}

#[test]
fn operators_tools_stand_on_the_endpoint_for_all() {
    assert!(Whose::Operators.is_offered(None));
    assert!(!Whose::Operators.is_offered(Some(Role::Proposer)) && !Whose::Operators.is_offered(Some(Role::Reviewer)));
}

#[test]
fn a_token_speaks_in_its_own_name() {
    let credentials = Credentials::default();
    let ada = caller(Authority::Reviewer, "ada", Scope::All);
    let who = Who { caller: Some(&ada), credentials: &credentials };
    assert_eq!(code(who.speaks_as("reviewer_id", None)), Ok(Some("ada".into())));
    assert_eq!(code(who.speaks_as("reviewer_id", Some("ada".into()))), Ok(Some("ada".into())));
    assert_eq!(code(who.speaks_as("reviewer_id", Some("bob".into()))), Err("wrong_identity"));
    assert!(who.may_call(Tool::ClaimReview).is_ok() && who.may_call(Tool::CreateReview).is_err());
    assert_eq!(who.role(), Some(Role::Reviewer));
}

#[test]
fn an_operator_speaks_for_anyone_and_the_local_one_for_nobody_by_itself() {
    let credentials = Credentials::default();
    let boss = caller(Authority::Operator, "boss", Scope::All);
    let who = Who { caller: Some(&boss), credentials: &credentials };
    assert_eq!(code(who.speaks_as("reviewer_id", Some("bob".into()))), Ok(Some("bob".into())));
    assert_eq!(code(who.speaks_as("reviewer_id", None)), Ok(Some("boss".into())));
    let local = credentials.find(&credentials.issue_local_operator()).unwrap();
    let who = Who { caller: Some(&local), credentials: &credentials };
    assert_eq!(code(who.speaks_as("reviewer_id", None)), Ok(None));
    assert_eq!((who.identity(), who.role()), (Some("operator"), None));
}

#[test]
fn only_its_pass_speaks_for_a_reviewer_of_the_pool() {
    let credentials = Credentials::default();
    let (secret, _) = credentials.issue("codex-r1", Scope::All);
    let own = credentials.find(&secret).unwrap();
    let name = || Some("codex-r1".to_owned());
    let who = |caller| Who { caller, credentials: &credentials };
    assert_eq!(code(who(Some(&own)).speaks_as("reviewer_id", None)), Ok(name()));
    assert!(who(Some(&own)).credential().is_some());
    let impostor = caller(Authority::Reviewer, "codex-r1", Scope::All);
    let operator = caller(Authority::Operator, "boss", Scope::All);
    for other in [None, Some(&impostor), Some(&operator)] {
        assert_eq!(code(who(other).speaks_as("reviewer_id", name())), Err("wrong_identity"));
    }
    assert_eq!(code(who(Some(&impostor)).speaks_as("reviewer_id", None)), Err("wrong_identity"));
    // Nor does anybody once it has ended, while what it held is on its way back.
    credentials.revoke("codex-r1");
    assert_eq!(code(who(None).speaks_as("reviewer_id", name())), Err("wrong_identity"));
}

#[test]
fn the_queue_is_cut_to_a_reviewers_own() {
    let credentials = Credentials::default();
    let (ada, eve) = (caller(Authority::Reviewer, "ada", Scope::All), caller(Authority::Proposer, "eve", Scope::All));
    let listens = |caller| code(Who { caller: Some(caller), credentials: &credentials }.listens_as(None));
    assert_eq!((listens(&ada), listens(&eve)), (Ok(Some("ada".into())), Ok(None)));
}

#[test]
fn a_scope_bounds_lists_and_proposals() {
    let credentials = Credentials::default();
    let app = caller(Authority::Proposer, "eve", Scope::Project(Some("app".into())));
    let who = Who { caller: Some(&app), credentials: &credentials };
    let list = |projects: &[&str]| ListQuery {
        projects: projects.iter().map(|project| (*project).to_owned()).collect(),
        ..ListQuery::default()
    };
    assert_eq!(code(who.confine(list(&[]))), Ok(list(&["app"])));
    assert_eq!(code(who.confine(list(&["app"]))), Ok(list(&["app"])));
    assert_eq!(code(who.confine(list(&["app", "web"]))), Err("wrong_project"));
    assert_eq!(code(who.proposes_in(None, Some("web"))), Ok(Some("app".into())));
    assert_eq!(code(who.proposes_in(Some("web".into()), Some("app"))), Err("wrong_project"));

    let (secret, _) = credentials.issue("r1", Scope::Project(None));
    let without = credentials.find(&secret).unwrap();
    let who = Who { caller: Some(&without), credentials: &credentials };
    assert_eq!(code(who.confine(list(&[]))), Ok(ListQuery { without_project: true, ..list(&[]) }));
    assert_eq!(code(who.confine(list(&["app"]))), Err("wrong_project"));
    assert_eq!(code(who.proposes_in(None, None)), Ok(None));
    assert_eq!(code(who.proposes_in(None, Some("app"))), Err("wrong_project"));
}
