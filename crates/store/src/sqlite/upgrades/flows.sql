-- The newest transfers of one flow, where operators list them by it. The index ends with the transfer's number.
CREATE INDEX transfers_flow ON transfers (flow);
