/** Runs the TypeScript client that was generated from a server's description: URL TOKEN. */

import assert from "node:assert/strict";
import { client } from "./client.gen";
import { createTransfer, createTransfers, listTransfers } from "./index";
import type { CreateTransfer } from "./index";

const [baseUrl, auth] = process.argv.slice(2) as [string, string];
client.setConfig({ baseUrl, auth });

const move = (cid: string, amount = "1"): CreateTransfer => ({ from: "FUNDING", to: "SPOT", asset: "USDT", amount, cid });
const id = (found: object | undefined): unknown => found && "req_id" in found && found.req_id;

async function main(): Promise<void> {
  const first = await createTransfer({ body: move("gen-ts-1") });
  const again = await createTransfer({ body: move("gen-ts-1") });
  assert.ok(id(first.data) && id(first.data) === id(again.data));
  assert.equal(again.response?.headers.get("idempotency-replayed"), "true");
  const poor = await createTransfer({ body: move("gen-ts-2", "999999") });
  assert.ok(poor.error && "code" in poor.error && poor.error.code === "INSUFFICIENT_BALANCE");
  const transfers = [move("gen-ts-1"), move("gen-ts-3", "999999"), move("gen-ts-1", "3")];
  const batch = await createTransfers({ body: { transfers } });
  assert.deepEqual(batch.data?.results.map((one) => one.status), [200, 422, 409]);
  const page = await listTransfers({ query: { limit: 100 } });
  assert.equal(page.data?.transfers.filter((one) => one.cid === "gen-ts-1").length, 1);
  console.log("ok generated typescript: create, repeat, refusal, batch, list");
}

void main();
