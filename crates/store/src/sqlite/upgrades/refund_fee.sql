-- Terms of the third version: what is kept where the money is given back. NULL: nothing, as of every row before.
ALTER TABLE transfers ADD COLUMN refund_fee TEXT;
