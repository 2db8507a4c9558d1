-- What an event agreed, beside the event: the document whose hash is in the event's own hash. NULL in all
-- others.
DROP VIEW transfer_events;
CREATE VIEW transfer_events AS SELECT
  t.req_id, json_extract(e.value, '$[0]') AS seq, json_extract(e.value, '$[1]') AS at,
  json_extract(e.value, '$[2]') AS from_state, json_extract(e.value, '$[3]') AS to_state,
  json_extract(e.value, '$[4]') AS event, json_extract(e.value, '$[5]') AS caller,
  json_extract(e.value, '$[6]') AS detail,
  lag(json_extract(e.value, '$[7]')) OVER (PARTITION BY t.req_id ORDER BY e.key) AS prev_hash,
  json_extract(e.value, '$[7]') AS hash, json_extract(e.value, '$[8]') AS audit_unit,
  CASE WHEN json_extract(e.value, '$[9]') IS NOT NULL THEN t.agreed END AS agreed
FROM transfers t, json_each('[' || t.history || ']') e;
