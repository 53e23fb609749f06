import { type CompiledResource, compileModules, type MappingContext, mapDocument } from '../../../src/status/index.ts';
import { toModule } from '../shipped-modules.ts';

type Raw = Readonly<Record<string, unknown>>;

/** 09:00 in Berlin. */
export const CONTEXT: MappingContext = {
  resource: 'lte2',
  readAtMs: Date.UTC(2026, 10, 21, 8),
  zone: 'Europe/Berlin',
};

/** A compiled resource of a module named `test`, written as in a module file. */
export function compileResource(resource: Raw): CompiledResource {
  const [module] = compileModules([toModule('test', { resources: [{ path: 'lte2', ...resource }] })]);
  const compiled = module?.resources[0];
  if (!compiled) throw new RangeError('There is no resource');
  return compiled;
}

/** What one resource makes of a document. */
export function mapOne(resource: Raw, document: unknown, context: Partial<MappingContext> = {}) {
  return mapDocument([compileResource(resource)], document, { ...CONTEXT, ...context });
}

/** What the metrics make of the fields of one row: `name{labels}` to value, and the faults as `metric reason`. */
export function mapFields(metrics: readonly Raw[], fields: unknown, rest: Raw = {}) {
  return mapRows(metrics, { status: { unique: fields } }, rest);
}

/** The same of a whole document. */
export function mapRows(metrics: readonly Raw[], document: unknown, rest: Raw = {}) {
  const { isFound, families, faults } = mapOne({ metrics, ...rest }, document);
  const samples = families.flatMap(({ name, samples: own }) =>
    own.map(({ labels, value }): [string, number] => [`${name}${renderLabels(labels)}`, value]),
  );
  return {
    isFound,
    samples: Object.fromEntries(samples),
    faults: faults.map(({ metric, reason }) => `${metric} ${reason}`),
  };
}

function renderLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}
