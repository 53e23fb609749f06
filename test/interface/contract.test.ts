import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSteppedClock, type SteppedClock } from '../../src/base/index.ts';
import { equals, MANUAL_ACTION_TYPES, type ManualAction, RouterClient } from '../../src/client/index.ts';
import { describeInterface, type SimulatedRouter, type Simulator, startSimulator } from '../../src/simulator/index.ts';
import { type Exchange, type OpenApiContract, openOpenApiContract } from '../support/openapi-contract.ts';
import { MINUTE_MS, START_MS } from './bench.ts';
import { performed } from './performed.ts';

/** A description of a real device, if available; none is part of this project. */
const file = process.env['ICOM_OPENAPI'];

const API_ROOT = '/api/v2_0';
const WANS = 'wan/wans';
const USERS = 'administration/users';
const EMAIL = 'events/email_account';
const NETS = 'interfaces/ip_nets';
const MESSAGES = 'events/messages';

/**
 * Where the interface document promises what the description of icom OS 9.5 does not list, the document counts: the
 * findings that come of it, and where it says so.
 */
const PROMISED: readonly (readonly [finding: RegExp, where: string])[] = [
  [
    /^(?:POST|PUT) \/configuration\/\S+: the query parameter profile is not described$/,
    'Endpoints: POST and PUT take profile',
  ],
  [/^DELETE \/configuration\/wan\/wans: the query parameter delete\b/, 'Rule 10: delete=interface'],
  [/^GET \/configuration\/\S+: answer\/config must NOT have additional properties: list_size$/, 'Rule 4: list_size'],
  [/^GET \/configuration\/\S+: answer must NOT have additional properties: scheme$/, 'Rule 5: scheme'],
];

/** What the client and, where it has no method of its own, any caller asks of a router: one operation after the other. */
interface World {
  readonly client: RouterClient;
  readonly router: SimulatedRouter;
  readonly clock: SteppedClock;
}

type Step = readonly [name: string, run: (world: World) => Promise<unknown>];

const uidOf = async ({ client }: World, resource: string, position = 0) =>
  (await client.configuration.read(resource)).list[position]?.uid ?? '';
const drop = async (body: AsyncIterable<Uint8Array>) => void (await Array.fromAsync(body));
const failing = (call: Promise<unknown>) => call.catch(() => {});

