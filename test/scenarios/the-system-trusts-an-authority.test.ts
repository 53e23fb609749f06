import { once } from 'node:events';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createSystemClock } from '../../src/base/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { PROGRAM, startProgram } from '../support/child.ts';
import { findFreePort } from '../support/free-port.ts';
import { openHttpServer } from '../support/sinks/http-server.ts';
import { createTestAuthority } from '../web/certificates.ts';

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

test('without ca_file, routers, sinks, sources, peers and agents are trusted by authorities of the system and of NODE_EXTRA_CA_CERTS', async () => {
  const [system, extra] = [createTestAuthority('system'), createTestAuthority('extra')];
  await using simulator = await startSimulator({ routers: 1, clock: createSystemClock(), seed: 7 });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-system-'));
  const place = (name: string) => join(folder.path, name);
  await writeFile(place('system.pem'), simulator.caPem + system.caPem);
  await writeFile(place('extra.pem'), extra.caPem);
  await mkdir(place('none'));
  /** Who got through a handshake: only who trusts the server does. */
  const secured = new Set<string>();
  const certificate = system.issue('server', '127.0.0.1');
  const agent = createHttpsServer(certificate, (request, response) => {
    secured.add(/^\/(list|peer)/.exec(request.url ?? '')?.[1] ?? 'agent');
    response.end('[]');
  });
  const lines = createTlsServer(extra.issue('server', '127.0.0.1'), (socket) => {
    secured.add('syslog');
    socket.on('error', () => {}).resume();
  });
  const nats = createServer((socket) => {
    socket
      .on('error', () => {})
      .write('INFO {"server_id":"S","version":"2.15.2","proto":1,"headers":true,"tls_required":true}\r\n');
    const tls = new TLSSocket(socket, { ...certificate, isServer: true });
    tls
      .on('error', () => {})
      .once('data', () => {
        secured.add('nats');
        tls.end("-ERR 'Authorization Violation'\r\n");
      });
  });
  const [agentPort, linesPort, natsPort] = [await listen(agent), await listen(lines), await listen(nats)];
  const webPort = await findFreePort();
  await using web = await openHttpServer({ certificate });
  await writeFile(
    place('router-exporter.yaml'),
    `web: { listen: ["127.0.0.1:${webPort}"], peers: ["http://127.0.0.1:${webPort}", "https://127.0.0.1:${agentPort}/peer"] }
defaults: { username: monitor, password: simulated, modules: [device] }
routers: [{ name: plant-7, url: "${simulator.routers[0]?.url}" }]
router_sources: [{ name: inv, type: http, url: "https://127.0.0.1:${agentPort}/list", allowed_addresses: [127.0.0.1] }]
sinks:
  - { name: web, type: http, url: "${web.url}" }
  - { name: lines, type: syslog, address: "127.0.0.1:${linesPort}", protocol: tls }
  - { name: nats, type: nats, servers: ["tls://127.0.0.1:${natsPort}"], subject: logs }
`,
  );
  const start = (env: NodeJS.ProcessEnv, ...args: string[]) => {
    const flags = args[0] === 'fleet' ? [] : ['--config.file', place('router-exporter.yaml')];
    return startProgram(process.execPath, [PROGRAM, ...args, ...flags], { SSL_CERT_DIR: place('none'), ...env });
  };
  const trusting = { SSL_CERT_FILE: place('system.pem'), NODE_EXTRA_CA_CERTS: place('extra.pem') };
  const bare = { SSL_CERT_FILE: place('none/none.pem'), NODE_EXTRA_CA_CERTS: undefined };
  const url = `https://127.0.0.1:${agentPort}`;

  for (const [env, verdict] of [
    [bare, 'failed'],
    [trusting, 'ok'],
  ] as const) {
    await using doctor = start(env, 'doctor', '--json');
    await using fleet = start(env, 'fleet', '--url', url);
    const { stdout, stderr } = await doctor.ended;
    expect(stderr).toBe('');
    const { routers, sinks } = JSON.parse(stdout) as Record<
      'routers' | 'sinks',
      { steps: { step: string; result: string }[] }[]
    >;
    const find = (one: (typeof routers)[number] | undefined, step: string) =>
      one?.steps.find((found) => found.step === step)?.result;
    expect(find(routers[0], 'tls')).toBe(verdict);
    expect([sinks[0], sinks[1]].map((sink) => find(sink, 'connect'))).toEqual([verdict, verdict]);
    await fleet.ended;
    if (verdict === 'failed') expect([...secured]).toEqual([]);
  }
  await using running = start(trusting, 'run', '--storage.path', place('state'));
  await running.waitFor('stderr', /"Started"/);
  await fetch(`http://127.0.0.1:${webPort}/`);
  await expect.poll(() => [...secured].toSorted()).toEqual(['agent', 'list', 'nats', 'peer', 'syslog']);
  running.process.kill();
  await running.ended;
});
