import type { FamilyDescription } from '../model/index.ts';
import type { StatusReader } from './poller/ask.ts';

/** Real routers have about twenty components. */
const COMPONENTS_MAX = 256;
/** Characters. */
const COMPONENT_LENGTH_MAX = 64;
/** The file being written; the other files in its folder are rotated ones. */
const LIVE_FILE = 'current';

const LOG_ARCHIVES: FamilyDescription = {
  name: 'router_log_archives',
  help: 'Rotated files of the log that the router lists.',
  type: 'gauge',
};

/** Lists the names of the log files; errors as for a `DocumentSource`. */
interface LogListing {
  listLogs(signal: AbortSignal): Promise<readonly string[]>;
}

/** Creates a reader that counts the rotated files of each component's log. */
export function createLogFilesReader(source: LogListing): StatusReader {
  return {
    async read(_context, signal) {
      const samples = countArchives(await source.listLogs(signal));
      return {
        families: [
          { ...LOG_ARCHIVES, samples: [...samples].map(([component, value]) => ({ labels: { component }, value })) },
        ],
        faults: [],
      };
    },
  };
}

/** A component with only a live file has 0. The compressed and the plain form of a file count once. */
function countArchives(names: readonly string[]): ReadonlyMap<string, number> {
  const archives = new Map<string, Set<string>>();
  for (const name of names) {
    const slash = name.lastIndexOf('/');
    const component = name
      .slice(0, Math.max(0, slash))
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim();
    const isNew = !archives.has(component);
    if (component === '' || component.length > COMPONENT_LENGTH_MAX || (isNew && archives.size >= COMPONENTS_MAX))
      continue;
    const files = archives.get(component) ?? new Set<string>();
    archives.set(component, files);
    const file = name.slice(slash + 1).replace(/\.(?:bz2|gz|xz|Z)$/, '');
    if (file !== '' && file !== LIVE_FILE) files.add(file);
  }
  return new Map([...archives].map(([component, files]) => [component, files.size]));
}
