import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderEventRecord } from '../../../src/agent/router-state/router-journal.ts';
import { renderEvent, renderRepeat } from '../../../src/logs/records/event-records.ts';
import { renderOtel, renderOtelDocument } from '../../../src/sinks/otel.ts';
import { OutgoingRecord, renderEcs, renderRecord } from '../../../src/sinks/outgoing-record.ts';

const PAGE = readFileSync(new URL('../../../docs/log-records.md', import.meta.url), 'utf8');
/** What comes behind is about other programs. */
const [OWN = ''] = PAGE.split('\n## Using them\n');
const examples = [...OWN.matchAll(/```json\n([^`]+)\n```/g)].map(([, text = '']) => text);
const record = new OutgoingRecord(examples[0] ?? '');

const context = {
  router: { name: 'plant-7', labels: { site: 'munich' } },
  component: 'network',
  file: 'network/current',
  observedMs: Date.UTC(2025, 9, 26, 1, 0, 31, 412),
};
const edge = { uid: 'k7d2m4q2x4t5h7ca-00000e2f', utcMs: Date.UTC(2025, 9, 26, 0, 59, 58) };

describe('docs/log-records.md', () => {
  test.for([
    [0, 'format native', renderRecord(record, 'native')],
    [
      1,
      'a gap',
      renderEvent(context, {
        type: 'gap',
        gap: {
          certainty: 'certain',
          reason: 'expired',
          from: edge,
          to: { uid: 'm2b6x7zqjw4nd3ka-00000000', utcMs: Date.UTC(2025, 9, 26, 4) },
          bytesMin: 51_200,
          file: 'network/current',
          offset: 18_302,
        },
      }),
    ],
    [
      2,
      'the end of a gap',
      renderEvent(context, {
        type: 'gap-ended',
        gap: { uid: 'dxn3cch3gcyxg4l2-00000e4e', file: 'network/current', offset: 18_302 },
        to: { uid: 'm2b6x7zqjw4nd3ka-00000000', utcMs: Date.UTC(2025, 9, 26, 4) },
      }),
    ],
    [3, 'a reset', renderEvent(context, { type: 'reset', reason: 'wiped', from: edge })],
    [
      4,
      'a clock jump',
      renderEvent(context, {
        type: 'clock-jump',
        about: 'k7d2m4q2x4t5h7ca',
        offset: 18_302,
        jump: { beforeUtcMs: edge.utcMs, afterUtcMs: Date.UTC(2025, 9, 27) },
      }),
    ],
    [
      5,
      'a repeat',
      renderRepeat(
        context,
        {
          offset: 18_302,
          uid: 'k7d2m4q2x4t5h7ca-00000e4e',
          timestamp: '2025-10-26T00:59:58.000018302Z',
          message: '- Last output repeated 4 times -',
        },
        { count: 4, ofUid: edge.uid },
      ),
    ],
    [
      6,
      'an event of a router',
      renderEventRecord(
        {
          kind: 'router.down',
          at: context.observedMs,
          id: context.observedMs,
          details: { reason: 'timeout', step: 'connect', error: 'No answer within 10 s' },
        },
        context.router,
      ),
    ],
    [8, 'format otel', renderOtel(record.fields)],
  ] as const)('shows as example %s what is rendered: %s', ([index, , rendered]) => {
    expect(examples[index]).toBe(rendered);
  });

  test.for([
    [7, 'format ecs', renderEcs(record)],
    [9, 'format otel in Elasticsearch', renderOtelDocument(record.fields)],
  ] as const)('shows as example %s, but for line breaks, what is rendered: %s', ([index, , rendered]) => {
    expect(JSON.stringify(JSON.parse(examples[index] ?? ''))).toBe(rendered);
    expect(examples).toHaveLength(10);
  });

  test('names every flag, field, event and reason of the model', () => {
    const model = readFileSync(new URL('../../../src/model/record.ts', import.meta.url), 'utf8');
    const events = readFileSync(new URL('../../../src/logs/position/gap.ts', import.meta.url), 'utf8');
    const reasons = [...(/const GAP_REASONS = \{([^}]+)\}/.exec(events)?.[1] ?? '').matchAll(/^ {2}'?([a-z-]+)'?:/gm)];
    expect(reasons.length).toBeGreaterThan(10);
    const words = [
      ...[...model.matchAll(/'([a-z][a-z_.-]+)'/g), ...reasons].map(([, word]) => word ?? ''),
      ...[...model.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, word]) => word ?? ''),
    ].filter((word) => !word.startsWith('./'));
    expect(words.length).toBeGreaterThan(50);
    expect(words.filter((word) => !PAGE.includes(`\`${word}\``))).toEqual([]);
  });
});
