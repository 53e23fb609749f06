import { load, type Surroundings } from '../configuration-folder.ts';

/** A sound metric, to put more keys behind. */
export const GAUGE = 'name: router_x, help: X., type: gauge, value: x';

/** The faults of a configuration with this metric, as it stands from line 6, column 11, of a module `m` of the user. */
export function metricFaults(metric: string, resource = 'path: x'): Promise<string[]> {
  return moduleFaults(`resources:\n- ${resource}\n  metrics:\n  - { ${metric} }`);
}

/** The faults of a configuration with this module `m` of the user, whose keys stand from line 3, column 5. */
export async function moduleFaults(keys: string, around: Surroundings = {}): Promise<string[]> {
  const { lines } = await load(configOf(`m:\n${indent(keys)}`), around);
  return lines.map((line) => line.replace('router-exporter.yaml:', ''));
}

/** A sound configuration of one router, with these modules from line 2, column 3. */
export function configOf(modules: string, router = ''): string {
  return `modules:\n${indent(modules)}\nrouters:\n  - { name: a, url: "http://a", auth: none, ${router} }\n`;
}

/** A module of one gauge. */
export function moduleOf(name: string, metric = GAUGE): string {
  return `${name}: { resources: [{ path: x, metrics: [{ ${metric} }] }] }`;
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
