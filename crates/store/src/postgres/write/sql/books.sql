INSERT INTO books (account_type, book, lane, asset_id, amount)
SELECT account_type, book, $1, asset_id, amount::numeric
FROM (
  SELECT
    unnest($2::text[]) AS book, unnest($3::int[]) AS asset_id, unnest($4::text[]) AS amount,
    unnest($5::text[]) AS account_type
) AS n
ON CONFLICT (account_type, book, lane, asset_id)
  DO UPDATE SET amount = books.amount + excluded.amount
