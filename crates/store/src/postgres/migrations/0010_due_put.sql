-- When a due time was put, by the clock that finds it: one that was put later than now was put by a clock that has been
-- set back since, and has come. NULL where there is no due time.
ALTER TABLE due ADD COLUMN put_at bigint;
UPDATE due SET put_at = portage_now() WHERE due_at IS NOT NULL;
CREATE INDEX due_put ON due (put_at);
ALTER TABLE attempts ADD COLUMN put_at bigint;
UPDATE attempts SET put_at = portage_now() WHERE due_at IS NOT NULL AND closed_at IS NULL;
CREATE INDEX attempts_put ON attempts (put_at) WHERE closed_at IS NULL;