const steps: readonly Step[] = [
  [
    'login, refresh and logout',
    async ({ client, clock }) => {
      await client.logIn();
      await clock.advance(4.5 * MINUTE_MS);
      await client.listProfiles();
      await client.close();
    },
  ],
  [
    'a login with a wrong password',
    ({ router }) => {
      const client = new RouterClient({ url: router.url, username: 'admin', password: 'wrong' });
      return failing(client.logIn());
    },
  ],
  ...[
    'overview',
    'status_summary',
    'device_info',
    'device_features',
    'sysdetail/system',
    'sysdetail/ip_addresses',
    'sysdetail/dhcp_leases',
    'sysdetail/init_services',
    'sysdetail/container',
    'sysdetail/cert_enrollment',
    'sysstat/wan',
    'sysstat/lan',
    'ethernet1',
    'ethernet3',
    'lte2',
    'lte2/providers',
    'power2',
  ].map((resource): Step => [`status ${resource}`, ({ client }) => client.readStatus(resource)]),
  ['list of logs', ({ client }) => client.listLogs()],
  [
    'a log',
    ({ client, router }) => {
      router.appendLog('events', 'one');
      return client.readLog('events/current', new AbortController().signal, drop);
    },
  ],
  [
    'a log that does not exist',
    ({ client }) => failing(client.readLog('events/none', new AbortController().signal, drop)),
  ],
  ['list of profiles', ({ client }) => client.listProfiles()],
  ...(['binary', 'ascii'] as const).map(
    (format): Step => [
      `download of a profile, ${format}`,
      ({ client }) => client.downloadProfile('Profile', { format }, drop),
    ],
  ),
  [
    'making, comparing, renaming, activating and deleting profiles',
    async ({ client }) => {
      const profiles = [
        { name: 'a', template: 'stored_profile', stored_profile_name: 'Profile' },
        { name: 'b', template: 'default_profile' },
      ];
      await client.call({ method: 'POST', path: '/profiles', json: { profiles } });
      await client.call({ method: 'GET', path: '/profiles/compare', query: { profile_left: 'a', profile_right: 'b' } });
      await client.call({
        method: 'PUT',
        path: '/profiles/rename',
        json: { profiles: [{ old_name: 'a', new_name: 'c' }] },
      });
      await client.call({ method: 'PUT', path: '/profiles/activate', json: { profile: 'c' } });
      await client.call({ method: 'DELETE', path: '/profiles', query: { profile_list: 'Profile,b' } });
    },
  ],
  ...[
    USERS,
    WANS,
    EMAIL,
    NETS,
    MESSAGES,
    'administration/webinterface',
    'administration/hostnames',
    'administration/time',
    'administration/container',
    'interfaces/lte2',
    'interfaces/ipsec',
    'interfaces/openvpn',
    'interfaces/wireguard',
    'routing/static_routes',
    'netfilter/ip_filter',
    'netfilter/nat/dnat',
    'netfilter/nat/snat',
    'services/dhcp_server',
    'events/contacts',
    'events/timer',
  ].map((resource): Step => [`configuration ${resource}`, ({ client }) => client.configuration.read(resource)]),
  [
    'a profile, a filter, a count and a scheme',
    async ({ client: { configuration } }) => {
      const filter = [equals('username', ['admin', 'monitor'])];
      await configuration.read(USERS, { profile: 'Profile', filter, appendScheme: true });
      await configuration.countEntries(USERS, { filter });
    },
  ],
  ['a profile that does not exist', ({ client }) => failing(client.configuration.read(USERS, { profile: 'none' }))],
  [
    'adding an entry',
    ({ client: { configuration } }) =>
      configuration.addEntries(MESSAGES, [{ parameters: { name: 'message7' } }], {
        profile: 'Profile',
        activate: true,
      }),
  ],
  [
    'adding an entry with a sublist',
    ({ client: { configuration } }) =>
      configuration.addEntries(WANS, [
        {
          parameters: { description: 'third' },
          sublist: [{ interface: 'net3', check_interval: '0', check_type: 'link', check_fail_wan: '---' }],
        },
      ]),
  ],
  [
    'adding to a sublist',
    async (world) =>
      world.client.configuration.addSublistEntries(WANS, await uidOf(world, WANS), [
        { interface: 'net3', check_interval: '3600' },
      ]),
  ],
  [
    'changing an entry',
    async (world) =>
      world.client.configuration.changeEntries(WANS, [
        { list_uid: await uidOf(world, WANS), parameters: { description: 'x' } },
      ]),
  ],
  [
    'changing an entry of a sublist',
    async (world) => {
      const [entry] = (await world.client.configuration.read(WANS)).list;
      const sublist = [{ sublist_uid: entry?.sublist[0]?.uid ?? '', parameters: { check_interval: '5' } }];
      await world.client.configuration.changeEntries(WANS, [{ list_uid: entry?.uid ?? '', sublist }]);
    },
  ],
  [
    'changing an entry by its index',
    ({ client: { configuration } }) =>
      configuration.changeEntries(USERS, [{ index: 'user2', parameters: { active: '0' } }]),
  ],
  [
    'changing parameters',
    ({ client: { configuration } }) =>
      configuration.changeParameters(EMAIL, { port: '587' }, { profile: 'Profile', activate: true }),
  ],
  [
    'a profile in the query of POST and PUT',
    async ({ client: { configuration } }) => {
      const choice = { profile: 'Profile', profileIn: 'query' } as const;
      await configuration.changeParameters(EMAIL, { port: '26' }, choice);
      await configuration.addEntries(MESSAGES, [{ parameters: {} }], choice);
    },
  ],
  [
    'a value that is refused',
    ({ client: { configuration } }) =>
      failing(configuration.changeEntries(USERS, [{ index: 'user2', parameters: { active: '7' } }])),
  ],
  [
    'deleting an entry',
    ({ client: { configuration } }) =>
      configuration.deleteEntries(USERS, { filter: [equals('username', 'status')], profile: 'Profile' }),
  ],
  ['deleting all entries', ({ client: { configuration } }) => configuration.deleteEntries(MESSAGES, { filter: 'all' })],
  ...['sublist', 'interface'].map(
    (field): Step => [
      `deleting from sublists by ${field}`,
      ({ client: { configuration } }) =>
        configuration.deleteEntries(WANS, { filter: [equals('interface', 'lte2')], field }),
    ],
  ),
  ...MANUAL_ACTION_TYPES.map(
    (type): Step => [
      `action ${type}`,
      ({ client }) => client.performAction({ type, options: performed[type][0] } as ManualAction),
    ],
  ),
  ['restart', ({ client }) => client.call({ method: 'POST', path: '/reboot' })],
  ['deletion of the logs', ({ client }) => client.call({ method: 'POST', path: '/reset', json: { logs: true } })],
];

