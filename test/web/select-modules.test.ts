import { expect, test } from 'vitest';
import type { MetricsScope } from '../../src/web/index.ts';
import { ask } from './bench.ts';

async function askFor(path: string) {
  const scopes: MetricsScope[] = [];
  const answer = await ask(path, {
    content: {
      renderMetrics(_format, scope) {
        scopes.push(scope);
        return [];
      },
    },
  });
  return { ...answer, scopes };
}

test.for([
  ['/metrics?collect[]=modem', { kind: 'all', modules: ['modem'] }],
  ['/metrics?collect%5B%5D=modem&collect%5B%5D=system', { kind: 'all', modules: ['modem', 'system'] }],
  ['/metrics?module=modem,system', { kind: 'all', modules: ['modem', 'system'] }],
  ['/probe?target=plant-7&module=modem', { kind: 'router', router: 'plant-7', modules: ['modem'] }],
  ['/probe?target=plant-7&collect[]=system', { kind: 'router', router: 'plant-7', modules: ['system'] }],
  ['/metrics?collect[]=modem&collect[]=modem', { kind: 'all', modules: ['modem', 'modem'] }],
  [
    '/probe?target=plant-7&collect[]=modem&module=system',
    { kind: 'router', router: 'plant-7', modules: ['modem', 'system'] },
  ],
  ['/metrics', { kind: 'all' }],
  ['/metrics?_=17', { kind: 'all' }],
] as const)('GET %s selects %j', async ([path, scope]) => {
  const { status, scopes } = await askFor(path);
  expect([status, scopes]).toEqual([200, [scope]]);
});

test.for([
  '/metrics?collect[]=modme',
  '/metrics?collect[]=',
  '/metrics?module=modem&module=constructor',
  '/probe?target=plant-7&module=<b>',
  '/probe?target=plant-7&collect[]=modme',
  '/probe?target=plant-7&module=modem&module=modme',
])('GET %s is refused with the names that there are', async (path) => {
  const { status, text, scopes } = await askFor(path);
  expect([status, text]).toEqual([400, 'Unknown module. Modules: modem, system\n']);
  expect(scopes).toEqual([]);
});

test.for([
  ['/metrics?target=plant-7', 'target'],
  ['/metrics?fresh=1', 'fresh'],
  ['/metrics?exclude[]=modem', 'exclude[]'],
  ['/metrics?name[]=router_up', 'name[]'],
  ['/metrics?collect=modem', 'collect'],
  ['/metrics/agent?collect[]=modem', 'collect[]'],
  ['/metrics/agent?module=modem', 'module'],
  ['/probe?target=plant-7&exclude[]=modem', 'exclude[]'],
] as const)('GET %s is refused, because "%s" would be ignored', async ([path, key]) => {
  const { status, text, scopes } = await askFor(path);
  expect([status, text]).toMatchObject([400, expect.stringContaining(`The parameter "${key}" is not supported`)]);
  expect(scopes).toEqual([]);
});
