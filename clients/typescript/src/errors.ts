/** Errors, divided by what the caller may conclude about its request. */

/** The base of every error of this package. */
export class PortageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server refused the request, and this request opened nothing. */
export class Refused extends PortageError {
  readonly code: string;
  readonly requestId: string | undefined;
  /** With `DUPLICATE_REQUEST`: the fields that differ from the first request of this key. */
  readonly mismatchedFields: readonly string[];

  constructor(
    readonly status: number,
    problem: Readonly<Record<string, unknown>>,
    /** Seconds after which the same request may be accepted, where the server named them. */
    readonly retryAfter: number | undefined,
  ) {
    const { request_id: id, mismatched_fields: fields } = problem;
    const mismatched = Array.isArray(fields) ? fields.map(String) : [];
    const differs = mismatched.length > 0 ? `: it differs in ${mismatched.join(", ")}` : "";
    super(`${String(problem["code"])}: ${String(problem["error"])}${differs}`);
    this.code = String(problem["code"]);
    this.requestId = typeof id === "string" ? id : undefined;
    this.mismatchedFields = mismatched;
  }
}

/** No connection was made, so nothing was sent. */
export class Unreachable extends PortageError {}

/** A request that may have been sent got no usable answer: a 500, a timeout, a cut connection. */
export class NoAnswer extends PortageError {}

/** The outcome of a create is still unknown at its deadline. Repeat it later with the same key and the
 * same body: it is never made twice. */
export class UnknownOutcome extends PortageError {
  constructor(
    readonly key: string,
    cause: unknown,
  ) {
    super(`outcome unknown, repeat with the key ${key}: ${String(cause)}`, { cause });
  }
}

/** A transfer has not ended within the time that the caller was ready to wait. It goes on. */
export class StillPending extends PortageError {
  constructor(
    readonly id: string,
    readonly state: string | undefined,
  ) {
    super(`${id} has not ended (${state ?? "it could not be read"})`);
  }
}

/** A message that must not be believed: forged, changed, too old, or without a signature. */
export class WebhookRefused extends PortageError {}
