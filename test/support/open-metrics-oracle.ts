import { spawnSync } from 'node:child_process';
import type { ProgramPart } from './tools.ts';

/** Debian's own Python, which is where its packages are. */
const PYTHON = '/usr/bin/python3';
const PROGRAM = `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, len(family.samples))
`;

/** The strict parser of the official Python client. */
export const openMetricsParser: ProgramPart = {
  name: 'python3-prometheus-client',
  isInstalled: () => spawnSync(PYTHON, ['-c', 'import prometheus_client.openmetrics.parser']).status === 0,
};

/** Families of an OpenMetrics text as the strict parser reads them; throws with its words when it refuses. */
export function parseOpenMetrics(text: string): Map<string, { readonly type: string; readonly samples: number }> {
  const { status, stdout, stderr } = spawnSync(PYTHON, ['-c', PROGRAM], { input: text, encoding: 'utf8' });
  if (status !== 0) throw new SyntaxError(stderr);
  const rows = stdout.split('\n').filter((line) => line !== '');
  return new Map(
    rows.map((row) => {
      const [name = '', type = '', samples = ''] = row.split(' ');
      return [name, { type, samples: Number(samples) }];
    }),
  );
}
