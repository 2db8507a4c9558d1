-- The newest transfers of one flow, and the newest actions on one thing, where operators list them. Writes wait while these
-- are made, about a second a million transfers.
CREATE INDEX transfers_flow ON transfers (flow COLLATE "C", transfer_id);
CREATE INDEX transfers_archive_flow ON transfers_archive (flow COLLATE "C", transfer_id);
DROP INDEX operator_actions_subject;
CREATE INDEX operator_actions_subject ON operator_actions (subject, action_id);
