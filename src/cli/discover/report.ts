import { renderErrorChain } from '../../base/index.ts';
import type { RouterSettings } from '../../config/index.ts';
import {
  type AskedRouter,
  type DiscoveredField,
  type Discovery,
  type ResourceAnswer,
  renderModules,
  renderName,
  renderNames,
  toModuleSettings,
} from '../../status/index.ts';
import { renderJson } from '../terminal/io.ts';
import { renderTable } from '../terminal/table.ts';

const ANSWERS = { yes: 'yes', absent: 'absent', no_rights: 'no rights', error: 'error' } as const;

/** Renders the modules as YAML, with the table of resources as a leading comment. */
export function renderDiscoveryYaml(settings: RouterSettings, { asked }: AskedRouter, discovery: Discovery): string {
  const byResource = new Map(discovery.resources.map((resource) => [resource.resource, resource]));
  const rows = asked.map(({ resource, answer }) => {
    const found = byResource.get(resource);
    const open = found?.fields.filter(isOpen).map(({ name }) => name) ?? [];
    const counts = found ? [String(found.rows), String(found.fields.length)] : ['', ''];
    return [resource, ANSWERS[answer], ...counts, renderNames(open)];
  });
  const table = renderTable(['RESOURCE', 'ANSWER', 'ROWS', 'FIELDS', 'FIELDS THAT NO MODULE COVERS'], rows);
  const names = discovery.modules.map(({ name }) => name);
  const use =
    names.length === 0
      ? ['No module is needed.']
      : [
          'Below are modules for the rest, guessed from the values: look through them before you use them. Save them in a file',
          'that module_files of the configuration names, and give them to routers:',
          `modules: [default, ${names.join(', ')}]`,
        ];
  const head = `Resources of ${settings.name}, as found by router-exporter discover.`;
  return renderModules(discovery, [head, '', ...table.trimEnd().split('\n'), '', ...use]);
}

function isOpen({ modules }: DiscoveredField): boolean {
  return modules.length === 0;
}

/** Returns the answers of one router, and the modules proposed for them, as JSON. */
export function renderDiscoveryJson({ name }: RouterSettings, { asked }: AskedRouter, discovery: Discovery): string {
  const byResource = new Map(discovery.resources.map((resource) => [resource.resource, resource]));
  const resources = asked.map(({ resource, answer, error }) => {
    const found = byResource.get(resource);
    const fields = found?.fields.map(({ modules, ...field }) => ({ ...field, covered_by: modules }));
    return {
      resource,
      answer,
      ...(error !== undefined && { error: renderErrorChain(error) }),
      ...(found && { rows: found.rows, fields }),
    };
  });
  return renderJson({ router: name, resources, modules: toModuleSettings(discovery.modules) });
}

/** Renders the failures, modules that the router lacks but could use, and the totals. */
export function renderSummary(settings: RouterSettings, { asked }: AskedRouter, { resources }: Discovery): string {
  const failures = asked
    .filter(({ answer }) => answer === 'error')
    .map(({ resource, error }) => `${resource}: ${renderErrorChain(error)}`);
  const count = (answer: ResourceAnswer) => asked.filter((one) => one.answer === answer).length;
  const open = resources.flatMap(({ fields }) => fields).filter(isOpen);
  const sum =
    `${settings.name}: ${count('yes')} of ${asked.length} resources answered, ${count('absent')} absent, ` +
    `${count('no_rights')} without rights, ${count('error')} failed; ${open.length} fields that no module covers`;
  return [...failures, ...renderOtherModules(settings, resources), sum].map((line) => `${line}\n`).join('');
}

/** Maximum number of fields in an example. */
const FIELDS_SHOWN_MAX = 6;

/** Lists known modules that would cover fields not covered by the router's modules. */
function renderOtherModules({ name: router, modules }: RouterSettings, resources: Discovery['resources']): string[] {
  const own = new Set(modules.map(({ name }) => name));
  const covering = resources.flatMap(({ resource, fields }) =>
    fields
      .filter((field) => !field.modules.some((module) => own.has(module)))
      .flatMap((field) => field.modules.map((module) => ({ module, field: `${resource} ${renderName(field.name)}` }))),
  );
  return [...Map.groupBy(covering, ({ module }) => module)].map(([module, entries]) => {
    const fields = [...new Set(entries.map(({ field }) => field))];
    const shown = fields.slice(0, FIELDS_SHOWN_MAX).join(', ') + (fields.length > FIELDS_SHOWN_MAX ? ', …' : '');
    return `Module ${module}, not enabled for ${router}, covers ${shown}`;
  });
}
