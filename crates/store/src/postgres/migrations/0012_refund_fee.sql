-- Terms of the third version: what is kept where the money is given back. NULL: nothing, as of every row before. The archive
-- has the columns of the transfers, in their order.
ALTER TABLE transfers ADD COLUMN refund_fee numeric(39,0);
ALTER TABLE transfers_archive ADD COLUMN refund_fee numeric(39,0);
-- the stars of a view are those of the day it was made
CREATE OR REPLACE VIEW every_transfer AS SELECT * FROM transfers UNION ALL SELECT * FROM transfers_archive;
