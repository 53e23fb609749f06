import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credsAuthenticator } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { createNatsAccount } from '../support/sinks/nats-account.ts';
import { type NatsServerOptions, openNatsServer } from '../support/sinks/nats-server.ts';
import { withPrograms } from '../support/tools.ts';
import { createTestAuthority } from '../web/certificates.ts';
import { runCommand } from './run-command.ts';

const TLS = 'tls { cert_file: "FOLDER/cert.pem", key_file: "FOLDER/key.pem", ca_file: "FOLDER/ca.pem", timeout: 5 }';

/** A server, and the keys of `cluster.nats` with which it lets a replica in. */
interface Way {
  readonly server: NatsServerOptions;
  /** Files in the folder of the replica's configuration. */
  readonly files: Readonly<Record<string, string>>;
  readonly keys: string;
}

function createWays(): ReadonlyMap<string, Way> {
  const authority = createTestAuthority('nats');
  const { cert, key } = authority.issue('server', '127.0.0.1');
  const { config, credentials } = createNatsAccount();
  const admin = {
    authenticator: credsAuthenticator(Buffer.from(credentials)),
    tls: { ca: authority.caPem, host: '127.0.0.1', servername: '' },
  };
  const files = { 'cert.pem': cert, 'key.pem': key, 'ca.pem': authority.caPem };
  return new Map<string, Way>([
    [
      'a credentials file, over TLS',
      {
        server: { config: `${config}\n${TLS}`, files, admin, isTls: true },
        files: { 'ca.pem': authority.caPem, 'cluster.creds': credentials },
        keys: 'credentials_file: cluster.creds, tls: { ca_file: ca.pem }',
      },
    ],
    [
      'a token',
      {
        server: { config: 'authorization { token: "t0ken" }', admin: { token: 't0ken' } },
        files: {},
        keys: 'bearer_token: t0ken',
      },
    ],
    [
      'user and password',
      {
        server: {
          config: 'authorization { users: [{ user: "rx", password: "p" }] }',
          admin: { user: 'rx', pass: 'p' },
        },
        files: {},
        keys: 'username: rx, password: p',
      },
    ],
  ]);
}

const ways = createWays();

withPrograms(['nats-server'], test.for([...ways.keys()]))(
  'lease, stream and dead letters of a cluster are used with %s, and without it nothing is',
  async (name) => {
    const { server: options, files, keys } = ways.get(name) ?? expect.unreachable('there is no such way');
    await using server = await openNatsServer(options);
    await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-cluster-'));
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder.path, file), text, { mode: 0o600 });
    const write = async (file: string, account: string) => {
      const path = join(folder.path, file);
      await writeFile(
        path,
        `cluster: { nats: { servers: ["${server.url}"], name: plant, replica: a, replicas: 1, max_bytes: 16MiB${account} } }
dead_letters: { max: 4MiB }
routers: [{ name: plant-7, url: "http://192.0.2.1", auth: none }]
`,
        { mode: 0o600 },
      );
      return path;
    };
    const [known, stranger] = [await write('known.yaml', `, ${keys}`), await write('stranger.yaml', '')];
    const refused = await runCommand(['cluster', 'init', '--config.file', stranger]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/cluster\.nats|credentials|certificate/)]);
    const created = await runCommand(['cluster', 'init', '--config.file', known]);
    expect(created, created.stderr).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(\S+ \(.*\) was created\n){3}$/),
    });
    expect(await runCommand(['cluster', 'status', '--config.file', known])).toMatchObject({
      stdout: expect.stringMatching(/^REPLICA/),
    });
    const deadLetters = await runCommand(['dead-letters', 'list', '--json', '--config.file', known]);
    expect(deadLetters, deadLetters.stderr).toMatchObject({ code: 0, stdout: '[]\n' });
  },
);
