import { expect, test } from 'vitest';
import { createSelection, LineProcessing } from '../../src/agent/line-processing.ts';
import type { EventRecord, LogRecord } from '../../src/model/index.ts';

const all = { routers: ['*'], components: ['*'], severities: ['*'], events: ['*'] };
const record = (fields: Partial<LogRecord> = {}) => fields as LogRecord;

test('createSelection() wants a log when its router and its component are both chosen', () => {
  const { isWanted } = createSelection({ ...all, routers: ['plant-*', '!plant-9'], components: ['network'] });
  expect(isWanted('plant-7', 'network')).toBe(true);
  expect(isWanted('plant-7', 'kernel')).toBe(false);
  expect(isWanted('plant-9', 'network')).toBe(false);
  expect(isWanted('lab', 'network')).toBe(false);
  // The same again, now remembered.
  expect([isWanted('plant-7', 'network'), isWanted('plant-9', 'network')]).toEqual([true, false]);
});

test('createSelection() looks at no record when all severities and events are wanted', () => {
  expect(createSelection(all).isSelected).toBeUndefined();
});

test('createSelection() takes a record without a severity for "none", and one that is no event for "line"', () => {
  const severe = createSelection({ ...all, severities: ['error', 'none'] }).isSelected;
  expect(severe?.(record({ severity: 'error' }))).toBe(true);
  expect(severe?.(record())).toBe(true);
  expect(severe?.(record({ severity: 'info' }))).toBe(false);
  const events = createSelection({ ...all, events: ['log.*', '!log.repeat'] }).isSelected;
  expect(events?.(record({ event: 'log.gap' }))).toBe(true);
  expect(events?.(record({ event: 'log.repeat' }))).toBe(false);
  expect(events?.(record())).toBe(false);
  expect(createSelection({ ...all, events: ['line'] }).isSelected?.(record())).toBe(true);
});

test('LineProcessing.of() compiles rules again only if they have changed', () => {
  const redact = [{ pattern: 'pin=[0-9]+', replacement: 'pin=*' }];
  const lines = LineProcessing.of([], redact);
  expect(LineProcessing.of([], [...redact])).toBe(lines);
  const others = LineProcessing.of([], [{ pattern: 'pin=[0-9]+', replacement: '' }]);
  expect(others.matcher.of('network')?.redact('pin=7')).toBe('');
  expect(lines.matcher.of('network')?.redact('pin=7')).toBe('pin=*');
});

test('createSelection() wants events of routers by their kind alone, and looks at records only to tell these apart', () => {
  const usual = createSelection({ ...all, events: ['line', 'log.*'] });
  expect([usual.isWanted('plant-7', 'network'), usual.isWanted('plant-7', '')]).toEqual([true, false]);
  expect(usual.isSelected).toBeUndefined();
  const events = createSelection({ ...all, components: ['network'], events: ['router.*'] });
  expect(events.isWanted('plant-7', '')).toBe(true);
  expect(createSelection({ ...all, routers: ['lab'], events: ['router.*'] }).isWanted('plant-7', '')).toBe(false);
  const some = createSelection({ ...all, events: ['*', '!router.modem'] });
  const of = (event: EventRecord['event']) => some.isSelected?.({ event } as EventRecord);
  expect([some.isWanted('plant-7', ''), of('router.down'), of('router.modem')]).toEqual([true, true, false]);
});
