/** Sends requests to Portage, and repeats a create under its key while its outcome is unknown. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NoAnswer, PortageError, Refused, StillPending, UnknownOutcome, Unreachable } from "./errors.js";
import type {
  AccountTransfer,
  Balance,
  Filters,
  NewAccountTransfer,
  NewRelayTransfer,
  NewTransfer,
  OpenedAccountTransfer,
  OpenedRelayTransfer,
  Page,
  RelayTransfer,
  Transfer,
  TransferStory,
} from "./models.js";

/** The answer to a create. FAILED and ROLLED_BACK are answers too: `code` says why. */
export interface Created<T> {
  key: string;
  transfer: T;
  /** Where the transfer stands, in any flow. */
  state: string;
  /** The transfer has ended, and the target has the money. */
  paid: boolean;
  /** The key was used before, or by an earlier try of this call: it is that transfer. */
  replayed: boolean;
  code: string | undefined;
}

/** What became of one create of a batch: an answer, or an error as a single create throws it. */
export type BatchItem =
  | { key: string; created: Created<Transfer>; error?: undefined }
  | { key: string; created?: undefined; error: PortageError };

export interface ClientOptions {
  /** Bounds one request, in seconds. */
  timeout?: number;
  /** Bounds a create with all its repeats, in seconds. */
  deadline?: number;
}

type Fields = Record<string, unknown>;

interface Answer {
  status: number;
  replayed: boolean;
  retryAfter: number | undefined;
  body: unknown;
}

const ENDED: readonly string[] = ["COMMITTED", "ROLLED_BACK", "COMPLETED", "FAILED"];
const PAID: readonly string[] = ["COMMITTED", "COMPLETED"];

/** A client of one server. `token` is a token, or a function that returns one for each request. */
export class Client {
  readonly #base: string;
  readonly #token: () => string | Promise<string>;
  readonly #timeout: number;
  readonly #deadline: number;

