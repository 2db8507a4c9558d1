/** Client of Portage, a transfer service. No dependencies: fetch and node:crypto. */
export * from "./client.js";
export * from "./errors.js";
export type * from "./models.js";
export { verifyWebhook, type WebhookEvent } from "./webhook.js";
