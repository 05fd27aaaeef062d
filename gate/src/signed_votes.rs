//! Decides which votes of a receipt count: those of people with a key in the signers file need the person's own signature,
//! on a content that is the commit.

use domain::vote_signature::VoteStatement;
use git::GitError;

use crate::approval_search::is_without_place;
use crate::receipt::{ApprovedReview, Envelope, Receipt, ReceiptFault, SeatVote, Statement};
use crate::{ApprovalSource, Gate, GateError};

impl Gate {
    /// Checks everything about a receipt that does not depend on the commit which has it.
    pub(crate) async fn check_receipt(&self, line: &[u8]) -> Result<Result<Box<Receipt>, ReceiptFault>, GateError> {
        let ApprovalSource::Receipts(receipts) = &self.source else { return Ok(Err(ReceiptFault::Missing)) };
        let signers = &receipts.signers;
        let receipt = match Envelope::parse(line).and_then(|envelope| signers.check_key(envelope)) {
            Ok(receipt) => receipt,
            Err(fault) => return Ok(Err(fault)),
        };
        let (mut votes, mut unsigned, mut is_commit) = (Vec::new(), None, None);
        let review = &receipt.statement.predicate.review;
        for vote in &review.votes {
            let fault = match signers.ssh_keys_of(&vote.reviewer) {
                None => None,
                Some(keys) if self.is_signed_by(keys, review, vote).await? => {
                    if is_commit.is_none() {
                        is_commit = Some(self.is_signed_content(&receipt.statement).await?);
                    }
                    let fault = ReceiptFault::OtherContentSigned(vote.reviewer.clone());
                    (is_commit != Some(true)).then_some(fault)
                }
                Some(_) if vote.signature.is_none() => Some(ReceiptFault::VoteUnsigned(vote.reviewer.clone())),
                Some(_) => Some(ReceiptFault::BadVoteSignature(vote.reviewer.clone())),
            };
            match fault {
                None => votes.push(vote.clone()),
                Some(fault) => unsigned = unsigned.or(Some(fault)),
            }
        }
        let checked = signers.check_policy(review, &votes);
        // What is missing is most often the signature.
        Ok(match (checked, unsigned) {
            (Ok(()), _) => Ok(Box::new(receipt)),
            (Err(ReceiptFault::TooFewApprovals { .. } | ReceiptFault::PersonaMissing(_)), Some(fault)) => Err(fault),
            (Err(fault), _) => Err(fault),
        })
    }

    async fn is_signed_by(
        &self,
        keys: &[crate::SshKey],
        review: &ApprovedReview,
        vote: &SeatVote,
    ) -> Result<bool, GateError> {
        let Some(signature) = &vote.signature else { return Ok(false) };
        let content = (review.id, signature.round, &review.content_hash);
        let statement = VoteStatement::new(content, (&vote.persona, &vote.reviewer), vote.verdict, signature.at);
        let scratch = self.scratch();
        crate::ssh_signatures::is_signed_by(keys, &statement.to_bytes(), &signature.ssh, scratch).await
    }

    /// Whether the content with the signed hash makes this commit of its parent. The broker could name any hash.
    async fn is_signed_content(&self, statement: &Statement) -> Result<bool, GateError> {
        let predicate = &statement.predicate;
        let (Some(content), Some(tree)) = (&predicate.review.content, statement.tree()) else { return Ok(false) };
        let has_no_place = is_without_place(&content.diff, content.base.as_deref(), predicate.parent.as_deref());
        if content.hash() != predicate.review.content_hash || has_no_place {
            return Ok(false);
        }
        match self.git.differing_files(predicate.parent.as_deref(), &content.diff, tree).await {
            Ok(files) => Ok(files.iter().all(|file| predicate.exempt.contains(file))),
            Err(
                GitError::DoesNotApply { .. }
                | GitError::TooLarge { .. }
                | GitError::UnknownBase { .. }
                | GitError::BadBase { .. },
            ) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