  constructor(url: string, token: string | (() => string | Promise<string>), options: ClientOptions = {}) {
    if (!/^https?:\/\//.test(url)) throw new TypeError("the address begins with http:// or https://");
    this.#base = url.replace(/\/+$/, "");
    this.#token = typeof token === "string" ? () => token : token;
    this.#timeout = options.timeout ?? 30;
    this.#deadline = options.deadline ?? 120;
  }

  /** Moves money between two accounts of one user. */
  createTransfer(body: NewTransfer, key: string | undefined = body.cid): Promise<Created<Transfer>> {
    return this.#create("/api/v1/internal_transfer", body, key);
  }

  /** Moves money between two numbered accounts. */
  createAccountTransfer(body: NewAccountTransfer, key?: string): Promise<Created<OpenedAccountTransfer>> {
    return this.#create("/api/transfers", body, key);
  }

  /** Pays an account on NEAR from the relay's own. */
  createRelayTransfer(body: NewRelayTransfer, key?: string): Promise<Created<OpenedRelayTransfer>> {
    return this.#create("/transfer", body, key);
  }

  /** Makes up to 1000 independent transfers. Only items whose outcome is unknown are repeated. An item
   * without a `cid` gets one. */
  async createTransfers(all: readonly NewTransfer[]): Promise<BatchItem[]> {
    const bodies = all.map((one) => checked({ ...one, cid: one.cid ?? randomUUID() }));
    const keys = bodies.map((body) => body.cid);
    const items = new Map<number, BatchItem>();
    const doubtful = new Set<number>(); // items of which an earlier try may have opened the transfer
    const attempt = async (timeout: number): Promise<void> => {
      const todo = bodies.map((_, place) => place).filter((place) => !items.has(place));
      const sent = { transfers: todo.map((place) => bodies[place]) };
      let results: unknown[];
      let retryAfter: number | undefined;
      try {
        const answer = await this.#send("POST", "/api/v1/internal_transfers", timeout, sent);
        const found = field(answer.body, "results");
        if (answer.status !== 200 || !Array.isArray(found)) throw refusal(answer);
        const whole = found.length === todo.length && found.every((one, index) => field(one, "index") === index);
        if (!whole) throw new NoAnswer("the answer does not list every item");
        ({ retryAfter } = answer);
        results = found;
      } catch (fault) {
        if (fault instanceof NoAnswer) todo.forEach((place) => doubtful.add(place));
        throw fault;
      }
      let last: PortageError | undefined;
      for (const [index, place] of todo.entries()) {
        const key = keys[place] as string;
        const body = results[index];
        const replayed = field(body, "replayed") === true;
        try {
          const one = { status: Number(field(body, "status")), replayed, retryAfter, body };
          items.set(place, { key, created: created<Transfer>(key, one) });
        } catch (fault) {
          if (fault instanceof NoAnswer) {
            doubtful.add(place);
            last = fault;
          } else if (fault instanceof Refused && fault.code === "OVERLOADED") last ??= fault;
          else if (fault instanceof Refused) items.set(place, { key, error: final(key, fault, doubtful.has(place)) });
          else throw fault;
        }
      }
      if (last !== undefined) throw last;
    };
    try {
      await this.#repeat(keys.join(), attempt);
    } catch (fault) {
      if (!(fault instanceof PortageError) || (items.size === 0 && doubtful.size === 0)) throw fault;
      const cause = fault instanceof UnknownOutcome ? fault.cause : fault;
      const certain = cause instanceof Refused || cause instanceof Unreachable;
      for (const [place, key] of keys.entries()) {
        if (items.has(place)) continue;
        const error = certain && !doubtful.has(place) ? cause : new UnknownOutcome(key, cause);
        items.set(place, { key, error });
      }
    }
    return keys.map((_, place) => items.get(place) as BatchItem);
  }

  /** A transfer with its history. */
  transfer(reqId: string): Promise<TransferStory> {
    return this.#get(`/api/v1/internal_transfer/${encodeURIComponent(reqId)}`);
  }

  /** A transfer between two numbered accounts with its history. */
  accountTransfer(transferId: string): Promise<AccountTransfer> {
    return this.#get(`/api/transfers/${encodeURIComponent(transferId)}`);
  }

  /** A payment on NEAR with its events, by the key of its create. */
  relayTransfer(key: string): Promise<RelayTransfer> {
    return this.#get(`/transfer/${encodeURIComponent(key)}`);
  }

  /** The caller's own transfers, newest first: by state, asset, from, to, cursor, limit. */
  transfers(filters: Filters = {}): Promise<Page<Transfer>> {
    return this.#get("/api/v1/internal_transfers", filters);
  }

  /** Transfers that the caller's numbered accounts pay, newest first: by status, cursor, limit. */
  accountTransfers(filters: Filters = {}): Promise<Page<AccountTransfer>> {
    return this.#get("/api/transfers", filters);
  }

  /** The caller's balances. */
  balances(): Promise<Balance[]> {
    return this.#get("/api/v1/balances");
  }

  /** Reads a transfer until it has ended; `StillPending` where it has not within `timeout` seconds. */
  wait(reqId: string, timeout = 60): Promise<TransferStory> {
    return wait((id) => this.transfer(id), reqId, timeout);
  }

  /** The same for a transfer between two numbered accounts. */
  waitAccountTransfer(transferId: string, timeout = 60): Promise<AccountTransfer> {
    return wait((id) => this.accountTransfer(id), transferId, timeout);
  }

  /** The same for a payment on NEAR. */
  waitRelayTransfer(key: string, timeout = 60): Promise<RelayTransfer> {
    return wait((id) => this.relayTransfer(id), key, timeout);
  }

  async #create<T>(path: string, given: object, key: string = randomUUID()): Promise<Created<T>> {
    const body = checked(given);
    return this.#repeat(key, async (timeout) => created<T>(key, await this.#send("POST", path, timeout, body, key)));
  }

  /** Makes attempts under one key until one of them has a certain outcome, or the deadline is near. */
  async #repeat<T>(key: string, attempt: (timeout: number) => Promise<T>): Promise<T> {
    const end = performance.now() / 1000 + this.#deadline;
    let unknown = false;
    for (let pause = 0.1; ; pause = Math.min(pause * 2, 5)) {
      let last: PortageError;
      try {
        return await attempt(Math.max(0.05, Math.min(this.#timeout, end - performance.now() / 1000)));
      } catch (fault) {
        // another error is of the caller's function for tokens: the key must not be lost
        if (!(fault instanceof PortageError)) throw unknown ? new UnknownOutcome(key, fault) : fault;
        if (fault instanceof Refused && fault.code !== "OVERLOADED") throw final(key, fault, unknown);
        if (fault instanceof NoAnswer) unknown = true;
        last = fault;
      }
      const told = last instanceof Refused ? (last.retryAfter ?? 0) : 0;
      const next = Math.max(pause * (0.5 + Math.random() / 2), told);
      if (performance.now() / 1000 + next >= end) throw unknown ? new UnknownOutcome(key, last) : last;
      await sleep(next * 1000);
    }
  }

  async #get<T>(path: string, filters: Filters = {}): Promise<T> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filters)) if (value !== undefined) query.set(name, String(value));
    const answer = await this.#send("GET", query.size === 0 ? path : `${path}?${query.toString()}`, this.#timeout);
    if (answer.status !== 200 || typeof answer.body !== "object" || answer.body === null) throw refusal(answer);
    return answer.body as T;
  }

  async #send(method: string, path: string, timeout: number, body?: object, key?: string): Promise<Answer> {
    const headers: Record<string, string> = { authorization: `Bearer ${await this.#token()}` };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (key !== undefined) headers["idempotency-key"] = key;
    // a redirect would show the token to others, and could lose the body
    const request: RequestInit = { method, headers, redirect: "manual", signal: AbortSignal.timeout(Math.ceil(timeout * 1000)) };
    if (body !== undefined) request.body = JSON.stringify(body);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.#base + path, request);
      text = await response.text();
    } catch (fault) {
      throw unsent(fault) ? new Unreachable(reason(fault), { cause: fault }) : new NoAnswer(reason(fault), { cause: fault });
    }
    let read: unknown;
    try {
      read = JSON.parse(text);
    } catch {
      read = undefined;
    }
    const after = response.headers.get("retry-after") ?? "";
    const retryAfter = /^[0-9]+$/.test(after) ? Number(after) : undefined;
    return { status: response.status, replayed: response.headers.has("idempotency-replayed"), retryAfter, body: read };
  }
}

