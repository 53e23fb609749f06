import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { RouterClient } from '../../src/client/index.ts';
import { RouterReadError } from '../../src/model/index.ts';
import { type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { ConfigurationReader, type ConfigurationSource } from '../../src/status/index.ts';

const START_MS = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 3_600_000;
const WANS = 'wan/wans';
const SNAT = 'netfilter/nat/snat';
const USERS = 'administration/users';
const LISTS = [WANS, SNAT, USERS];

/** An error as a source throws it. */
const refusal = (status: number) =>
  new RouterReadError('http', `answered with ${status}`, { disposition: 'skip', status, isAnswered: true });
const GONE = new RouterReadError('connect', 'The connection was lost', { disposition: 'retry' });

const entry = (description: string) => ({ uid: 'abc', index: 'x1', parameters: { description }, sublist: [] });
const content = (...descriptions: string[]) => ({
  profile: { name: 'Profile', modified: false },
  unique: {},
  list: descriptions.map(entry),
});

/** A router with lists; an error in the place of one is thrown. */
interface Bench {
  readonly clock: SteppedClock;
  readonly lists: Map<string, unknown>;
  /** `#` and the name for a count, the name alone for a content. */
  readonly asked: string[];
  reader: ConfigurationReader;
  /** One reading: entries and changes of each list, as `list entries/changes`. */
  read(configHash?: string): Promise<readonly string[]>;
  /** Goes on with a new reader, an hour later. */
  restart(previous?: string): void;
}

function createBench(lists: Record<string, unknown> = {}, previous?: string): Bench {
  const clock = createSteppedClock(START_MS);
  const all = new Map<string, unknown>(
    Object.entries({ [WANS]: content('a', 'b'), [SNAT]: content('c'), [USERS]: content(), ...lists }),
  );
  const asked: string[] = [];
  const answer = (name: string) => {
    const value = all.get(name);
    if (value instanceof Error) throw value;
    return value;
  };
  const source: ConfigurationSource = {
    async countEntries(resource) {
      asked.push(`#${resource}`);
      const value = answer(resource);
      return typeof value === 'number' ? value : (value as { list: unknown[] }).list.length;
    },
    async readConfiguration(resource) {
      asked.push(resource);
      return answer(resource);
    },
  };
  const open = (state?: string) => new ConfigurationReader({ source, clock, previous: state, lists: LISTS });
  const bench: Bench = {
    clock,
    lists: all,
    asked,
    reader: open(previous),
    async read(configHash) {
      asked.length = 0;
      const { families } = await bench.reader.read({ configHash }, new AbortController().signal);
      return renderFacts(families);
    },
    restart(state = bench.reader.state) {
      bench.reader = open(state);
    },
  };
  return bench;
}

function renderFacts(families: Awaited<ReturnType<ConfigurationReader['read']>>['families']): readonly string[] {
  const [entries, changes] = families;
  return (changes?.samples ?? []).map(({ labels, value }) => {
    const counted = entries?.samples.find(
      (sample) => sample.labels['section'] === labels['section'] && sample.labels['resource'] === labels['resource'],
    );
    return `${labels['section']}/${labels['resource']} ${counted?.value ?? '-'}/${value}`;
  });
}

const BASELINE = [`${WANS} 2/0`, `${SNAT} 1/0`, `${USERS} 0/0`];

describe('a first contact', () => {
  test('gives the entries of every list and a counter of 0 for each', async () => {
    const bench = createBench();
    const { families, faults } = await bench.reader.read({ configHash: 'h1' }, new AbortController().signal);
    expect(families.map(({ name, type }) => [name, type])).toEqual([
      ['router_config_entries', 'gauge'],
      ['router_config_changes_total', 'counter'],
    ]);
    expect(families[0]?.samples).toEqual([
      { labels: { section: 'wan', resource: 'wans' }, value: 2 },
      { labels: { section: 'netfilter', resource: 'nat/snat' }, value: 1 },
      { labels: { section: 'administration', resource: 'users' }, value: 0 },
    ]);
    expect(renderFacts(families)).toEqual(BASELINE);
    expect(faults).toEqual([]);
  });

  test('reads contents of a router with a hash, once each', async () => {
    const bench = createBench();
    await bench.read('h1');
    expect(bench.asked).toEqual(LISTS);
  });

  test('only counts entries of a router without a hash', async () => {
    const bench = createBench();
    expect(await bench.read()).toEqual(BASELINE);
    expect(bench.asked).toEqual(LISTS.map((name) => `#${name}`));
  });
});

describe('a hash that stays', () => {
  test('asks nothing and gives the same again', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(WANS, content('other'));
    expect(await bench.read('h1')).toEqual(BASELINE);
    expect(bench.asked).toEqual([]);
  });

  test('asks nothing after a restart either', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.restart();
    expect(await bench.read('h1')).toEqual(BASELINE);
    expect(bench.asked).toEqual([]);
  });
});

