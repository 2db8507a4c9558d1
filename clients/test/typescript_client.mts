/** Runs the TypeScript client against a server: URL FAULTS_URL TOKEN SERVICE_TOKEN SECRET. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Client, Refused, UnknownOutcome, Unreachable, WebhookRefused, verifyWebhook } from "portage-transfers";
import type { NewTransfer } from "portage-transfers";

const [url, faults, token, serviceToken, ownSecret] = process.argv.slice(2) as [string, string, string, string, string];
const client = new Client(url, token);
const service = new Client(url, async () => serviceToken);
const faulty = new Client(faults, token, { deadline: 10 });
const move: NewTransfer = { from: "FUNDING", to: "SPOT", asset: "USDT", amount: "1" };

async function tries(key: string): Promise<number> {
  const found = (await (await fetch(`${faults}/tries/${key}`)).json()) as { tries: number };
  return found.tries;
}

async function thrown<T extends Error>(kind: abstract new (...all: never[]) => T, run: () => unknown): Promise<T> {
  try {
    await run();
  } catch (fault) {
    if (fault instanceof kind) return fault;
    throw fault;
  }
  throw new Error(`no ${kind.name}`);
}

async function withCid(cid: string): Promise<number> {
  return (await client.transfers({ limit: 100 })).transfers.filter((one) => one.cid === cid).length;
}

async function createRepeatWait(): Promise<void> {
  const first = await client.createTransfer(move, "ts-1");
  assert.equal(first.replayed, false);
  const again = await client.createTransfer(move, "ts-1");
  assert.deepEqual([again.replayed, again.transfer.req_id], [true, first.transfer.req_id]);
  const story = await client.wait(first.transfer.req_id);
  assert.deepEqual([story.state, story.amount, story.history.length > 2], ["COMMITTED", "1.000000", true]);
  const made = await client.createTransfer(move);
  assert.equal(made.transfer.cid, made.key);
  assert.equal(await withCid("ts-1"), 1);
  const page = await client.transfers({ limit: 1, from: "FUNDING", state: "COMMITTED" });
  assert.ok(page.transfers.length === 1 && page.next);
}

async function refusals(): Promise<void> {
  const poor = await faulty.createTransfer({ ...move, amount: "999999" }, "poor-ts");
  assert.deepEqual([poor.state, poor.code, poor.paid], ["FAILED", "INSUFFICIENT_BALANCE", false]);
  assert.equal(await tries("poor-ts"), 1);
  const other = await thrown(Refused, () => faulty.createTransfer({ ...move, amount: "2" }, "ts-1"));
  assert.deepEqual([other.status, other.code, other.mismatchedFields], [409, "DUPLICATE_REQUEST", ["amount"]]);
  assert.ok(other.message.endsWith(": it differs in amount"), other.message);
  assert.equal(await tries("ts-1"), 1);
  const unfit = await thrown(Refused, () => faulty.createTransfer({ ...move, asset: "NONE" }, "unfit-ts"));
  assert.deepEqual([unfit.status, unfit.code, await tries("unfit-ts")], [400, "INVALID_ASSET", 1]);
  assert.equal((await thrown(Refused, () => client.transfer("01JFVQ2X8Z0Y1M3N4P5R6S7T8V"))).status, 404);
  const wrong = { ...move, amount: 1.5 } as unknown as NewTransfer;
  await thrown(TypeError, () => client.createTransfer(wrong));
  const big = { ...move, user_id: 9007199254740992 } as unknown as NewTransfer;
  await thrown(TypeError, () => service.createTransfer(big));
}

async function batch(): Promise<void> {
  const items = [{ cid: "ts-b1" }, { cid: "ts-b2", amount: "999999" }, { cid: "ts-1", amount: "3" }, {}];
  for (const replayed of [false, true]) {
    const [paid, poor, other, keyless] = await client.createTransfers(items.map((one) => ({ ...move, ...one })));
    assert.deepEqual([paid?.created?.paid, paid?.created?.replayed], [true, replayed]);
    assert.equal(poor?.created?.code, "INSUFFICIENT_BALANCE");
    assert.ok(other?.error instanceof Refused && other.error.code === "DUPLICATE_REQUEST");
    assert.equal(keyless?.created?.transfer.cid, keyless?.key);
  }
  const cut = await faulty.createTransfers(["cut-ts-b", "cut-ts-c"].map((cid) => ({ ...move, cid })));
  assert.ok(cut.every((one) => one.created?.replayed));
  assert.deepEqual([await tries("cut-ts-b"), await withCid("cut-ts-b"), await withCid("cut-ts-c")], [2, 1, 1]);
  const [down] = await new Client(faults, token, { deadline: 0.5 }).createTransfers([{ ...move, cid: "down-ts-b" }]);
  assert.ok(down?.error instanceof UnknownOutcome && down.error.key === "down-ts-b");
}

async function bigUser(): Promise<void> {
  const made = await service.createTransfer({ ...move, user_id: "9007199254740993" }, "big-ts");
  assert.ok(made.paid);
  assert.equal((await service.transfer(made.transfer.req_id)).state, "COMMITTED");
}

async function unknownOutcomes(): Promise<void> {
  const cut = await faulty.createTransfer(move, "cut-ts");
  assert.deepEqual([cut.paid, cut.replayed, await tries("cut-ts"), await withCid("cut-ts")], [true, true, 2, 1]);
  assert.ok((await faulty.createTransfer(move, "page-ts")).paid);
  const begin = performance.now();
  assert.ok((await faulty.createTransfer(move, "busy-ts")).paid);
  assert.ok(performance.now() - begin >= 990 && (await tries("busy-ts")) === 2);
  const short = new Client(faults, token, { deadline: 1 });
  const down = await thrown(UnknownOutcome, () => short.createTransfer(move, "down-ts"));
  assert.ok(down.key === "down-ts" && (await tries("down-ts")) > 1);
  const gone = await thrown(UnknownOutcome, () => faulty.createTransfer(move, "gone-ts"));
  assert.ok(gone.cause instanceof Refused && gone.cause.code === "UNAUTHORIZED");
  assert.equal(await tries("gone-ts"), 2);
  const tokens = [token];
  const spent = new Client(faults, () => tokens.pop() ?? Promise.reject(new Error("no token")), { deadline: 5 });
  assert.equal((await thrown(UnknownOutcome, () => spent.createTransfer(move, "down-ts-2"))).key, "down-ts-2");
  const halted = await thrown(Refused, () => faulty.createTransfer(move, "halt-ts"));
  assert.deepEqual([halted.code, await tries("halt-ts")], ["HALTED", 1]);
  await thrown(Unreachable, () => new Client("http://127.0.0.1:65533", token, { deadline: 0.5 }).createTransfer(move));
}

async function otherFlows(): Promise<void> {
  const asked = { fromAccountNumber: "ACC-1", toAccountNumber: "ACC-2", amount: "2", currency: "USDT" };
  const opened = await faulty.createAccountTransfer(asked, "cut-ts-a");
  assert.deepEqual([opened.replayed, await tries("cut-ts-a")], [true, 2]);
  const id = opened.transfer.transferId;
  assert.equal((await client.waitAccountTransfer(id)).status, "COMPLETED");
  const { transfers } = await client.accountTransfers({ limit: 100 });
  assert.equal(transfers.filter((one) => one.transferId === id).length, 1);
  const relay = await faulty.createRelayTransfer({ receiver_id: "alice.near", amount: "1000000" }, "busy-ts-r");
  assert.deepEqual([relay.state, relay.transfer.transfer_id, await tries(relay.key)], ["RECEIVED", relay.key, 2]);
}

async function webhook(): Promise<void> {
  const [secret, other] = ["a", "b"].map((one) => `whsec_${Buffer.from(one.repeat(32)).toString("base64")}`) as [string, string];
  const body = '{"type":"transfer.completed","timestamp":"t","data":{"state":"COMMITTED"}}';
  const now = Math.floor(Date.now() / 1000);
  const headers = (at: number): Record<string, string> => {
    const mac = createHmac("sha256", "a".repeat(32)).update(`msg_1.${at}.${body}`).digest("base64");
    return { "Webhook-Id": "msg_1", "Webhook-Timestamp": String(at), "Webhook-Signature": `v1,AAAA v1a,x v1,${mac}` };
  };
  assert.equal(verifyWebhook(secret, headers(now), body).data["state"], "COMMITTED");
  assert.equal(verifyWebhook([other, secret], new Headers(headers(now)), Buffer.from(body)).type, "transfer.completed");
  await thrown(WebhookRefused, () => verifyWebhook(other, headers(now), body));
  await thrown(WebhookRefused, () => verifyWebhook(secret, headers(now), `${body} `));
  await thrown(WebhookRefused, () => verifyWebhook(secret, headers(now - 301), body));
  await thrown(WebhookRefused, () => verifyWebhook(secret, headers(now + 310), body));
  await thrown(WebhookRefused, () => verifyWebhook(secret, {}, body));
  for (const unfit of ["", "whsec_", "whsec_A", "whsec_-"]) {
    await thrown(TypeError, () => verifyWebhook(unfit, headers(now), body));
  }
  const sent = (await (await fetch(`${faults}/hook`)).json()) as { headers: Record<string, string>; body: string };
  assert.equal(verifyWebhook(ownSecret, sent.headers, sent.body).type, "webhook.test");
  await thrown(WebhookRefused, () => verifyWebhook(secret, sent.headers, sent.body));
}

for (const check of [createRepeatWait, refusals, batch, bigUser, unknownOutcomes, otherFlows, webhook]) {
  await check();
  console.log("ok typescript", check.name);
}
