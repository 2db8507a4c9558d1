// Tries the page /docs of a server in Chromium, over its debugging pipe:
//   node docs_page.mjs CHROMIUM URL TOKEN [FOLDER]        with a folder it leaves screenshots there
// The token is of user 4001, who has money.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [chromium, url, token, folder] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'portage-page-'));
const browser = spawn(chromium, [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--window-size=1440,1000', '--disable-sync', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const [, , , into, from] = browser.stdio;

const waiting = new Map();
const troubles = [];
let loaded;
let rest = '';
from.setEncoding('utf8');
from.on('data', (text) => {
  const messages = (rest + text).split('\0');
  rest = messages.pop();
  for (const { id, method, params, result, error } of messages.map((one) => JSON.parse(one))) {
    if (id) {
      const { done, failed } = waiting.get(id);
      if (error) failed(new Error(error.message)); else done(result);
    } else if (method === 'Page.loadEventFired') {
      loaded();
    } else if (method === 'Runtime.exceptionThrown') {
      troubles.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    } else if (method === 'Log.entryAdded' && ['security', 'javascript'].includes(params.entry.source)) {
      troubles.push(params.entry.text);
    }
  }
});

let session;
const send = (method, params = {}) => new Promise((done, failed) => {
  const id = waiting.size + 1;
  waiting.set(id, { done, failed });
  into.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
});
const evaluate = async (expression) => {
  const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined, `${expression}: ${exceptionDetails?.exception?.description}`);
  return result.value;
};
const until = async (expression, what) => {
  for (let n = 0; n < 200; n += 1) {
    if (await evaluate(expression)) return;
    await new Promise((done) => { setTimeout(done, 50); });
  }
  assert.fail(`${what}: ${await evaluate('document.body.innerText.slice(0, 2000)')}`);
};
const press = async (key, text = undefined) => {
  await send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, code: key });
  await send('Input.dispatchKeyEvent', { type: 'keyUp', key, code: key });
};
const picture = async (name) => {
  if (!folder) return;
  const { data } = await send('Page.captureScreenshot', { format: 'png' });
  writeFileSync(join(folder, `${name}.png`), Buffer.from(data, 'base64'));
};
// Sends a route with these fields, by the keyboard, and gives what the page shows of the answer.
const tried = async (route, fields) => {
  const form = `document.querySelector('#${route} .try')`;
  await evaluate(`(() => {
    const form = ${form};
    form.open = true;
    form.querySelector('output').replaceChildren();
    const fields = ${JSON.stringify(fields)};
    for (const field of form.querySelectorAll('[data-in]')) {
      const value = fields[field.dataset.name ?? 'body'];
      if (value !== undefined) field.value = value;
    }
    form.querySelector('button').focus();
  })()`);
  await press('Enter', '\r');
  await until(`${form}.querySelector('output pre') && ${form}.ariaBusy !== 'true'`, route);
  return evaluate(`${form}.querySelector('output').innerText`);
};

try {
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  ({ sessionId: session } = await send('Target.attachToTarget', { targetId, flatten: true }));
  await Promise.all(['Page.enable', 'Runtime.enable', 'Log.enable'].map((method) => send(method)));
  const load = new Promise((done) => { loaded = done; });
  await send('Page.navigate', { url: `${url}/docs` });
  await load;
  assert.ok(await evaluate("document.documentElement.classList.contains('script')"), 'the script does not run');
  const routes = await evaluate("document.querySelectorAll('.op').length");
  assert.ok(routes > 80, `${routes} routes`);
  assert.equal(await evaluate("document.querySelectorAll('.op .curl').length"), routes);
  assert.equal(await evaluate("document.querySelectorAll('.op .try button').length"), routes);
  assert.ok(await evaluate(`document.querySelector('#authorization pre').innerText.includes(${JSON.stringify(url)})`));
  await picture('top');

  // the first stop of the keyboard leads past the list
  await press('Tab');
  assert.equal(await evaluate('document.activeElement.className'), 'skip');

  const body = { from: 'FUNDING', to: 'SPOT', asset: 'USDT', amount: '1', cid: 'page-1' };
  const sent = { body: JSON.stringify(body) };
  assert.match(await tried('create_transfer', sent), /^401 [^]*"code": "UNAUTHORIZED"/);
  await evaluate(`document.querySelector('#token').value = ${JSON.stringify(`Bearer ${token} `)}`);
  await evaluate("document.querySelector('#token').focus()");
  await press('Enter', '\r');
  assert.match(await tried('create_transfer', { body: '{"from": ' }), /^Not sent[^]*no JSON/);
  assert.match(await tried('create_transfer', { ...sent, dry_run: 'true' }), /^200 [^]*"would": "COMMITTED"/);
  const made = await tried('create_transfer', { ...sent, dry_run: '' });
  assert.match(made, /^200 [^]*"state": "COMMITTED"/);
  assert.match(await tried('create_transfer', sent), /^200 [^]*idempotency-replayed: true/);
  const id = made.match(/"req_id": "(\w+)"/)[1];
  assert.match(await tried('read_transfer', { req_id: '..' }), /^Not sent/);
  assert.match(await tried('read_transfer', { req_id: id }), new RegExp(`^200 [^]*${id}`));
  assert.match(await tried('list_transfers', { asset: 'USDT', limit: '1' }), /^200 [^]*"transfers": \[/);
  assert.match(await tried('list_transfers', { asset: 'USDT', limit: '1000' }), /^400 [^]*"docs": "/);
  await evaluate("document.querySelector('#create_transfer').scrollIntoView()");
  await picture('route');

  const visible = "[...document.querySelectorAll('.op')].filter((route) => route.offsetHeight > 0).length";
  await evaluate('document.activeElement.blur()');
  await press('/', '/');
  assert.equal(await evaluate('document.activeElement.id'), 'search');
  await send('Input.insertText', { text: 'webhook secret' });
  const found = await evaluate(visible);
  assert.ok(found > 0 && found < 12, `${found} routes are found`);
  assert.ok(await evaluate("document.querySelector('#rotate_webhook_secret').offsetHeight > 0"));
  await picture('search');
  await press('Escape');
  assert.equal(await evaluate(visible), routes);

  await send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'dark' }] });
  await evaluate("document.querySelector('#create_transfer').scrollIntoView()");
  await picture('dark');
  await send('Emulation.setDeviceMetricsOverride', { width: 390, height: 844, deviceScaleFactor: 1, mobile: true });
  await evaluate("document.querySelector('#create_transfer').scrollIntoView()");
  await picture('phone');
  assert.ok(await evaluate('document.documentElement.scrollWidth <= 400'), 'it is wider than a phone');
  assert.deepEqual(troubles, []);
} finally {
  browser.kill();
  await new Promise((done) => { if (browser.exitCode === null && !browser.signalCode) browser.on('exit', done); else done(); });
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