describe('a new hash', () => {
  test('counts a list whose content changed and no other', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(SNAT, content('C'));
    expect(await bench.read('h2')).toEqual([`${WANS} 2/0`, `${SNAT} 1/1`, `${USERS} 0/0`]);
    expect(await bench.read('h2')).toEqual([`${WANS} 2/0`, `${SNAT} 1/1`, `${USERS} 0/0`]);
  });

  test('counts entries that came, went or changed their places', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(WANS, content('b', 'a')).set(SNAT, content()).set(USERS, content('u'));
    expect(await bench.read('h2')).toEqual([`${WANS} 2/1`, `${SNAT} 0/1`, `${USERS} 1/1`]);
  });

  test('counts nothing when the content is the same in other words', async () => {
    const bench = createBench();
    await bench.read('h1');
    const [first, second] = content('a', 'b').list;
    const renamed = {
      index: 'x1',
      sublist: [],
      parameters: { description: 'b' },
      uid: 'def',
      list_uid: '1',
      sublist_uid: '2',
    };
    expect(second).toBeDefined();
    bench.lists.set(WANS, {
      list: [first, renamed],
      profile: { name: 'other', modified: true },
      unique: {},
      scheme: [1],
    });
    expect(await bench.read('h2')).toEqual(BASELINE);
  });

  test('counts what changed while the agent was down, and goes on counting', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(WANS, content('a', 'B'));
    await bench.read('h2');
    const saved = bench.reader.state;
    bench.lists.set(WANS, content('a', 'BB')).set(USERS, content('u'));
    bench.restart(saved);
    expect(await bench.read('h3')).toEqual([`${WANS} 2/2`, `${SNAT} 1/0`, `${USERS} 1/1`]);
  });

  test('of a router that had none compares numbers at first, and contents from then on', async () => {
    const bench = createBench();
    await bench.read();
    bench.lists.set(WANS, content('A', 'b')).set(USERS, content('u'));
    expect(await bench.read('h1')).toEqual([`${WANS} 2/0`, `${SNAT} 1/0`, `${USERS} 1/1`]);
    bench.lists.set(WANS, content('AA', 'b'));
    expect(await bench.read('h2')).toEqual([`${WANS} 2/1`, `${SNAT} 1/0`, `${USERS} 1/1`]);
  });
});

describe('a router without a hash', () => {
  test('has its entries counted each time, and a changed number is a change', async () => {
    const bench = createBench();
    await bench.read();
    bench.lists.set(WANS, content('a')).set(SNAT, content('C'));
    expect(await bench.read()).toEqual([`${WANS} 1/1`, `${SNAT} 1/0`, `${USERS} 0/0`]);
    expect(bench.asked).toHaveLength(3);
  });

  test('that says its hash again later does not count a change a second time', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(WANS, content('a', 'b', 'c'));
    expect((await bench.read())[0]).toBe(`${WANS} 3/1`);
    expect((await bench.read('h2'))[0]).toBe(`${WANS} 3/1`);
    bench.lists.set(WANS, content('a', 'b', 'C'));
    expect((await bench.read('h3'))[0]).toBe(`${WANS} 3/2`);
  });
});

