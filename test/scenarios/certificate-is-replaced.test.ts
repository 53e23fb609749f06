import { mkdir, mkdtempDisposable, rename, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { startAgent } from '../../src/agent/index.ts';
import { createSeededRandom, createSteppedClock } from '../../src/base/index.ts';
import { loadConfig } from '../../src/config/index.ts';
import { createCollectingLogger, type OwnLine } from '../support/collecting-logger.ts';
import { fetchRaw } from '../web/bench.ts';
import { createKeys, createTestAuthority } from '../web/certificates.ts';

const CONFIG =
  'web: { listen: ["127.0.0.1:0"], config_file: web.yaml }\nstorage: { path: state }\nrouters: [{ name: plant-7, url: "http://127.0.0.1:1", auth: none, state: retired }]\n';
const WEB = 'tls_server_config: { cert_file: certificates/web.crt, key_file: certificates/web.key }\n';

test('a certificate that is replaced while the agent runs is served from the next handshake on, and the old one is as long as the new pair is broken or half there', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-'));
  const [first, second] = [createTestAuthority('first'), createTestAuthority('second', createKeys())];
  const [old, next] = [first.issue('server', '127.0.0.1'), second.issue('server', '127.0.0.1')];
  const write = (path: string, text: string) => writeFile(join(folder.path, path), text);
  /** As Kubernetes does: a link leads to the folder of the present files. */
  const putBoth = async (name: string, { cert, key }: typeof old) => {
    await mkdir(join(folder.path, name));
    await write(`${name}/web.crt`, cert);
    await write(`${name}/web.key`, key);
    await symlink(name, join(folder.path, 'next'));
    await rename(join(folder.path, 'next'), join(folder.path, 'certificates'));
  };
  await putBoth('one', old);
  await write('web.yaml', WEB);
  await write('router-exporter.yaml', CONFIG);
  const load = () => loadConfig(join(folder.path, 'router-exporter.yaml'), {});
  const loaded = await load();
  if (!loaded.ok) throw new RangeError(JSON.stringify(loaded.faults));
  const clock = createSteppedClock(Date.UTC(2026, 10, 21));
  const ownLog: OwnLine[] = [];
  const { config, watched } = loaded;
  const agent = await startAgent({
    config,
    watched,
    reload: load,
    clock,
    version: '0',
    random: createSeededRandom(7),
    stdout: new PassThrough().resume(),
    logger: createCollectingLogger(ownLog),
  });
  try {
    const ask = (ca: string) =>
      fetchRaw(`${agent.urls[0]}/metrics/agent`, { ca }).then(
        ({ body }) => /^router_exporter_config_last_reload_successful (\d)$/m.exec(body.toString())?.[1],
        () => 'refused',
      );
    const served = async () => ({ old: await ask(first.caPem), next: await ask(second.caPem) });
    const change = async (made: Promise<void>) => {
      await made;
      return expect.poll(async () => {
        await clock.advance(1000);
        return served();
      });
    };
    const faults = () => ownLog.flatMap(({ fields }) => (fields?.['fault'] === undefined ? [] : [fields['fault']]));
    const [whileBroken, whileNew] = [
      { old: '0', next: 'refused' },
      { old: 'refused', next: '1' },
    ];
    expect(await served()).toEqual({ old: '1', next: 'refused' });
    await (await change(write('one/web.crt', 'nothing yet'))).toEqual(whileBroken);
    // A certificate before its key, a good pair, and a key before its certificate.
    await write('one/web.crt', next.cert);
    await expect
      .poll(async () => {
        await clock.advance(1000);
        return faults().at(-1);
      })
      .toMatch(/web\.yaml:1:\d+: .*The key does not belong to the first certificate/);
    expect(await served()).toEqual(whileBroken);
    await (await change(write('one/web.key', next.key))).toEqual(whileNew);
    await (await change(putBoth('two', old))).toEqual({ old: '1', next: 'refused' });
    await (await change(write('two/web.key', next.key))).toEqual(whileBroken);
    await (await change(write('two/web.crt', next.cert))).toEqual(whileNew);
    expect(faults()).toHaveLength(3);
  } finally {
    await agent.stop();
  }
});
