-- Numbered accounts: their asset by its number beside its symbol, what a compare-and-swap needs, and
-- what no fault may write. No release wrote a row here.
ALTER TABLE accounts_tb
  ADD COLUMN asset_id int NOT NULL DEFAULT 0,
  ADD COLUMN version bigint NOT NULL DEFAULT 1,
  ADD CHECK (balance >= 0),
  ADD CHECK (status IN ('ACTIVE', 'FROZEN', 'CLOSED'));
ALTER TABLE accounts_tb SET (fillfactor = 50);
CREATE INDEX accounts_owner ON accounts_tb (owner_id);
-- The receiver of a move, whose payer is the account.
ALTER TABLE operations ADD COLUMN other_account text;
-- A ledger of the journal's own database is not listed by its numbers on the way of a transfer.
DROP INDEX operations_seq;
CREATE INDEX operations_seq ON operations (ledger, seq) WHERE ledger <> 1 AND ledger <> 10;
-- Of a numbered account; NULL: the user's account at Funding.
ALTER TABLE externals ADD COLUMN account_number text;
DROP VIEW transfer_operations;
CREATE VIEW transfer_operations AS SELECT
  CASE ledger WHEN 1 THEN 'FUNDING' WHEN 2 THEN 'SPOT' WHEN 3 THEN 'FUTURE' WHEN 4 THEN 'MARGIN'
    WHEN 10 THEN 'ACCOUNT' ELSE ledger::text END AS ledger,
  portage_ulid(req_id) AS req_id, leg, leg AS op_type, result, code, seq, asset_id, amount, account,
  to_timestamp(at / 1000.0) AS at, other_account
FROM operations;