describe('a look that breaks off', () => {
  test.for([0, 1, 2])(
    'before list %i neither loses nor doubles a change, and the next goes on there',
    async (position) => {
      const bench = createBench();
      await bench.read('h1');
      const changed = new Map<string, unknown>([
        [WANS, content('a', 'B')],
        [SNAT, content('C')],
        [USERS, content('u')],
      ]);
      for (const [name, list] of changed) bench.lists.set(name, list);
      const broken = LISTS[position] ?? '';
      bench.lists.set(broken, GONE);
      await expect(bench.read('h2')).rejects.toBe(GONE);
      bench.lists.set(broken, changed.get(broken));
      expect(await bench.read('h2')).toEqual([`${WANS} 2/1`, `${SNAT} 1/1`, `${USERS} 1/1`]);
      expect(bench.asked).toEqual(LISTS.slice(position));
      expect(await bench.read('h2')).toEqual([`${WANS} 2/1`, `${SNAT} 1/1`, `${USERS} 1/1`]);
      expect(bench.asked).toEqual([]);
    },
  );

  test('and a restart after it neither lose nor double a change', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(WANS, content('a', 'B')).set(SNAT, GONE).set(USERS, content('u'));
    await expect(bench.read('h2')).rejects.toBe(GONE);
    bench.restart();
    bench.lists.set(SNAT, content('c'));
    expect(await bench.read('h2')).toEqual([`${WANS} 2/1`, `${SNAT} 1/0`, `${USERS} 1/1`]);
    expect(bench.asked).toEqual(LISTS);
  });

  test('ends with the first list for which the router asks to wait, and goes on with that one', async () => {
    const bench = createBench();
    await bench.read('h1');
    const busy = new RouterReadError('http', 'answered with 429', {
      disposition: 'retry',
      status: 429,
      isAnswered: true,
      retryAfterMs: 30_000,
    });
    bench.lists.set(SNAT, busy);
    await expect(bench.read('h2')).rejects.toBe(busy);
    expect(bench.asked).toEqual([WANS, SNAT]);
    bench.lists.set(SNAT, content('c', 'd'));
    expect(await bench.read('h2')).toEqual([`${WANS} 2/0`, `${SNAT} 2/1`, `${USERS} 0/0`]);
    expect(bench.asked).toEqual([SNAT, USERS]);
  });

  test('reads again what it had read when the hash is another one by then', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(SNAT, GONE);
    await expect(bench.read('h2')).rejects.toBe(GONE);
    bench.lists.set(SNAT, content('c')).set(WANS, content('a', 'B'));
    expect(await bench.read('h3')).toEqual([`${WANS} 2/1`, `${SNAT} 1/0`, `${USERS} 0/0`]);
  });

  test('goes on where it stopped without a hash as well', async () => {
    const bench = createBench();
    bench.lists.set(USERS, GONE);
    await expect(bench.read()).rejects.toBe(GONE);
    bench.lists.set(USERS, content());
    expect(await bench.read()).toEqual(BASELINE);
    expect(bench.asked).toEqual([`#${USERS}`]);
    await bench.read();
    expect(bench.asked).toHaveLength(3);
  });
});

