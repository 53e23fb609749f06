import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { openLogger } from '../../src/cli/serve.ts';
import { load, withRouter } from '../config/configuration-folder.ts';

test('the own log of the agent blanks the passwords of the configuration, wherever they turn up', async () => {
  const { config } = await load(withRouter().replace('password: pw', 'password: correct-horse'));
  if (!config) throw new RangeError('The configuration is not sound');
  let text = '';
  const stderr = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const io = {
    stdin: Readable.from([]),
    stdout: stderr,
    stderr,
    signal: new AbortController().signal,
    onHangup: () => {},
  };

  const { logger, useSecretsOf } = openLogger({ level: 'info', format: 'json' }, io);
  await useSecretsOf(config);
  logger.info('sent correct-horse', { url: 'https://a:correct-horse@b' });

  expect(text).toContain('[secret]');
  expect(text).not.toContain('correct-horse');

  // While a reload is under way, and when it fails, the passwords of both configurations are in use.
  const { config: next } = await load(withRouter().replace('password: pw', 'password: battery-staple'));
  if (!next) throw new RangeError('The configuration is not sound');
  await useSecretsOf(config, next);
  text = '';
  logger.info('sent correct-horse and battery-staple');
  expect(text).not.toMatch(/correct-horse|battery-staple/);
});
