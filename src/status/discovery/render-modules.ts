import { Document, isCollection, isMap, isScalar, type YAMLMap } from 'yaml';
import type { Discovery } from './discover-modules.ts';
import type { ProposedModule, ProposedRowSet } from './propose-row-set.ts';

/** Length and number of router-supplied names that are shown. */
const NAME_LENGTH_MAX = 60;
const NAMES_MAX = 40;

/** Renders a name chosen by the router for display: bounded, on one line, without terminal control characters. */
export function renderName(name: string): string {
  const plain = name.slice(0, NAME_LENGTH_MAX + 1).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '?');
  const cut = plain.length > NAME_LENGTH_MAX ? `${plain.slice(0, NAME_LENGTH_MAX)}…` : plain;
  return /^[\w./*[\]-]+$/.test(cut) ? cut : JSON.stringify(cut);
}

/** Renders a list of names chosen by the router. */
export function renderNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).map(renderName).join(', ');
  return names.length > NAMES_MAX ? `${shown} and ${names.length - NAMES_MAX} more` : shown;
}

/** Converts the modules to the map under `modules` in a configuration. */
export function toModuleSettings(modules: readonly ProposedModule[]) {
  return Object.fromEntries(
    modules.map(({ name, help, rowSets }) => [
      name,
      { help, resources: rowSets.flatMap(({ resource }) => resource ?? []) },
    ]),
  );
}

/** Renders a file for `module_files` with `header` as a comment. Router-supplied text is always quoted or a comment. */
export function renderModules({ modules, remarks, leftOut }: Discovery, header: readonly string[]): string {
  const document = new Document(toModuleSettings(modules), { aliasDuplicateObjects: false, compat: 'yaml-1.1' });
  for (const module of modules) commentModule(document, module);
  document.commentBefore = toComment(header);
  const notes = remarks.flatMap((rowSet) =>
    renderNotes(rowSet.notes).map((note) => `${renderRowSet(rowSet)}: ${note}`),
  );
  if (leftOut.length > 0) notes.push(`Left out, because the limit of modules is reached: ${renderNames(leftOut)}`);
  if (notes.length > 0) document.comment = toComment(['Without a module:', ...notes]);
  return document.toString({ lineWidth: 0 });
}

function commentModule(document: Document, { name, rowSets }: ProposedModule): void {
  const node = document.getIn([name], true);
  if (!isMap(node)) return;
  const silent = rowSets.filter(({ resource }) => !resource);
  const about = silent.flatMap((rowSet) => renderNotes(rowSet.notes).map((note) => `${renderRowSet(rowSet)}: ${note}`));
  comment(node, 'resources', about);
  for (const [index, { resource, notes }] of rowSets.filter((rowSet) => rowSet.resource).entries()) {
    const path = [name, 'resources', index];
    const resourceNode = document.getIn(path, true);
    if (!resource || !isMap(resourceNode)) continue;
    setFlow(resourceNode, 'labels');
    comment(resourceNode, 'metrics', renderNotes(notes));
    for (const metric of resource.metrics.keys()) {
      const metricNode = document.getIn([...path, 'metrics', metric], true);
      if (!isMap(metricNode)) continue;
      for (const key of ['labels', 'map', 'null_values', 'states']) setFlow(metricNode, key);
      comment(metricNode, 'states', [
        'States seen so far. Add the others of the device; until then they are "unknown".',
      ]);
    }
  }
}

function renderNotes({ sensitive, empty, unsayable, excess, isAmbiguous }: ProposedRowSet['notes']): readonly string[] {
  const notes: [readonly string[], string][] = [
    [sensitive, 'Left out: looks like a secret, or identifies a person or place'],
    [empty, 'Left out: no value was seen'],
    [unsayable, 'Left out: a module cannot express it'],
    [excess, 'Left out: over the limit of a module'],
  ];
  const lines = notes.filter(([names]) => names.length > 0).map(([names, text]) => `${text}: ${renderNames(names)}`);
  return isAmbiguous
    ? [...lines, 'Left out: no field distinguishes these rows from those of other enclosing rows']
    : lines;
}

function renderRowSet({ path, each }: ProposedRowSet): string {
  return each === '' ? renderName(path) : `${renderName(path)}, ${renderName(each)}`;
}

function comment(node: YAMLMap, key: string, lines: readonly string[]): void {
  const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key);
  if (lines.length > 0 && pair && isScalar(pair.key)) pair.key.commentBefore = toComment(lines);
}

function setFlow(node: YAMLMap, key: string): void {
  const value = node.get(key, true);
  if (isCollection(value)) value.flow = true;
}

/** The library adds the comment character. */
function toComment(lines: readonly string[]): string {
  return lines.map((line) => (line === '' ? '' : ` ${line}`)).join('\n');
}
