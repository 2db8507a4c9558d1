/** Checks the signature of a notification (Standard Webhooks, version 1). */

import { createHmac, timingSafeEqual } from "node:crypto";
import { WebhookRefused } from "./errors.js";

const TOLERANCE_SECONDS = 300;

/** The body of a message. */
export interface WebhookEvent {
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** The event of a message that one of the secrets signed at most five minutes ago.
 *
 * `body` is what was received, byte for byte. Remember the header `webhook-id`: a message may come twice.
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
  body: Uint8Array | string,
  now: number = Date.now() / 1000,
): WebhookEvent {
  const header = (name: string): string => {
    const found =
      headers instanceof Headers
        ? headers.get(name)
        : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
    if (typeof found !== "string" || found === "") throw new WebhookRefused(`no header ${name}`);
    return found;
  };
  const id = header("webhook-id");
  const at = header("webhook-timestamp");
  const signatures = header("webhook-signature");
  if (!/^[0-9]{1,15}$/.test(at)) throw new WebhookRefused("the timestamp is not a number of seconds");
  if (!(Math.abs(now - Number(at)) <= TOLERANCE_SECONDS)) {
    throw new WebhookRefused("the timestamp is more than five minutes away");
  }
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : Buffer.from(body);
  const every = signatures.split(" ").filter((one) => one.startsWith("v1,"));
  let found = false;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const mac = createHmac("sha256", key(secret)).update(`${id}.${at}.`).update(bytes).digest("base64");
    const digest = Buffer.from(mac);
    for (const one of every) {
      const signature = Buffer.from(one.slice(3));
      if (signature.length === digest.length && timingSafeEqual(signature, digest)) found = true;
    }
  }
  if (!found) throw new WebhookRefused("no signature is of this secret and this body");
  return JSON.parse(bytes.toString("utf8")) as WebhookEvent;
}

function key(secret: string): Buffer {
  const text = secret.replace(/^whsec_/, "");
  const bytes = Buffer.from(text, "base64");
  // an empty key would let every sender sign
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || bytes.length === 0) throw new TypeError("a secret is whsec_ and base64");
  return bytes;
}