describe('a list that is refused', () => {
  test.for([404, 400, 403])('with %i has no series, and is asked for again after a day', async (status) => {
    const bench = createBench({ [SNAT]: refusal(status) });
    expect(await bench.read('h1')).toEqual([`${WANS} 2/0`, `${USERS} 0/0`]);
    await bench.clock.advance(24 * HOUR_MS - 1);
    await bench.read('h1');
    expect(bench.asked).toEqual([]);
    bench.restart();
    bench.lists.set(SNAT, content('c', 'd'));
    await bench.clock.advance(1);
    expect(await bench.read('h1')).toEqual([`${WANS} 2/0`, `${SNAT} 2/0`, `${USERS} 0/0`]);
    expect(bench.asked).toEqual([SNAT]);
    bench.lists.set(SNAT, content('c', 'D'));
    expect((await bench.read('h2'))[1]).toBe(`${SNAT} 2/1`);
  });

  test('is asked for again at once when the hash is a new one', async () => {
    const bench = createBench({ [SNAT]: refusal(404) });
    await bench.read('h1');
    bench.lists.set(SNAT, content('c'));
    expect(await bench.read('h2')).toEqual(BASELINE);
  });

  test('is asked for once a day by a router without a hash', async () => {
    const bench = createBench({ [SNAT]: refusal(404) });
    await bench.read();
    await bench.clock.advance(HOUR_MS);
    await bench.read();
    expect(bench.asked).toEqual([`#${WANS}`, `#${USERS}`]);
    await bench.clock.advance(23 * HOUR_MS);
    await bench.read();
    expect(bench.asked).toContain(`#${SNAT}`);
  });

  test('is asked for again when the clock has been set back by more than a day', async () => {
    const bench = createBench({ [SNAT]: refusal(404) });
    await bench.read('h1');
    bench.clock.jump(-HOUR_MS);
    await bench.read('h1');
    expect(bench.asked).toEqual([SNAT]);
  });

  test('keeps its counter, and goes on with it when it comes back', async () => {
    const bench = createBench();
    await bench.read('h1');
    bench.lists.set(SNAT, content('C'));
    await bench.read('h2');
    bench.lists.set(SNAT, refusal(404));
    expect((await bench.read('h3'))[1]).toBe(`${SNAT} -/1`);
    bench.lists.set(SNAT, content('C'));
    expect((await bench.read('h4'))[1]).toBe(`${SNAT} 1/1`);
    await bench.clock.advance(2 * HOUR_MS);
    bench.lists.set(SNAT, content('CC'));
    expect((await bench.read('h5'))[1]).toBe(`${SNAT} 1/2`);
  });

  test('with all others makes the reading fail with what the router said', async () => {
    const missing = refusal(404);
    const bench = createBench({ [WANS]: missing, [SNAT]: refusal(404), [USERS]: refusal(404) });
    await expect(bench.read('h1')).rejects.toBe(missing);
  });

  test('for want of rights before any other has answered makes the reading fail at once', async () => {
    const forbidden = refusal(403);
    const bench = createBench({ [WANS]: refusal(404), [SNAT]: forbidden });
    await expect(bench.read('h1')).rejects.toBe(forbidden);
    expect(bench.asked).toEqual([WANS, SNAT]);
  });
});

describe('a list that the router could not give', () => {
  test('is a fault, harms no other, and is asked for again within the hour', async () => {
    const bench = createBench({ [SNAT]: refusal(500) });
    const { families, faults } = await bench.reader.read({ configHash: 'h1' }, new AbortController().signal);
    expect(renderFacts(families)).toEqual([`${WANS} 2/0`, `${USERS} 0/0`]);
    expect(faults).toEqual([{ module: 'configuration', metric: 'router_config_entries', reason: 'unknown_form' }]);
    await bench.clock.advance(HOUR_MS);
    bench.lists.set(SNAT, content('c'));
    expect(await bench.read('h1')).toEqual(BASELINE);
    expect(bench.asked).toEqual([SNAT]);
  });

  test.for([-1, 1.5, Number.NaN])('is one whose number is %d', async (count) => {
    const bench = createBench({ [SNAT]: count });
    const { faults } = await bench.reader.read({ configHash: undefined }, new AbortController().signal);
    expect(faults).toHaveLength(1);
  });
});

describe('a hash that is new at every look', () => {
  test('is met with numbers, and with contents less and less often, at least once a day', async () => {
    const bench = createBench();
    const contentsAt: number[] = [];
    for (let hour = 0; hour < 120; hour++) {
      expect(await bench.read(`h${hour}`)).toEqual(BASELINE);
      if (bench.asked[0] === WANS) contentsAt.push(hour);
      else expect(bench.asked).toEqual(LISTS.map((name) => `#${name}`));
      await bench.clock.advance(HOUR_MS);
    }
    expect(contentsAt).toEqual([0, 1, 2, 4, 8, 16, 32, 56, 80, 104]);
  });

  test('still shows a changed number at once and a changed content later, each once', async () => {
    const bench = createBench();
    for (let hour = 0; hour <= 8; hour++) {
      await bench.read(`h${hour}`);
      await bench.clock.advance(HOUR_MS);
    }
    bench.lists.set(WANS, content('a', 'b', 'c')).set(SNAT, content('C'));
    expect(await bench.read('h9')).toEqual([`${WANS} 3/1`, `${SNAT} 1/0`, `${USERS} 0/0`]);
    await bench.clock.advance(7 * HOUR_MS);
    expect(await bench.read('h16')).toEqual([`${WANS} 3/1`, `${SNAT} 1/1`, `${USERS} 0/0`]);
  });

  test('is taken seriously again once it has stayed', async () => {
    const bench = createBench();
    for (let hour = 0; hour < 8; hour++) {
      await bench.read(`h${hour}`);
      await bench.clock.advance(HOUR_MS);
    }
    await bench.read('h7');
    bench.lists.set(SNAT, content('C'));
    expect((await bench.read('h8'))[1]).toBe(`${SNAT} 1/1`);
  });
});

