import { renderPasswordHash } from './password-hash.ts';
import { resourceTable } from './resource-table.ts';
import { type Configuration, readState } from './state.ts';

/**
 * A configuration as text: one parameter per line, in the way of the command line. Values are in JSON quotes, so that a
 * line is a line. Write-only values appear as hashes. `cards` says which card-bound resources the router has.
 */
export function renderAsciiExport(configuration: Configuration, cards: readonly string[]): string {
  const lines: string[] = [];
  for (const definition of resourceTable.values()) {
    if (definition.card !== undefined && !cards.includes(definition.card)) continue;
    const path = definition.path.replaceAll('/', '.');
    const { unique, list } = readState(configuration, definition);
    const hidden = new Set(definition.list?.fields.filter(({ writeOnly }) => writeOnly).map(({ name }) => name));
    for (const [name, value] of Object.entries(unique)) lines.push(`${path}.${name}=${JSON.stringify(value)}`);
    for (const { uid, index, fields, sublist } of list) {
      for (const [name, value] of Object.entries(fields)) {
        const shown = hidden.has(name) ? renderPasswordHash(value, uid) : value;
        lines.push(`${path}.${index}.${name}=${JSON.stringify(shown)}`);
      }
      for (const [position, sub] of sublist.entries()) {
        for (const [name, value] of Object.entries(sub.fields)) {
          lines.push(`${path}.${index}[${position + 1}].${name}=${JSON.stringify(value)}`);
        }
      }
    }
  }
  return `${lines.join('\n')}\n`;
}
