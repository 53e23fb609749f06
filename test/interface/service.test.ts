import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import type { RouterClient, RouterError } from '../../src/client/index.ts';
import { describeInterface } from '../../src/simulator/index.ts';
import { createCertificateAuthority } from '../../src/simulator/tls.ts';
import { answerJson, openRouter } from '../client/http-router.ts';
import { findFreePort } from '../support/free-port.ts';
import { failureOf, type InterfaceBench, MINUTE_MS, shareFleets } from './bench.ts';

const openInterface = shareFleets();

const WEB = 'administration/webinterface';
const FILTER = 'netfilter/ip_filter';
/** The kernel's list of sockets; only Linux has it. */
const SOCKETS = '/proc/net/tcp';

describe('areas and methods', () => {
  test('each area of the interface answers the methods that it has, and 405 to every other', async () => {
    await using bench = await openInterface();
    bench.stranger.allowUndescribed();
    const { access } = await bench.stranger.login();
    const paths = {
      '/configuration/administration/users': ['GET', 'POST', 'PUT', 'DELETE'],
      '/status/device_info': ['GET'],
      '/download/log': ['GET'],
      '/operation': ['POST'],
      '/auth/login': ['POST'],
      '/profiles': ['GET', 'POST', 'DELETE'],
    };
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
        const { status } = await bench.stranger.send(method, path, { token: access, body: '{' });
        expect({ path, method, exists: status !== 405 && status !== 404 }).toEqual({
          path,
          method,
          exists: methods.includes(method),
        });
      }
    }
  });

  test('GET reads, POST adds, PUT changes and DELETE deletes, with 200, 201, 200 and 200', async () => {
    await using bench = await openInterface();
    const { configuration } = bench.as();
    const path = 'administration/hostnames';
    const names = async () => (await configuration.read(path)).list.map(({ parameters }) => parameters['hostname']);
    await configuration.addEntries(path, [{ parameters: { hostname: 'pump', ip_address: '192.168.1.21' } }]);
    expect(await names()).toEqual(['plc', 'pump']);
    const uid = (await configuration.read(path)).list[1]?.uid ?? '';
    await configuration.changeEntries(path, [{ list_uid: uid, parameters: { hostname: 'valve' } }]);
    expect(await names()).toEqual(['plc', 'valve']);
    await configuration.deleteEntries(path, { filter: 'all' });
    expect(await names()).toEqual([]);
    const { access } = await bench.stranger.login();
    const send = async (method: string, body?: object) =>
      (await bench.stranger.send(method, `/configuration/${path}`, { token: access, body })).status;
    expect(await send('GET')).toBe(200);
    expect(await send('POST', { config: { list: [{ hostname: 'a', ip_address: '192.0.2.1' }] } })).toBe(201);
    expect(await send('PUT', { config: { unique: { location: 'roof' } } })).toBe(200);
    expect(await send('DELETE')).toBe(200);
  });
});

describe('HTTP and HTTPS', () => {
  test('a fresh router answers HTTPS and no HTTP', async () => {
    await using bench = await openInterface();
    expect(bench.router.url).toMatch(/^https:/);
    const { unique } = await bench.as('monitor').configuration.read(WEB);
    expect(unique).toMatchObject({ http_active: '0', http_port: '80', https_active: '1' });
    expect(unique['https_port']).toBe(new URL(bench.router.url).port);
    const plain = bench.connect({ url: bench.router.url.replace('https:', 'http:') }).client;
    expect(await failureOf(plain.listProfiles())).toMatchObject({ code: expect.stringMatching('http|connect') });
  });

  test.skipIf(!existsSync(SOCKETS))(
    'a fresh router listens on its HTTPS port alone, and on HTTP once it is on',
    async () => {
      // An address that nothing else on this machine uses.
      await using bench = await openInterface({ listen: { host: '127.94.7.9', port: 0 } });
      const https = Number(new URL(bench.router.url).port);
      expect(readListeningPorts('0907 5E7F')).toEqual([https]);
      const http = await findFreePort();
      await letThrough(bench.as(), [https, http]);
      const change = { http_active: '1', http_port: String(http) };
      await bench.as().configuration.changeParameters(WEB, change, { activate: true });
      expect(new Set(readListeningPorts('0907 5E7F'))).toEqual(new Set([https, http]));
    },
  );

  test('plain HTTP works in addition to HTTPS once it is switched on, and HTTPS can be switched off then', async () => {
    await using bench = await openInterface();
    const port = String(await findFreePort());
    const secure = bench.as();
    await letThrough(secure, [new URL(bench.router.url).port, port]);
    await secure.configuration.changeParameters(WEB, { http_active: '1', http_port: port }, { activate: true });
    expect(await secure.listProfiles()).toHaveLength(2);
    const plain = bench.connect({ url: `http://127.0.0.1:${port}`, tls: undefined }).client;
    expect(await plain.listProfiles()).toHaveLength(2);
    await plain.configuration.changeParameters(WEB, { https_active: '0' }, { activate: true });
    expect(await plain.listProfiles()).toHaveLength(2);
    expect(await failureOf(secure.listProfiles())).toMatchObject({ code: 'connect' });
  });

  test('a changed HTTPS port takes effect when it is activated: the answer still comes, the former port closes', async () => {
    await using bench = await openInterface();
    const former = bench.router.url;
    const port = String(await findFreePort());
    const admin = bench.as();
    await letThrough(admin, [new URL(former).port, port]);
    await admin.configuration.changeParameters(WEB, { https_port: port });
    expect(await admin.listProfiles()).toMatchObject([{ name: 'Profile', modified: true }, {}]);
    const changed = await admin.configuration.changeParameters(WEB, { https_port: port }, { activate: true });
    expect(changed?.unique['https_port']).toBe(port);
    expect(await failureOf(admin.listProfiles())).toMatchObject({ code: 'connect' });
    const moved = bench.connect({ url: `https://127.0.0.1:${port}` }).client;
    expect(await moved.listProfiles()).toMatchObject([{ name: 'Profile', modified: false }, {}]);
    expect(former).not.toBe(bench.router.url);
  });

  test.for([
    ['https://127.94.7.1', 443],
    ['http://127.94.7.1', 80],
  ] as const)('%s without a port means %i', async ([url, port]) => {
    await using bench = await openInterface({ plainHttp: true });
    const { client } = bench.connect({ url });
    const error = (await client.listProfiles().catch((cause: unknown) => cause)) as RouterError;
    expect(error).toMatchObject({ code: 'connect', cause: { port } });
  });
});

