import { expect, test } from 'vitest';
import { SelfMetrics } from '../../src/agent/metrics/self-metrics.ts';
import { type Clock, createSteppedClock } from '../../src/base/index.ts';

test('the delay of the event loop is measured once a second, until it is ended', async () => {
  const stepped = createSteppedClock(0);
  let lateMs = 0;
  const clock: Clock = { ...stepped, setTimer: (delayMs, fire) => stepped.setTimer(delayMs + lateMs, fire) };
  const metrics = new SelfMetrics('1.2.3');
  const stop = metrics.measureLoop(clock);
  await stepped.advance(2999);
  lateMs = 300;
  await stepped.advance(1 + 1300);

  const read = async () =>
    Object.fromEntries(
      [...(await metrics.render('text')).matchAll(/^router_exporter_event_loop_delay_seconds(\S*) (\S+)$/gm)].map(
        ([, name = '', value]) => [name, Number(value)],
      ),
    );
  expect(await read()).toMatchObject({
    ...{ '_bucket{le="0.005"}': 3, '_bucket{le="0.25"}': 3, '_bucket{le="0.5"}': 4, '_bucket{le="+Inf"}': 4 },
    ...{ _sum: 0.3, _count: 4 },
  });
  stop();
  await stepped.advance(60_000);
  expect(await read()).toMatchObject({ _count: 4 });
});