let fleet: { readonly simulator: Simulator; readonly clock: SteppedClock };
beforeAll(async () => {
  const clock = createSteppedClock(START_MS);
  // An MRX5 with digital, analogue and serial cards does not exist; the actions on absent cards are still accepted.
  fleet = { clock, simulator: await startSimulator({ routers: 1, clock, seed: 3, plainHttp: true }) };
});
afterAll(() => fleet.simulator.close());

/** Carries out a step on a fresh router and returns what crossed the wire. */
async function record([, run]: Step): Promise<readonly Exchange[]> {
  const [router] = fleet.simulator.routers;
  if (!router) throw new RangeError('There is no router');
  await router.factoryReset();
  const exchanges: Exchange[] = [];
  const forward = async (request: IncomingMessage, response: ServerResponse) => {
    const requestBody = await readText(request);
    const { method = 'GET', url = '/', headers } = request;
    const answer = await fetch(`${router.url}${url}`, {
      method,
      headers: { ...(headers.authorization && { authorization: headers.authorization }) },
      ...(requestBody !== '' && { body: requestBody }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const { pathname, searchParams } = new URL(url, 'http://x');
    const contentType = answer.headers.get('content-type') ?? undefined;
    exchanges.push({
      method,
      path: decodeURIComponent(pathname.slice(API_ROOT.length)),
      query: [...searchParams],
      requestBody: requestBody === '' ? undefined : requestBody,
      status: answer.status,
      contentType,
      body,
    });
    response.writeHead(answer.status, contentType === undefined ? {} : { 'Content-Type': contentType }).end(body);
  };
  const proxy = createServer((request, response) => void forward(request, response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const client = new RouterClient({ url, username: 'admin', password: 'simulated', clock: fleet.clock });
  try {
    await run({ client, router: withUrl(router, url), clock: fleet.clock });
  } finally {
    await client.close(AbortSignal.abort()).catch(() => {});
    proxy.closeAllConnections();
    proxy.close();
  }
  return exchanges;
}

/** The router, as if it were reached at another address. */
function withUrl(router: SimulatedRouter, url: string): SimulatedRouter {
  return new Proxy(router, {
    get: (target, name) => {
      if (name === 'url') return url;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function readText(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString('utf8');
}

/** What a description does not allow, each once and with its operation. */
function findIn(contract: OpenApiContract, exchanges: readonly Exchange[]): string[] {
  const findings = exchanges.flatMap((exchange) =>
    contract.check(exchange).map((finding) => `${exchange.method} ${exchange.path}: ${finding}`),
  );
  return [...new Set(findings)];
}

const isPromised = (finding: string) => PROMISED.some(([pattern]) => pattern.test(finding));

describe('the description of simulated routers', async () => {
  const contract = await openOpenApiContract(describeInterface());

  test.for(steps)('allows what crosses the wire: %s', async (step) => {
    const exchanges = await record(step);
    expect(exchanges.length).toBeGreaterThan(0);
    expect(findIn(contract, exchanges)).toEqual([]);
  });
});

describe.skipIf(file === undefined)('the description in ICOM_OPENAPI', async () => {
  const contract = file === undefined ? undefined : await openOpenApiContract(JSON.parse(readFileSync(file, 'utf8')));

  test.for(steps)('allows what crosses the wire: %s', async (step) => {
    const findings = contract ? findIn(contract, await record(step)) : ['there is no description'];
    expect(findings.filter((finding) => !isPromised(finding))).toEqual([]);
  });

  // One that is never needed would hide a mistake.
  test('needs every finding that is left out', async () => {
    const found: string[] = [];
    for (const step of steps) found.push(...(contract ? findIn(contract, await record(step)) : []));
    const needless = PROMISED.filter(([pattern]) => !found.some((finding) => pattern.test(finding)));
    expect(needless.map(([, where]) => where)).toEqual([]);
  });
});

describe('a mistake on the wire that both sides share', async () => {
  const contract = await openOpenApiContract(describeInterface());

  test.for<readonly [what: string, step: string, change: (exchange: Exchange) => Partial<Exchange>, finding: string]>([
    [
      'the client names a field in another way',
      'action network_tool',
      ({ requestBody }) => ({ requestBody: requestBody?.replace('"network_tool":', '"name":') }),
      'POST /operation: request/params/options must NOT have additional properties: name',
    ],
    [
      'the client sends a number as a number',
      'changing parameters',
      ({ requestBody }) => ({ requestBody: requestBody?.replace('"587"', '587') }),
      'PUT /configuration/events/email_account: request/config/unique/port must be string',
    ],
    [
      'the client asks with another parameter',
      'a profile that does not exist',
      ({ query }) => ({ status: 200, query: query.map(([, value]) => ['profil', value]) }),
      'GET /configuration/administration/users: the query parameter profil is not described',
    ],
    [
      'the router answers with another type',
      'list of profiles',
      ({ body }) => ({ body: replaceIn(body, /"modified":(true|false)/, '"modified":"$1"') }),
      'GET /profiles: answer/profiles/0/modified must be boolean',
    ],
    [
      'the router answers with another field',
      'list of logs',
      ({ body }) => ({ body: replaceIn(body, '"log_files"', '"files"') }),
      'GET /download/log: answer must NOT have additional properties: files',
    ],
    [
      'the router answers with another status',
      'adding an entry',
      () => ({ status: 204 }),
      'POST /configuration/events/messages: the status 204 is not described',
    ],
  ])('is reported: %s', async ([_what, name, change, finding]) => {
    const step = steps.find(([one]) => one === name) ?? expect.fail('there is no such step');
    const exchanges = await record(step);
    expect(findIn(contract, exchanges)).toEqual([]);
    const [operation = ''] = finding.split(':', 1);
    const changed = exchanges.map((exchange) =>
      `${exchange.method} ${exchange.path}` === operation ? { ...exchange, ...change(exchange) } : exchange,
    );
    expect(findIn(contract, changed)).toContain(finding);
  });
});

function replaceIn(body: Buffer, what: string | RegExp, by: string): Buffer {
  return Buffer.from(body.toString().replace(what, by));
}

describe('a mistake in client or simulator', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests reach into the middle of it.
  type AnyDescription = any;
  const find = async (stepName: string, spoil: (description: AnyDescription) => unknown) => {
    const description = structuredClone(describeInterface());
    spoil(description);
    const step = steps.find(([name]) => name === stepName);
    return step ? findIn(await openOpenApiContract(description), await record(step)) : ['there is no such step'];
  };
  const actionOf = (description: AnyDescription, type: string) =>
    description.components.schemas[`Action.${type}`].properties.options;
  const entryOf = (description: AnyDescription, method: string) =>
    description.paths['/configuration/wan/wans'][method].requestBody.content['application/json'].schema.properties
      .config.properties.list.items;

  test.for<readonly [what: string, step: string, spoil: (description: AnyDescription) => unknown, finding: string]>([
    [
      'in an operation that the device does not have',
      'adding an entry',
      ({ paths }) => delete paths['/configuration/events/messages'].post,
      'POST /configuration/events/messages: the operation is not described',
    ],
    [
      'in the name of an option',
      'action network_tool',
      (description) => {
        const options = actionOf(description, 'network_tool');
        options.properties = { name: options.properties.network_tool };
        options.required = ['name'];
      },
      'POST /operation: request/params/options must NOT have additional properties: network_tool',
    ],
    [
      'in the bound of a number that is a text',
      'action sleep',
      (description) => {
        actionOf(description, 'sleep').properties.hours = { type: 'string', minimum: 0, maximum: 22, multipleOf: 1 };
      },
      'POST /operation: request/params/options/hours must pass "numberText" keyword validation',
    ],
    [
      'in the name of a query parameter',
      'making, comparing, renaming, activating and deleting profiles',
      ({ paths }) => (paths['/profiles'].delete.parameters[0].name = 'profile'),
      'DELETE /profiles: the query parameter profile_list is not described',
    ],
    [
      'in what a request must carry',
      'changing an entry of a sublist',
      (description) => entryOf(description, 'put').anyOf[0].required.push('name'),
      "PUT /configuration/wan/wans: request/config/list/0 must have required property 'name'",
    ],
    [
      'in what names an entry',
      'adding to a sublist',
      (description) => {
        entryOf(description, 'post').anyOf.pop();
        delete entryOf(description, 'post').anyOf[0].additionalProperties;
      },
      'POST /configuration/wan/wans: request/config/list/0 must NOT be valid',
    ],
    [
      'in the choices of a value',
      'adding an entry with a sublist',
      (description) => {
        const [entry] = entryOf(description, 'post').anyOf;
        entry.properties.sublist.items.properties.check_type.enum = ['none', 'dns', 'ping'];
      },
      'POST /configuration/wan/wans: request/config/list/0/sublist/0/check_type must be equal to one of the allowed values: none, dns, ping, ',
    ],
    [
      'in the type of an answer',
      'list of profiles',
      ({ components }) => (components.schemas.ProfileFlags.properties.modified = { type: 'string' }),
      'GET /profiles: answer/profiles/0/modified must be string',
    ],
    [
      'in a field of an answer',
      'list of logs',
      ({ paths }) => {
        const { schema } = paths['/download/log'].get.responses[200].content['application/json'];
        schema.properties = { files: schema.properties.log_files };
        schema.required = [];
      },
      'GET /download/log: answer must NOT have additional properties: log_files',
    ],
    [
      'in a status',
      'adding to a sublist',
      ({ paths }) => {
        const { responses } = paths['/configuration/wan/wans'].post;
        responses[200] = responses[201];
        delete responses[201];
      },
      'POST /configuration/wan/wans: the status 201 is not described',
    ],
    [
      'in a body that the device does not take',
      'deletion of the logs',
      ({ paths }) => delete paths['/reset'].post.requestBody,
      'POST /reset: a body of the request is not described',
    ],
  ])('is reported: %s', async ([_what, step, spoil, finding]) => {
    expect(await find(step, spoil)).toContain(finding);
    // Not one of those that the interface document explains away.
    expect(isPromised(finding)).toBe(false);
  });
});