describe('firewall', () => {
  test('a port that no exception of the firewall names is out of reach, and the former one closes all the same', async () => {
    await using bench = await openInterface();
    const former = bench.router.url;
    const port = String(await findFreePort());
    const admin = bench.as();
    const changed = await admin.configuration.changeParameters(WEB, { https_port: port }, { activate: true });
    expect(changed?.unique['https_port']).toBe(port);
    const url = `https://127.0.0.1:${port}`;
    expect(bench.router.url).toBe(url);
    for (const one of [url, former]) {
      expect(await failureOf(bench.connect({ url: one }).client.listProfiles())).toMatchObject({ code: 'connect' });
    }
    await bench.router.factoryReset();
    expect(await bench.connect({ url: former }).client.listProfiles()).toHaveLength(2);
  });

  test.for([
    ['an exception for the port', (port: string) => ({ dst_port: `22,${port}` })],
    ['an exception for a range of ports', (port: string) => ({ dst_port: `1:${port}` })],
    ['an exception for all protocols', (port: string) => ({ dst_port: port, protocol: 'all' })],
    ['an exception for all ports', () => ({ dst_port: '' })],
  ] as const)('%s lets clients reach it', async ([_what, render]) => {
    await using bench = await openInterface();
    const port = String(await findFreePort());
    const { configuration } = bench.as();
    const rule = { description: 'moved', protocol: 'tcp', ...render(port) };
    await configuration.addEntries(FILTER, [{ parameters: rule }]);
    await configuration.changeParameters(WEB, { https_port: port }, { activate: true });
    expect(await bench.connect().client.listProfiles()).toHaveLength(2);
  });

  test.for([
    ['is not active', { active: '0' }],
    ['is for another protocol', { protocol: 'udp' }],
    ['is for outgoing packets', { direction: 'output' }],
    ['is for another port', { dst_port: '1:1023' }],
  ] as const)('an exception that %s helps nobody', async ([_what, wrong]) => {
    await using bench = await openInterface();
    const port = String(await findFreePort());
    const { configuration } = bench.as();
    const parameters = { direction: 'input', protocol: 'tcp', dst_port: port, ...wrong };
    await configuration.addEntries(FILTER, [{ parameters }]);
    await configuration.changeParameters(WEB, { https_port: port }, { activate: true });
    expect(await failureOf(bench.connect().client.listProfiles())).toMatchObject({ code: 'connect' });
  });

  test('with the firewall off every port is within reach, and taking the exceptions away shuts clients out', async () => {
    await using bench = await openInterface();
    const port = String(await findFreePort());
    const admin = bench.as();
    await admin.configuration.changeParameters(FILTER, { active_ipv4: '0' });
    await admin.configuration.changeParameters(WEB, { https_port: port }, { activate: true });
    const moved = bench.as();
    await moved.configuration.deleteEntries(FILTER, { filter: 'all' });
    await moved.configuration.changeParameters(FILTER, { active_ipv4: '1' });
    expect(await moved.listProfiles()).toHaveLength(2);
    await moved.performAction({ type: 'profile', options: { profile: 'Profile' } });
    expect(await failureOf(moved.listProfiles())).toMatchObject({ code: 'connect' });
  });
});

