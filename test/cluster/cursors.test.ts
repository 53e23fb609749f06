import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { floorOf, parsePlace, renderPlace } from '../../src/cluster/cursors.ts';
import { advancePlace, beginPass, isBefore, type SinkPlace } from '../../src/model/store/slices.ts';
import { openState } from '../../src/store/database-format.ts';
import { SinkCursors } from '../../src/store/sink-cursors.ts';
import { countRuns } from '../support/sampled.ts';

const REPLAY_MS = 1000;
const BEGIN: SinkPlace = { cursor: { batch: 0, index: 0 }, taken: [] };

const action = fc.oneof(
  // A sink takes a few records; the clock of the machine advances, or is set back now and then.
  fc.record({ type: fc.constant('take' as const), records: fc.nat(9), ms: fc.integer({ min: -200, max: 700 }) }),
  fc.record({ type: fc.constant('repeat' as const), agoMs: fc.option(fc.nat(3000), { nil: undefined }) }),
);

test('the tables of the embedded store hold a place as it moves, begins again and keeps what may be needed', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'router-exporter-cursor-'));
  const file = openState(join(folder.path, 'state.db'), undefined);
  const cursors = new SinkCursors(file);
  let simulations = 0;
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const sink = `sink ${simulations++}`;
      cursors.setSinks([{ name: sink, start: 'oldest', replayMs: REPLAY_MS }], 0);
      let place = BEGIN;
      let nowMs = 1_000_000;
      for (const one of actions) {
        const from = place.pass ?? place.cursor;
        if (one.type === 'repeat') {
          const endedMs = one.agoMs === undefined ? undefined : nowMs - one.agoMs;
          place = beginPass(place, endedMs, REPLAY_MS) ?? place;
          cursors.repeat(sink, endedMs);
        } else {
          nowMs += one.ms;
          const index = from.index + one.records;
          const ahead = { batch: from.batch + Math.floor(index / 10), index: index % 10 };
          const next = place.pass && !isBefore(ahead, place.cursor) ? place.cursor : ahead;
          place = advancePlace(place, next, { nowMs, replayMs: REPLAY_MS }) ?? place;
          cursors.advance(sink, next, nowMs);
        }
        expect({ cursor: place.cursor, pass: place.pass }).toEqual({
          cursor: cursors.of(sink),
          pass: cursors.passOf(sink),
        });
        expect(floorOf(place, false)).toBe(Math.min(cursors.floor ?? place.cursor.batch, place.cursor.batch));
        expect(floorOf(place, true)).toBe(Math.min(place.cursor.batch, place.pass?.batch ?? place.cursor.batch));
        expect(parsePlace(renderPlace(place))).toEqual(place);
      }
    }),
    { numRuns: countRuns(300) },
  );
  file.close();
});

test('parsePlace() takes nothing else, whatever stands in the stream', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const place = parsePlace(text);
      if (place) expect(parsePlace(renderPlace(place))).toEqual(place);
    }),
    { numRuns: countRuns(1000) },
  );
  const strange = [
    '{"version":2,"at":[1,0],"taken":[]}',
    '{"version":1,"at":[1],"taken":[]}',
    '{"version":1,"at":[1,0.5],"taken":[]}',
    '{"version":1,"at":[1,0],"taken":[[1,2]]}',
    '{"version":1,"at":[1,0],"taken":[],"pass":[1,"2",0]}',
    '{"version":1,"at":[1e300,0],"taken":[]}',
  ];
  expect(strange.map(parsePlace)).toEqual(strange.map(() => undefined));
});
