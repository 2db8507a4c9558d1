SELECT NOT EXISTS (
  SELECT
  FROM (VALUES
    ('transfers', 'INSERT'), ('transfers', 'UPDATE'), ('keys', 'INSERT'), ('operations', 'INSERT'),
    ('balances_tb', 'INSERT'), ('balances_tb', 'UPDATE'), ('open_batches', 'INSERT'),
    ('due', 'INSERT'), ('due', 'UPDATE'), ('due', 'DELETE'), ('audit_units', 'INSERT'),
    ('lanes', 'UPDATE'), ('service_state', 'SELECT'), ('assets_tb', 'SELECT')
  ) AS needed(name, deed)
  WHERE to_regclass(name) IS NULL OR NOT has_table_privilege(to_regclass(name)::oid, deed)
)
