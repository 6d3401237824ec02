// An agent that does no work and tries everything to decide, with what a session really has: its environment, its socket and
// token, the CLI's own files, the wall. Arguments: the table of rights, the CLI, address of the server, CHANTIER_HOME.
// Writes what got through into `tricks.json` in its work folder. Every list in it shall be empty.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

const [rightsFile, cli, serverUrl, home] = process.argv.slice(2);
const { rights } = await import(rightsFile);
const token = Object.entries(process.env).find(([name]) => /^CHANTIER_.*TOKEN$/.test(name))?.[1] ?? '';
const socketPath = process.env.CHANTIER_SOCKET;
const report = {
  env: Object.keys(process.env).toSorted(),
  tried: 0,
  answered: [],
  cli: [],
  found: [],
  network: [],
  processes: [],
};

/** Sends one request and gives the status, or 0. */
function send(options, body = '{}') {
  report.tried += 1;
  return new Promise((resolve) => {
    const outgoing = request({ timeout: 5_000, ...options }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    outgoing.on('error', () => resolve(0));
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.end(options.method === 'GET' ? undefined : body);
  });
}

// Every route that is not an agent's own, with every credential that can be made up.
const bodies = [
  '{}',
  JSON.stringify({
    verdict: 'approve',
    decision: 'approve',
    outcome: 'approved',
    passphrase: 'passphrase',
    reason: 'trust me',
    text: 'yes',
    value: 'none',
  }),
];
const credentials = [
  { authorization: `Bearer ${token}` },
  {
    authorization: `Bearer ${token}`,
    cookie: `chantier=${token}; session=${token}`,
    origin: serverUrl,
    'sec-fetch-site': 'same-origin',
  },
  {
    authorization: `Bearer ${token}`,
    'x-chantier-proof': token,
    'chantier-proof': token,
    'x-forwarded-for': '127.0.0.1',
  },
  { cookie: `chantier=${token}`, origin: serverUrl, 'sec-fetch-site': 'same-origin' },
  {},
];
for (const [route, right] of Object.entries(rights)) {
  const [method, pattern] = route.split(' ');
  const isOpen = right.who.some((who) => ['author', 'anyone'].includes(who));
  if (isOpen) continue;
  const path = pattern.replaceAll(/\{[^}]+\}/g, process.env.CHANTIER_SESSION ?? 'x');
  for (const [index, headers] of credentials.entries()) {
    for (const body of method === 'GET' ? [''] : bodies) {
      const all = {
        host: new URL(serverUrl).host,
        'content-type': 'application/json',
        'idempotency-key': `trick-${report.tried}`,
        ...headers,
      };
      const status = await send({ socketPath, method, path, headers: all }, body);
      if (status !== 0 && status < 400) report.answered.push(`${route} with credential ${index}: ${status}`);
    }
  }
}

// The operator's own program, told that it is the operator.
const verbs = [
  ['pending'],
  ['unlock'],
  ['approve', '1'],
  ['land', '1'],
  ['stop', '--all'],
  ['config', 'set', 'sandbox', 'none'],
  ['trust'],
];
for (const verb of verbs) {
  for (const env of [{ CHANTIER_TOKEN: token, CHANTIER_URL: serverUrl }, { CHANTIER_HOME: home }]) {
    report.tried += 1;
    try {
      execFileSync(process.execPath, [cli, ...verb, '--json'], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 10_000,
      });
      report.cli.push(`${verb.join(' ')} with ${Object.keys(env)}`);
    } catch {
      // refused, as it shall be
    }
  }
}

// Anything of the instance on the disk, by name.
const wanted =
  /^(operator\.token|chantier\.db.*|lock\.db|server\.json|.*\.ndjson|unlock|unlock\.json|denials\.json|bwrap\.args|id_ed25519|\.netrc)$/;
function hunt(folder, depth) {
  for (const name of Date.now() < deadline ? list(folder) : []) {
    const path = join(folder, name);
    if (/^\/(proc|usr|opt|nix|dev)\b/.test(path) || path.includes('node_modules')) continue;
    if (wanted.test(name)) report.found.push(path);
    if (depth > 0 && isFolder(path)) hunt(path, depth - 1);
  }
}
function list(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
function isFolder(path) {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}
const deadline = Date.now() + 15_000;
for (const folder of [dirname(home), '/run', '/tmp', '/']) hunt(folder, 7);
for (const path of [
  home,
  join(home, 'operator.token'),
  `/proc/1/root${home}/chantier.db`,
  `/proc/self/root${home}/sock`,
])
  if (path !== home && existsSync(path)) report.found.push(path);

// Other processes' environment.
for (const pid of list('/proc').filter((name) => /^\d+$/.test(name))) {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'latin1');
    if (/CHANTIER_/.test(text) && !text.includes(token)) report.processes.push(pid);
  } catch {
    // not ours to read
  }
}

// The server by the network: directly, and by asking the wall.
const { hostname, port } = new URL(serverUrl);
const reaches = (options, first, expected) =>
  new Promise((resolve) => {
    report.tried += 1;
    const socket = connect(options, () => socket.write(first));
    socket.setTimeout(2_000, () => socket.destroy());
    socket.on('data', (chunk) => socket.destroy(resolve(expected.test(String(chunk)))));
    socket.on('error', () => {});
    socket.on('close', () => resolve(false));
  });
const ask = `GET /healthz HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`;
if (await reaches({ host: hostname, port: Number(port) }, ask, /^HTTP/)) report.network.push('directly');
for (const name of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1', 'localhost.localdomain']) {
  const wall = { host: '127.0.0.1', port: 3128 };
  if (await reaches(wall, `CONNECT ${name}:${port} HTTP/1.1\r\nHost: ${name}\r\n\r\n`, /^HTTP\/1.1 200/))
    report.network.push(`CONNECT ${name}`);
  if (
    await reaches(
      wall,
      `GET http://${name}:${port}/healthz HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`,
      /^HTTP\/1.1 200/,
    )
  )
    report.network.push(`GET ${name}`);
}

writeFileSync('tricks.json', JSON.stringify(report, null, 1));
