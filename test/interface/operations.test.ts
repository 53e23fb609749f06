import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MANUAL_ACTION_TYPES, type ManualAction } from '../../src/client/index.ts';
import { failureOf, shareFleets } from './bench.ts';
import { performed, readUnique } from './performed.ts';

const openInterface = shareFleets();

describe('manual actions', () => {
  test.for(Object.entries(performed))(
    '%s is carried out, once, and answered with 201',
    async ([type, [options, effect, router = 0]]) => {
      await using bench = await openInterface({ routers: router + 1 }, router);
      bench.router.jumpClock(-3_600_000);
      await bench.as().performAction({ type, options } as ManualAction);
      if (effect) await effect(bench);
      expect(bench.router.actions).toEqual([{ type, options }]);
      expect(bench.router.counters.requests['POST /operation']).toBe(1);
    },
  );

  test('these are all types that the client knows', () => {
    expect(Object.keys(performed)).toEqual(MANUAL_ACTION_TYPES);
  });

  test('docs/interface.md names those of which nothing can be seen', () => {
    const text = readFileSync(new URL('../../docs/interface.md', import.meta.url), 'utf8');
    const [, named = ''] = /Not proven is what these actions do[^:]*:([^.]*)\./.exec(text) ?? [];
    const unseen = Object.entries(performed).flatMap(([type, [, effect]]) => (effect ? [] : [type]));
    expect(Array.from(named.matchAll(/`(\w+)`/g), ([, type]) => type)).toEqual(unseen);
  });

  test('every type refuses options that it does not have, and nothing happens', async () => {
    await using bench = await openInterface({ routers: 1 });
    const admin = bench.as();
    for (const type of MANUAL_ACTION_TYPES) {
      const options = { ...performed[type][0], colour: 'red' };
      const json = { method: 'manual_action', params: { type, options } };
      const answer = await admin.call({ method: 'POST', path: '/operation', json });
      expect({ type, ...answer }).toMatchObject({
        type,
        status: 400,
        body: { error: [{ colour: expect.any(String) }] },
      });
    }
    expect(bench.router.actions).toEqual([]);
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led: 'off', wan: 'wan1' });
  });

  test('every type that needs options is refused without them', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    for (const type of MANUAL_ACTION_TYPES) {
      const json = { method: 'manual_action', params: { type, options: {} } };
      const { status } = await admin.call({ method: 'POST', path: '/operation', json });
      // `sleep` without a duration sleeps until it is woken.
      const isComplete = Object.keys(performed[type][0]).length === 0 || type === 'sleep';
      expect({ type, isRefused: status === 400 }).toEqual({ type, isRefused: !isComplete });
    }
  });

  test.for(['monitor', 'status'])('no type is carried out for the account %s: 403', async (username) => {
    await using bench = await openInterface();
    const client = bench.as(username);
    for (const type of MANUAL_ACTION_TYPES) {
      const action = { type, options: performed[type][0] } as ManualAction;
      expect([type, await failureOf(client.performAction(action))]).toEqual([
        type,
        { code: 'auth', status: 403, topics: ['authorization'] },
      ]);
    }
    expect(bench.router.counters).toMatchObject({ logins: 1, unauthorized: 0 });
  });

  test.for(['on', 'off', 'flash'] as const)('info_led takes %s', async (info_led) => {
    await using bench = await openInterface();
    await bench.as().performAction({ type: 'info_led', options: { info_led } });
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led });
  });

  test('message takes the name of a configured message and no other', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    const send = (message: string) => failureOf(admin.performAction({ type: 'message', options: { message } }));
    expect(await send('pump stopped')).toEqual({ code: 'http', status: 400, topics: ['message'] });
    const parameters = { name: 'pump stopped', type: 'sms', contact: 'on-call' };
    await admin.configuration.addEntries('events/messages', [{ parameters }], { activate: true });
    expect(await send('pump stopped')).toBe('none');
  });

  test('a body that is no operation is refused', async () => {
    await using bench = await openInterface();
    const admin = bench.as();
    const params = { type: 'info_led', options: { info_led: 'on' } };
    for (const json of [
      {},
      { method: 'manual_action' },
      { method: 'dance', params },
      { method: 'manual_action', params: { type: 'dance' } },
    ]) {
      expect((await admin.call({ method: 'POST', path: '/operation', json })).status).toBe(400);
    }
    expect(await readUnique(bench, 'overview')).toMatchObject({ info_led: 'off' });
  });
});