/** Only a connection that was never made proves that nothing was sent. */
function unsent(fault: unknown): boolean {
  const code = field(field(fault, "cause"), "code");
  const never = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"];
  return typeof code === "string" && never.includes(code);
}

function reason(fault: unknown): string {
  const cause = field(fault, "cause");
  return cause === undefined ? String(fault) : `${String(fault)}: ${String(cause)}`;
}

/** A number would be rounded on its way: amounts and user ids are strings. */
function checked<T extends object>(body: T): T {
  for (const name of ["amount", "user_id"]) {
    const value = field(body, name);
    if (value !== undefined && value !== null && typeof value !== "string") throw new TypeError(`${name} is a string`);
  }
  return body;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Fields)[name] : undefined;
}

function stateOf(transfer: unknown): string {
  return String(field(transfer, "state") ?? field(transfer, "status"));
}

/** An answer that shows a transfer; a refusal and an answer that shows nothing are thrown. */
function created<T>(key: string, answer: Answer): Created<T> {
  const { status, body, replayed } = answer;
  const state = stateOf(body);
  const code = field(body, "code");
  const named = ["req_id", "transferId", "transfer_id"].some((name) => typeof field(body, name) === "string");
  const failed = status === 422 && ENDED.includes(state) && typeof code === "string";
  if (!named || !(failed || [200, 201, 202].includes(status))) throw refusal(answer);
  const why = failed ? code : undefined;
  return { key, transfer: body as T, state, paid: PAID.includes(state), replayed, code: why };
}

/** A refusal counts only where the contract says that nothing was opened, in the shape that it gives. */
function refusal({ status, body, retryAfter }: Answer): PortageError {
  const code = field(body, "code");
  const shut = status === 503 && (code === "HALTED" || code === "OVERLOADED");
  const opened = (field(body, "req_id") ?? field(body, "outcome") ?? null) !== null;
  const certain = (status >= 400 && status < 500) || shut;
  if (typeof code !== "string" || !certain || opened || code === "SYSTEM_ERROR") {
    return new NoAnswer(`status ${status} ${String(field(body, "error") ?? "without a known body")}`);
  }
  return new Refused(status, body as Fields, retryAfter);
}

/** After an attempt of unknown outcome a refusal is only about the last attempt. A key that is bound to
 * another body is the exception: no attempt of this body can have opened anything. */
function final(key: string, fault: Refused, unknown: boolean): PortageError {
  return unknown && fault.code !== "DUPLICATE_REQUEST" ? new UnknownOutcome(key, fault) : fault;
}

async function wait<T>(read: (id: string) => Promise<T>, id: string, timeout: number): Promise<T> {
  const end = performance.now() / 1000 + timeout;
  let state: string | undefined;
  for (let pause = 0.1; ; pause = Math.min(pause * 1.5, 2)) {
    try {
      const found = await read(id);
      state = stateOf(found);
      if (ENDED.includes(state)) return found;
    } catch (fault) {
      // a read changes nothing: it is made again
      const again = fault instanceof NoAnswer || fault instanceof Unreachable;
      if (!again && !(fault instanceof Refused && fault.status >= 500)) throw fault;
    }
    if (performance.now() / 1000 + pause >= end) throw new StillPending(id, state);
    await sleep(pause * 1000);
  }
}
