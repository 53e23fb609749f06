// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts under test refer to variables.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readEnvironment } from '../../src/config/index.ts';
import { load, withRouter } from './configuration-folder.ts';

async function serverName(value: string, env: Record<string, string>) {
  const { config, lines } = await load(withRouter(`tls: { server_name: '${value}' }`), { env });
  return config ? config.routers[0]?.tls.server_name : lines;
}

describe('loadConfig() on the environment', () => {
  it.each([
    ['${A}', 'one'],
    ['x-${A}-${B}-${A}', 'x-one-two-one'],
    ['${UNSET:-other}', 'other'],
    ['${EMPTY:-other}', 'other'],
    ['x${EMPTY}', 'x'],
    ['${A:-other}', 'one'],
    ['x${UNSET:-}', 'x'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['$A $ $$ {A}', '$A $ $$ {A}'],
    ['${REFERENCE}', '${A}'],
  ])('makes "%s" to "%s"', async (value, expected) => {
    expect(await serverName(value, { A: 'one', B: 'two', EMPTY: '', REFERENCE: '${A}' })).toBe(expected);
  });

  it('names every variable that is not set, at its value', async () => {
    expect(await serverName('${A}${B}', {})).toEqual([
      'router-exporter.yaml:6:25: routers[0].tls.server_name: The environment variable A is not set; set it, or write ${A:-default}',
      'router-exporter.yaml:6:25: routers[0].tls.server_name: The environment variable B is not set; set it, or write ${B:-default}',
    ]);
  });

  it('says nothing more of keys that cannot be filled in, nor of those that depend on them', async () => {
    const { lines } = await load('routers: [{ name: a, url: "${A}", auth: "${B}" }]');
    expect(lines).toEqual([
      expect.stringContaining('routers[0].url: The environment variable A is not set'),
      expect.stringContaining('routers[0].auth: The environment variable B is not set'),
    ]);
  });

  it.each(['${', '${}', '${1A}', '${A', '${A:x}', '${A-x}'])('refuses "%s"', async (value) => {
    expect(await serverName(value, { A: 'one' })).toEqual([
      'router-exporter.yaml:6:25: routers[0].tls.server_name: Expected ${NAME} or ${NAME:-default}; write $${ where the text itself has "${"',
    ]);
  });

  it('does not take what every object inherits for a variable', async () => {
    expect(await serverName('${constructor}', {})).toEqual([expect.stringContaining('constructor is not set')]);
  });

  it('fills in flags, durations, sizes, list items and required keys', async () => {
    const { config, lines } = await load(
      `web: { listen: ["\${LISTEN}"] }
storage: { spool_max: "\${SIZE}" }
routers:
  - name: \${NAME}
    url: https://\${HOST}
    username: u
    password: \${PASSWORD}
    tls: { insecure_skip_verify: "\${FLAG}" }
    labels: { site: "\${NUMBER}" }
    poll: { interval: "\${INTERVAL:-90s}" }`,
      { env: { LISTEN: ':1', SIZE: '2MiB', NAME: 'a', HOST: 'h', PASSWORD: '12345', FLAG: 'true', NUMBER: '7' } },
    );
    expect(lines).toEqual([]);
    expect(config?.web.listen[0]?.port).toBe(1);
    expect(config?.storage.spool_max).toBe(2_097_152);
    expect(config?.routers[0]).toMatchObject({
      name: 'a',
      url: 'https://h',
      tls: { insecure_skip_verify: true },
      labels: { site: '7' },
      poll: { interval: 90_000 },
    });
    expect(config?.routers[0]?.password.reveal()).toBe('12345');
  });

  it('shows the text of the file, not the variable, when the outcome is wrong', async () => {
    const { lines } = await load(withRouter('timezone: ${ZONE}'), { env: { ZONE: 'hidden' } });
    expect(lines).toEqual([
      'router-exporter.yaml:6:15: routers[0].timezone: Expected a time zone of the IANA list, such as Europe/Berlin or UTC; found "${ZONE}" (before the environment was filled in)',
    ]);
  });
});

describe('readEnvironment()', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('copies the environment of the process', () => {
    vi.stubEnv('ROUTER_EXPORTER_TEST', 'x');
    const env = readEnvironment();
    vi.stubEnv('ROUTER_EXPORTER_TEST', 'y');
    expect(env['ROUTER_EXPORTER_TEST']).toBe('x');
  });
});