describe('the state', () => {
  test('holds neither values nor the hash of the router, and differs for equal routers', async () => {
    const secret = 'psk-4711';
    const [one, other] = [createBench({ [WANS]: content(secret) }), createBench({ [WANS]: content(secret) })];
    await one.read('hash-of-router');
    await other.read('hash-of-router');
    expect(one.reader.state).not.toContain(secret);
    expect(one.reader.state).not.toContain('hash-of-router');
    const digestOf = ({ reader }: Bench): unknown => JSON.parse(reader.state).lists[WANS].digest;
    expect(digestOf(one)).toMatch(/^[0-9a-f]{8}$/);
    expect(digestOf(one)).not.toBe(digestOf(other));
  });

  test('that is anything else is a first contact', async () => {
    const valid = createBench();
    await valid.read('h1');
    const state = JSON.parse(valid.reader.state);
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      '7',
      '{"version":1}',
      JSON.stringify({ ...state, version: 2 }),
      JSON.stringify({ ...state, key: 'x' }),
    ]) {
      const bench = createBench({}, text);
      expect(await bench.read('h1')).toEqual(BASELINE);
      expect(bench.asked).toEqual(LISTS);
    }
  });

  test('may hold nonsense in any place without a throw or a broken series', async () => {
    const valid = createBench();
    await valid.read('h1');
    const state = JSON.parse(valid.reader.state);
    const nonsense = fc.oneof(fc.jsonValue(), fc.constant(-1), fc.constant(1e300));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('count', 'digest', 'changes', 'asideUntilMs'),
        nonsense,
        nonsense,
        async (field, value, lists) => {
          const damaged = { ...state, lists: { ...state.lists, [WANS]: { ...state.lists[WANS], [field]: value } } };
          for (const text of [
            JSON.stringify(damaged),
            JSON.stringify({ ...state, lists }),
            JSON.stringify({ ...state, hash: value, vainLooks: value, contentsReadMs: value }),
          ]) {
            const facts = await createBench({}, text).read('h2');
            expect(facts).toHaveLength(3);
            for (const fact of facts) expect(fact).toMatch(/^[\w/]+ \d+\/\d+$/);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('takes any answer for a content', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (body) => {
        const bench = createBench({ [WANS]: body });
        const [first] = await bench.read('h1');
        expect(first).toMatch(/^wan\/wans \d+\/0$/);
        expect((await bench.read('h2'))[0]).toBe(first);
      }),
      { numRuns: 50 },
    );
    let deep: unknown = 'end';
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];
    expect((await createBench({ [WANS]: { list: [deep] } }).read('h1'))[0]).toBe(`${WANS} 1/0`);
  });
});

test('without a choice of lists each one that is known is read once, by section and resource', async () => {
  const asked: string[] = [];
  const countEntries = async (resource: string) => asked.push(resource);
  const readConfiguration = () => Promise.reject(GONE);
  const clock = createSteppedClock(START_MS);
  const reader = new ConfigurationReader({ source: { countEntries, readConfiguration }, clock });
  await reader.read({ configHash: undefined }, new AbortController().signal);
  expect(new Set(asked).size).toBe(asked.length);
  for (const name of asked) expect(name).toMatch(/^[a-z]+(\/[a-z_]+)+$/);
  expect(asked).toEqual(expect.arrayContaining(['interfaces/wireguard', 'administration/update']));
  expect(asked).not.toContain('administration/time');
});

