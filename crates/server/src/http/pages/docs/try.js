// Lets a reader of /docs search the routes and send requests to this server. The token is kept in the page's own field
// and nowhere else. Without this script the page can be read as it is.
'use strict';
(() => {
  // the longest answer that is shown
  const LONGEST = 200000;
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => Array.from(from.querySelectorAll(selector));

  document.documentElement.classList.add('script');
  all('.origin').forEach((place) => { place.textContent = location.origin; });

  // Search: a route is shown where each word stands in its path, its sentences or the title of its group.
  const search = one('#search');
  const found = one('#found');
  const links = new Map(all('nav li a').map((link) => [link.getAttribute('href'), link.closest('li')]));
  const routes = all('.op').map((route) => {
    const group = one('h2', route.closest('.group')).textContent;
    const said = all('h3, .path, .about', route).map((part) => part.textContent).join(' ');
    return { route, text: `${said} ${group}`.toLowerCase(), item: links.get(`#${route.id}`) };
  });
  const hideEmpty = (parts, inner) => {
    all(parts).forEach((part) => { part.hidden = !one(`${inner}:not([hidden])`, part); });
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { route, text, item } of routes) {
      const fits = words.every((word) => text.includes(word));
      route.hidden = !fits;
      item.hidden = !fits;
      count += fits ? 1 : 0;
    }
    hideEmpty('.group', '.op');
    hideEmpty('nav div', 'li');
    all('#wants, #authorization, #errors, #forms').forEach((part) => { part.hidden = words.length > 0; });
    found.textContent = words.length ? `${count} of ${routes.length} routes` : '';
  };
  search.addEventListener('input', filter);
  document.addEventListener('keydown', (event) => {
    const typing = event.target.matches('input, select, textarea');
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === 'Escape' && event.target === search) {
      search.value = '';
      filter();
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.closest('.try')) {
      send(event.target.closest('.try'));
    }
  });
  // a link to a place that the search hides shows everything again
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    const place = link && document.getElementById(link.getAttribute('href').slice(1));
    if (place && place.closest('[hidden]')) {
      search.value = '';
      filter();
    }
  });

  // JSON with a line for each field. It is not parsed: a number above 2^53 must be shown as it was sent.
  const indented = (json) => {
    let text = '';
    let depth = 0;
    let quoted = false;
    const line = () => `\n${'  '.repeat(depth)}`;
    for (let n = 0; n < json.length; n += 1) {
      const letter = json[n];
      if (quoted) {
        text += letter;
        if (letter === '\\') { n += 1; text += json[n] ?? ''; }
        if (letter === '"') quoted = false;
      } else if (letter === '"') {
        quoted = true;
        text += letter;
      } else if ('{['.includes(letter)) {
        const empty = '}]'.includes(json[n + 1]);
        if (empty) { n += 1; text += letter + json[n]; } else { depth += 1; text += letter + line(); }
      } else if ('}]'.includes(letter)) {
        depth -= 1;
        text += line() + letter;
      } else if (letter === ',') {
        text += letter + line();
      } else if (letter.trim()) {
        text += letter === ':' ? ': ' : letter;
      }
    }
    return text;
  };

  // What the fields of a route come to; throws a sentence for the reader, with the field.
  const request = (form) => {
    const wrong = (field, sentence) => Object.assign(new Error(sentence), { field });
    let path = form.dataset.path;
    let body;
    const query = new URLSearchParams();
    const headers = {};
    // as it stands in a header or an answer, too
    const token = one('#token').value.trim().replace(/^bearer\s+/i, '');
    if (token) headers.Authorization = `Bearer ${token}`;
    for (const field of all('[data-in]', form)) {
      const { in: place, name } = field.dataset;
      const value = field.value.trim();
      if (place === 'path') {
        if (['', '.', '..'].includes(value)) throw wrong(field, `${name} is needed: it is a part of the path.`);
        path = path.replace(`{${name}}`, () => encodeURIComponent(value));
      } else if (place === 'body') {
        try { JSON.parse(value); } catch (error) { throw wrong(field, `The body is no JSON: ${error.message}`); }
        body = value;
        headers['Content-Type'] = 'application/json';
      } else if (value && place === 'query') {
        query.append(name, value);
      } else if (value) {
        headers[name] = value;
      }
    }
    // not `query.size`, which older browsers do not have: a dry run would be a create there
    const asked = query.toString();
    const address = asked ? `${path}?${asked}` : path;
    return [address, { method: form.dataset.method, headers, body, cache: 'no-store', redirect: 'manual' }];
  };

  const shown = (output, status, lines, fine) => {
    const head = document.createElement('p');
    head.className = fine ? 'fine' : 'refused';
    head.textContent = status;
    const text = document.createElement('pre');
    text.textContent = lines;
    text.tabIndex = 0;
    output.replaceChildren(head, text);
  };

  const send = async (form) => {
    const output = one('output', form);
    // a second press would be a second request
    if (form.ariaBusy === 'true') return;
    let asked;
    try {
      asked = request(form);
    } catch (error) {
      shown(output, 'Not sent', error.message, false);
      if (error.field) error.field.focus();
      return;
    }
    form.ariaBusy = 'true';
    shown(output, 'Sent …', '', true);
    const start = performance.now();
    try {
      const answer = await fetch(...asked);
      const body = await answer.text();
      const json = (answer.headers.get('content-type') ?? '').startsWith('application/json');
      const text = (json ? indented(body) : body).slice(0, LONGEST);
      const notes = ['idempotency-replayed', 'retry-after', 'x-request-id']
        .filter((name) => answer.headers.has(name)).map((name) => `${name}: ${answer.headers.get(name)}\n`);
      const time = Math.round(performance.now() - start);
      shown(output, `${answer.status} after ${time} ms`, `${notes.join('')}\n${text}`, answer.ok);
    } catch (error) {
      const advice = 'Whether the server did it is unknown: send it again with the same key.';
      shown(output, 'No answer', `${error.message}. ${asked[1].method === 'GET' ? '' : advice}`, false);
    }
    form.ariaBusy = 'false';
  };
  // Enter in its field sends nothing: the policy of the page forbids it, and a reader would lose the token
  one('#token').form.addEventListener('submit', (event) => event.preventDefault());
  all('.try button').forEach((button) => {
    button.addEventListener('click', () => send(button.closest('.try')));
  });
})();