describe('trust', () => {
  const tlsFailure = { code: 'tls', status: undefined, topics: [] };

  test('a router is trusted by the authority that it was given, and by nothing else', async () => {
    await using bench = await openInterface();
    await using other = await openInterface({ seed: 4 });
    expect(await bench.as().listProfiles()).toHaveLength(2);
    for (const tls of [undefined, { caPem: other.simulator.caPem }]) {
      expect(await failureOf(bench.connect({ tls }).client.listProfiles())).toEqual(tlsFailure);
    }
    expect(await bench.connect({ tls: { insecureSkipVerify: true } }).client.listProfiles()).toHaveLength(2);
    // An untrusted server received no password.
    expect(bench.router.counters).toMatchObject({ logins: 2, loginFailures: 0 });
  });

  test('a certificate must carry the host of the url, or the server name that was given instead', async () => {
    await using bench = await openInterface();
    const { caPem } = bench.simulator;
    const connectAs = (serverName: string) => bench.connect({ tls: { caPem, serverName } }).client;
    expect(await connectAs(bench.router.name).listProfiles()).toHaveLength(2);
    expect(await failureOf(connectAs('plant-7').listProfiles())).toEqual(tlsFailure);
  });

  test('a pinned fingerprint replaces the authority, in any notation, and keeps every other certificate out', async () => {
    await using bench = await openInterface();
    const fingerprint = await readFingerprint(bench);
    const { caPem } = bench.simulator;
    for (const fingerprintSha256 of [fingerprint, fingerprint.replaceAll(':', '').toLowerCase()]) {
      expect(await bench.connect({ tls: { fingerprintSha256 } }).client.listProfiles()).toHaveLength(2);
      expect(await bench.connect({ tls: { fingerprintSha256, caPem } }).client.listProfiles()).toHaveLength(2);
    }
    const { counters } = bench.router;
    for (const tls of [{}, { caPem }, { insecureSkipVerify: true }]) {
      const wrong = { ...tls, fingerprintSha256: '00'.repeat(32) };
      const failure = await bench
        .connect({ tls: wrong })
        .client.listProfiles()
        .catch((cause: unknown) => cause);
      expect(failure).toMatchObject({ code: 'tls', message: expect.stringContaining(fingerprint) });
    }
    expect(bench.router.counters).toEqual(counters);
  });

  test('a certificate that changes to one of a stranger is refused, also with a pinned fingerprint', async () => {
    await using bench = await openInterface();
    const fingerprintSha256 = await readFingerprint(bench);
    const clients = [bench.as(), bench.connect({ tls: { fingerprintSha256 } }).client];
    for (const client of clients) expect(await client.listProfiles()).toHaveLength(2);
    await bench.router.fault('bad_certificate');
    for (const client of clients) expect(await failureOf(client.listProfiles())).toEqual(tlsFailure);
    await bench.router.clearFault('bad_certificate');
    // A cleared fault issues a new certificate: the authority vouches for it, the fingerprint does not.
    expect(await clients[0]?.listProfiles()).toHaveLength(2);
  });
});

describe('client certificates', async () => {
  const authority = await createCertificateAuthority('test authority', createSeededRandom(7));
  const { key: keyPem, cert: certPem } = authority.issue(['plant-7']);

  test('the client shows its certificate to a router that asks for one, and none when it has none', async () => {
    const server = { ...authority.issue(['127.0.0.1']), requestCert: true, rejectUnauthorized: false };
    const shown: (string | undefined)[] = [];
    const look = (request: IncomingMessage) =>
      shown.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN as string | undefined);
    const handle = (request: IncomingMessage, response: Parameters<typeof answerJson>[0]) => {
      look(request);
      answerJson(response, { profiles: [] });
    };
    const { caPem } = authority;
    await using withOne = await openRouter(handle, { certificate: server, tls: { caPem, certPem, keyPem } });
    await withOne.client.listProfiles();
    await using without = await openRouter(handle, { certificate: server, tls: { caPem } });
    await without.client.listProfiles();
    expect(shown).toEqual(['plant-7', undefined]);
  });

  test('the fields for client certificates are kept, and a client that has a certificate still logs in', async () => {
    await using bench = await openInterface();
    const { caPem } = bench.simulator;
    const { client } = bench.connect({ tls: { caPem, certPem, keyPem } });
    const settings = {
      active_clientauth: '1',
      https_clientauth_ca: 'plant_ca',
      https_clientauth_crl: 'plant_crl',
      https_clientauth_group: 'status',
    };
    await client.configuration.changeParameters(WEB, settings, { activate: true });
    expect((await client.configuration.read(WEB)).unique).toMatchObject(settings);
  });
});

