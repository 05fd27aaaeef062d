-- What a gate looks approvals up by. Only reviews whose approval stands are in these, so that the writer pays for them
-- when a review is approved and closed, and not with every change.

CREATE INDEX reviews_approved_by_patch ON reviews (patch_id) WHERE approved_hash IS NOT NULL;
CREATE INDEX reviews_approved_by_tree ON reviews (tree_id) WHERE approved_hash IS NOT NULL;
