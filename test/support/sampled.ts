/** What a short run does in part: what there is of it, and which part that is. */
export const SAMPLES = {
  'simulations of the oracle': 'every ninth of 80 seeds',
  'simulations of the oracle on both threads': '1 of 8',
  'simulations of the oracle in a cluster': 'none',
  'commands under faults': 'each command at least once, every third fault of the simulator',
  'largest files': 'one of four',
  'kills of delivery workers': '6 of 200',
  'kills at a commit': 'every third commit',
  'tests of alerts': 'every eighth file',
  'schemas of Kubernetes': 'the newest of two',
  'routers that a Prometheus scrapes': '20 of 200',
  'npm package': 'not made',
  'container image': 'not built',
  'Debian package': 'not built',
  archive: 'not made',
  'list of dependencies': 'not made',
  'levels of bzip2': 'the first and the last of nine',
  'pages in dark colours': 'one of six',
  'layouts of the fleet': 'one of five fleets',
  'filters of the fleet': 'all together',
  'resources that are refused': 'one of three',
  'descriptors that are too few': 'one of three',
  'layouts of other pages': '5 of 13',
  'threads in their own tests': 'from the bundle of the packages',
  'long properties': 'a tenth of the runs',
  'real receivers': 'none',
  'processes of a fleet': 'none',
  'fuzz cases': '3,000 of 40,000',
  'kills of the agent': '3 of 12',
  'open connections': '1,000 of 10,000',
  'refused requests': '1,500 of 30,000',
  'memory for a large file': 'not measured',
  'ways to start the agent': 'by its command',
  'faults of a cluster': 'none',
  'steps of a busy replica': 'none',
  'faults of the machine': 'two of eight',
} as const;

export type SampleName = keyof typeof SAMPLES;

/** Whether this run does everything, as `.ci/run` does. */
const isFull = process.env['FULL'] === '1';

/** `full` in a run with FULL=1, `part` in every other. */
export function sampled<T>(_name: SampleName, full: T, part: T): T {
  return isFull ? full : part;
}

/** How often a property that takes long is tried, of `full` times. */
export function countRuns(full: number): number {
  return sampled('long properties', full, Math.ceil(full / 10));
}

/** For titles: which part this is; empty in a full run. */
export function sampleNote(name: SampleName): string {
  return sampled(name, '', ` (short run: ${SAMPLES[name]})`);
}
