-- What an event agreed, beside the event: the document whose hash is in the event's own hash. NULL in all
-- others. A new column stands at the end, so that no reader of the view sees another order.
CREATE OR REPLACE VIEW transfer_events AS SELECT
  portage_ulid(t.req_id) AS req_id, (e.value->>0)::int AS seq,
  to_timestamp((e.value->>1)::bigint / 1000.0) AS at,
  (e.value->>2)::smallint AS from_state, (e.value->>3)::smallint AS to_state, e.value->>4 AS event,
  e.value->>5 AS caller, e.value->>6 AS detail,
  lag(e.value->>7) OVER (PARTITION BY t.req_id ORDER BY e.n) AS prev_hash,
  e.value->>7 AS hash, (e.value->>8)::bigint AS audit_unit, (e.value->>9)::int AS audit_lane,
  CASE WHEN e.value->>10 IS NOT NULL THEN t.agreed::jsonb END AS agreed
FROM every_transfer t, jsonb_array_elements(('[' || t.history || ']')::jsonb) WITH ORDINALITY e(value, n);