describe('version and description', () => {
  test('the version is part of every path, and a path of another version or prefix is not found', async () => {
    await using bench = await openInterface();
    bench.stranger.allowUndescribed();
    const { access } = await bench.stranger.login();
    expect((await bench.stranger.get('/../v2_0/status/device_info', access)).status).toBe(200);
    expect((await bench.stranger.get('/../v1_0/status/device_info', access)).status).toBe(404);
    expect((await bench.stranger.get('/../../status/device_info', access)).status).toBe(404);
    expect(await bench.as().readStatus('device_info')).toHaveProperty('status');
    const elsewhere = bench.connect({ url: `${bench.router.url}/prefix` }).client;
    expect(await failureOf(elsewhere.readStatus('device_info'))).toMatchObject({ code: 'http', status: 404 });
  });

  test('what a router can be asked depends on its equipment: what it lacks is 404 and the session continues', async () => {
    await using bench = await openInterface({ routers: 2 });
    const [full, small] = bench.simulator.routers.map(({ url }) => bench.connect({ url }));
    expect(await full?.client.readStatus('ethernet3')).toHaveProperty('status.list');
    expect(await failureOf(small?.client.readStatus('ethernet3') ?? Promise.resolve())).toMatchObject({
      code: 'http',
      status: 404,
    });
    expect(await small?.client.readStatus('ethernet1')).toHaveProperty('status.list');
    expect(small?.events).toEqual(['session-opened']);
  });

  test('no call of the interface answers with the description, and paths that are not described are not found', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    const { paths } = describeInterface() as { readonly paths: Readonly<Record<string, object>> };
    for (const [path, methods] of Object.entries(paths)) {
      if (!('get' in methods)) continue;
      expect([path, (await bench.stranger.get(path, access)).text]).not.toEqual([
        path,
        expect.stringContaining('"openapi"'),
      ]);
    }
    for (const path of ['', '/', '/openapi', '/openapi.json', '/download/openapi']) {
      expect([path, (await bench.stranger.get(path, access)).status]).toEqual([path, 404]);
    }
  });

  test('the interface sends nothing by itself: a connection stays silent while much happens on the router', async () => {
    await using bench = await openInterface({ plainHttp: true });
    const { hostname, port } = new URL(bench.router.url);
    const { access } = await bench.stranger.login();
    const socket = createConnection({ host: hostname, port: Number(port) });
    const received: string[] = [];
    socket.setEncoding('utf8').on('data', (text: string) => void received.push(text));
    const ask = () => {
      socket.write(`GET /api/v2_0/status/device_info HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${access}\r\n\r\n`);
      return expect.poll(() => received.join('')).toContain('device_type');
    };
    await ask();
    const admin = bench.as();
    received.length = 0;
    for (let minute = 0; minute < 4; minute++) {
      bench.router.appendLog('events', 'alarm', 'eventd', 'ERR');
      await bench.clock.advance(MINUTE_MS);
    }
    await admin.configuration.changeParameters(WEB, { default_log_lines: '41' }, { activate: true });
    await admin.performAction({ type: 'modem_state', options: { name: 'lte2', state_change: 'turn_off' } });
    // Unrequested bytes of the router would arrive before the answer to this request, on the same connection.
    await ask();
    socket.destroy();
    expect(received.join('').split('HTTP/1.1 ')).toEqual(['', expect.stringMatching(/^200 .*device_type.*\}$/s)]);
    const description = JSON.stringify(describeInterface());
    expect(description).not.toMatch(/"(?:callbacks|webhooks|links)"/);
  });
});

/** Adds an exception for these ports to the firewall; it counts from the next activation on. */
async function letThrough({ configuration }: RouterClient, ports: readonly (string | number)[]): Promise<void> {
  const parameters = { description: 'ports of the test', protocol: 'tcp', dst_port: ports.join(',') };
  await configuration.addEntries(FILTER, [{ parameters }]);
}

/** The open ports of an address, which is given as the kernel writes it. */
function readListeningPorts(address: string): number[] {
  const local = address.replace(' ', '');
  const lines = readFileSync(SOCKETS, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, host, port] = /^ *\d+: ([\dA-F]{8}):([\dA-F]{4}) [\dA-F:]+ 0A /.exec(line) ?? [];
    return host === local && port !== undefined ? [Number.parseInt(port, 16)] : [];
  });
}

/** The fingerprint of the router's certificate, read without the product. */
async function readFingerprint(bench: InterfaceBench): Promise<string> {
  const { hostname, port } = new URL(bench.router.url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: hostname, port: Number(port), ca: bench.simulator.caPem }, () =>
    resolve(socket.getPeerCertificate().fingerprint256),
  ).once('error', reject);
  const fingerprint = await promise;
  socket.destroy();
  return fingerprint;
}
