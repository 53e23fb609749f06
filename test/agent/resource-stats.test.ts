import { expect, test, vi } from 'vitest';
import { ResourceStats } from '../../src/agent/stats/poll-stats.ts';
import { FleetExposition } from '../../src/exposition/index.ts';

const router = { name: 'plant-7', labels: {} };

test('ResourceStats renders no series anew when the logs are as they were, and takes the reason of a failure over', () => {
  const exposition = new FleetExposition();
  const stats = new ResourceStats(router, exposition);
  const publish = vi.spyOn(exposition, 'publish');
  const publishLive = vi.spyOn(exposition, 'publishLive');
  const published = () => [publish.mock.calls.length, publishLive.mock.calls.length];
  stats.recordOther('logs', 'failed', 'one reason');
  expect(published()).toEqual([1, 1]);
  stats.recordOther('logs', 'failed', 'another reason');
  expect(published()).toEqual([1, 1]);
  expect(stats.describe(0)).toMatchObject([{ resource: 'logs', state: 'failed', error: 'another reason' }]);
  stats.recordOther('logs', 'up', null);
  stats.recordOther('logs', 'up', null);
  expect(published()).toEqual([2, 2]);
  expect([...exposition.render('text', 0)].join('')).toContain(
    'router_resource_up{router="plant-7",resource="logs"} 1\n',
  );
});
