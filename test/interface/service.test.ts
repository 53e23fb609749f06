import type { IncomingMessage } from 'node:http';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/base/index.ts';
import type { RouterError } from '../../src/router/index.ts';
import { createCertificateAuthority } from '../../src/simulator/certificate-authority.ts';
import { answerJson, openRouter } from '../router/http-router.ts';
import { findFreePort } from '../support/free-port.ts';
import { failureOf, type InterfaceBench, openInterface } from './bench.ts';

const WEB = 'administration/webinterface';

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

  test('plain HTTP works beside HTTPS once it is switched on, and HTTPS can be switched off then', async () => {
    await using bench = await openInterface();
    const port = String(await findFreePort());
    const secure = bench.as();
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

describe('trust', () => {
  const tlsFailure = { code: 'tls', status: undefined, topics: [] };

  test('a router is trusted by the authority that it was given, and by nothing else', async () => {
    await using bench = await openInterface();
    await using other = await openInterface({ routers: 1 });
    expect(await bench.as().listProfiles()).toHaveLength(2);
    for (const tls of [undefined, { caPem: other.simulator.caPem }]) {
      expect(await failureOf(bench.connect({ tls }).client.listProfiles())).toEqual(tlsFailure);
    }
    expect(await bench.connect({ tls: { insecureSkipVerify: true } }).client.listProfiles()).toHaveLength(2);
    // Whoever was not trusted was told no password.
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

  test('what a router can be asked depends on its equipment: what it lacks is 404 and the session goes on', async () => {
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

  test('the description is not a call of the interface: the paths that it might have are not found', async () => {
    await using bench = await openInterface();
    const { access } = await bench.stranger.login();
    for (const path of ['', '/', '/openapi', '/openapi.json', '/download/openapi']) {
      expect([path, (await bench.stranger.get(path, access)).status]).toEqual([path, 404]);
    }
  });

  test('the interface tells nothing by itself: a path for events is not found', async () => {
    await using bench = await openInterface();
    const answer = await bench.as().call({ method: 'GET', path: '/events' });
    expect(answer.status).toBe(404);
  });
});

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
