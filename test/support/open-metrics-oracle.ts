import { spawnSync } from 'node:child_process';
import { findTool } from './tools.ts';

/** Debian's own Python, which is where its packages are. */
const PYTHON = '/usr/bin/python3';
const PROGRAM = `
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, len(family.samples))
`;

const python = findTool('python3');
const hasParser = spawnSync(PYTHON, ['-c', 'import prometheus_client.openmetrics.parser']).status === 0;

/** Whether the strict parser of the official Python client is there; in CI its absence is a failure. */
export const openMetricsOracle = {
  isMissing: !hasParser && !process.env['REQUIRE_TOOLS'],
  note: hasParser || python.isMissing ? python.note : ' (skipped: python3-prometheus-client is not installed)',
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