describe('a simulated router', () => {
  const clock = createSteppedClock(START_MS);
  let simulator: Simulator;
  let client: RouterClient;
  let source: ConfigurationSource;
  let asked = 0;

  beforeAll(async () => {
    simulator = await startSimulator({ routers: 1, clock, seed: 3 });
    client = connect('admin');
    source = toSource(client);
  });
  afterAll(async () => {
    await client.close(AbortSignal.abort()).catch(() => {});
    await simulator.close();
  });

  const connect = (username: string) =>
    new RouterClient({
      url: simulator.routers[0]?.url ?? '',
      username,
      password: 'simulated',
      tls: { caPem: simulator.caPem },
      clock,
    });
  const toSource = ({ configuration }: RouterClient): ConfigurationSource => ({
    countEntries: (resource, signal) => {
      asked++;
      return configuration.countEntries(resource, {}, signal);
    },
    readConfiguration: (resource, signal) => {
      asked++;
      return configuration.read(resource, {}, signal);
    },
  });
  const readHash = async () => {
    const body = (await client.readStatus('sysdetail/system')) as { status: { unique: { hash: string } } };
    return body.status.unique.hash;
  };
  /** `list entries/changes` of the lists whose counter is not 0. */
  const readChanged = async (reader: ConfigurationReader) => {
    asked = 0;
    const { families } = await reader.read({ configHash: await readHash() }, new AbortController().signal);
    return renderFacts(families).filter((fact) => !fact.endsWith('/0'));
  };

  test('has the lists that both the facts and the simulator know, and exactly what is changed counts', async () => {
    const reader = new ConfigurationReader({ source, clock });
    const { families, faults } = await reader.read({ configHash: await readHash() }, new AbortController().signal);
    const names = renderFacts(families).map((fact) => fact.split(' ')[0] ?? '');
    expect(faults).toEqual([]);
    expect(names.toSorted()).toEqual(
      [
        ...['container', 'hostnames', 'users'].map((name) => `administration/${name}`),
        ...['contacts', 'event_config', 'messages', 'timer'].map((name) => `events/${name}`),
        ...['ip_nets', 'ipsec', 'openvpn', 'wireguard'].map((name) => `interfaces/${name}`),
        ...['ip_filter', 'nat/dnat', 'nat/snat'].map((name) => `netfilter/${name}`),
        ...['routing/static_routes', 'services/dhcp_server', 'services/dns', 'wan/wans'],
      ].toSorted(),
    );
    for (const fact of renderFacts(families)) {
      const [name = '', numbers] = fact.split(' ');
      expect([name, numbers]).toEqual([name, `${await client.configuration.countEntries(name)}/0`]);
    }
    expect(await readChanged(reader)).toEqual([]);
    expect(asked).toBe(0);

    const [rule] = (await client.configuration.read('netfilter/ip_filter')).list;
    const changed = { list_uid: rule?.uid ?? '', parameters: { description: 'changed' } };
    await client.configuration.changeEntries('netfilter/ip_filter', [changed], { activate: true });
    expect(await readChanged(reader)).toEqual(['netfilter/ip_filter 3/1']);

    const parameters = { name: 'night shift', email: 'night@example.com' };
    await client.configuration.addEntries('events/contacts', [{ parameters }], { activate: true });
    expect(await readChanged(reader)).toEqual(['netfilter/ip_filter 3/1', 'events/contacts 2/1']);

    await client.configuration.changeParameters('administration/hostnames', { location: 'x' }, { activate: true });
    expect(await readChanged(reader)).toEqual([
      'netfilter/ip_filter 3/1',
      'events/contacts 2/1',
      'administration/hostnames 1/1',
    ]);
  });

  test('that gives no rights makes the reading fail with status 403 after one request', async () => {
    await using status = connect('status');
    const reader = new ConfigurationReader({ source: toSource(status), clock });
    asked = 0;
    await expect(reader.read({ configHash: 'h' }, new AbortController().signal)).rejects.toMatchObject({ status: 403 });
    expect(asked).toBe(1);
  });
});
