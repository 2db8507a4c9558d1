-- Numbered accounts: their asset by its number beside its symbol, and what a compare-and-swap needs.
-- No release wrote a row here.
ALTER TABLE accounts_tb ADD COLUMN asset_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts_tb ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
CREATE INDEX accounts_owner ON accounts_tb (owner_id);
-- The receiver of a move, whose payer is the account.
ALTER TABLE operations ADD COLUMN other_account TEXT;
-- Of a numbered account; NULL: the user's account at Funding.
ALTER TABLE externals ADD COLUMN account_number TEXT;
DROP VIEW transfer_operations;
CREATE VIEW transfer_operations AS SELECT
  CASE ledger WHEN 1 THEN 'FUNDING' WHEN 2 THEN 'SPOT' WHEN 3 THEN 'FUTURE' WHEN 4 THEN 'MARGIN'
    WHEN 10 THEN 'ACCOUNT' ELSE CAST(ledger AS TEXT) END AS ledger,
  req_id, leg, leg AS op_type, result, code, seq, asset_id,
  CASE ltrim(amount, '0') WHEN '' THEN '0' ELSE ltrim(amount, '0') END AS amount, account, at,
  other_account
FROM operations;
