import type { z } from 'zod';
import { type JsonSchema, listTags, toJsonSchema } from '../src/config/schema.ts';

/** A map of keys in the reference. */
interface Section {
  readonly title: string;
  /** Name of the variant, where several maps are allowed. */
  readonly word?: string;
  readonly schema: JsonSchema;
}

/**
 * Renders a table for each map of keys in the schema, in the order in which they are written, under headings of `level`.
 * A map whose path is in `elsewhere` gets no table, but a link to the section named there.
 */
export function renderTables(
  schema: z.core.$ZodType,
  root: string,
  level: number,
  elsewhere: Readonly<Record<string, string>> = {},
): string {
  const sections = listSections({ title: root, schema: toJsonSchema(schema) }, elsewhere);
  return sections.map((section) => renderSection(section, root, level, elsewhere)).join('\n');
}

/** Returns the anchor of a section. */
export function toAnchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

function listSections(section: Section, elsewhere: Readonly<Record<string, string>>): Section[] {
  if (section.schema.oneOf) return listVariantSections(section, elsewhere);
  const inner = listKeys(section.schema).flatMap(([key, value]) => {
    const found = findMap(value);
    if (!found || key in elsewhere) return [];
    return listSections({ title: joinTitle(section.title, key, found.suffix), schema: found.schema }, elsewhere);
  });
  return [section, ...inner];
}

/** Lists the keys that all variants share, then the other keys of each, then the sections inside them, which variants may share. */
function listVariantSections({ title, schema }: Section, elsewhere: Readonly<Record<string, string>>): Section[] {
  const { common, variants } = splitVariants(schema);
  const sections = variants.map((variant) => listSections({ title, schema: variant.schema }, elsewhere));
  const own = variants.map(({ word, schema: rest }) => ({ title, word, schema: rest }));
  const inner = new Map(sections.flatMap(([, ...others]) => others.map((other) => [other.title, other])));
  return [...listSections({ title, schema: common }, elsewhere), ...own, ...inner.values()];
}

/** One of several maps that are allowed at a key. */
interface Variant {
  /** Value of the key that selects it. */
  readonly word: string;
  readonly schema: JsonSchema;
}

/** Splits the variants of a map into the keys that all of them share, and the rest of each. */
function splitVariants({ oneOf = [], ...union }: JsonSchema): { common: JsonSchema; variants: Variant[] } {
  const [tag = ''] = listTags(oneOf);
  const [first] = oneOf;
  const isCommon = (key: string) => {
    const text = JSON.stringify(first?.properties?.[key]);
    return text !== undefined && oneOf.every(({ properties }) => JSON.stringify(properties?.[key]) === text);
  };
  const pick = (schema: JsonSchema | undefined, isPicked: (key: string) => boolean): JsonSchema => ({
    ...schema,
    properties: Object.fromEntries(Object.entries(schema?.properties ?? {}).filter(([key]) => isPicked(key))),
  });
  const common = pick(first, isCommon);
  const words = oneOf.map(({ properties }) => properties?.[tag]?.const ?? '');
  return {
    common: {
      ...common,
      ...union,
      properties: { [tag]: { ...first?.properties?.[tag], enum: words }, ...common.properties },
    },
    variants: oneOf.map((schema, index) => ({
      word: words[index] ?? '',
      schema: pick(schema, (key) => key !== tag && !isCommon(key)),
    })),
  };
}

/** Lists the documented keys of a map with their schemas; of a nullable key, the schema of its value. The second key of a secret is left out. */
function listKeys({ properties = {} }: JsonSchema): [string, JsonSchema][] {
  const isSecond = (key: string) =>
    key.endsWith('_file') && properties[key.slice(0, -'_file'.length)]?.kind === 'secret';
  const entries = Object.entries(properties).filter(([key]) => !isSecond(key));
  return entries.flatMap(([key, value]) => {
    if (value.kind === 'removed' || value.kind === 'undocumented') return [];
    const isNullable = value.anyOf?.some(({ type }) => type === 'null') ?? false;
    return [[key, (isNullable && value.anyOf?.find(({ type }) => type !== 'null')) || value]];
  });
}

function renderSection(
  { title, word, schema }: Section,
  root: string,
  level: number,
  elsewhere: Readonly<Record<string, string>>,
): string {
  const required = new Set(schema.required);
  const toRow = ([key, value]: [string, JsonSchema]) => {
    const found = findMap(value);
    const link = elsewhere[key] ?? (found && toAnchor(joinTitle(title, key, found.suffix)));
    const type = renderType(value, link);
    return `| \`${key}\` | ${type} | ${required.has(key) ? 'required' : renderDefault(value)} | ${renderCell(value.description ?? '')} |\n`;
  };
  const rows = Map.groupBy(listKeys(schema), ([, value]) => value.advanced === true);
  const tables = [rows.get(false) ?? [], rows.get(true) ?? []].map((keys) => keys.map(toRow).join(''));
  const isRoot = title === root && word === undefined;
  const name = word === undefined ? `\`${title}\`` : `\`${title}\`: \`${word}\``;
  const anchor = toAnchor(`${title} ${word ?? ''}`);
  const heading = isRoot ? '' : `<a id="${anchor}"></a>\n\n${'#'.repeat(level)} ${name}\n\n`;
  const text = isRoot ? '' : `${schema.description ?? ''}\n\n`;
  const [usual, rare] = tables.map((table) => table && `| Key | Type | Default | |\n|---|---|---|---|\n${table}`);
  return [`${heading}${text}${usual}`, rare && `Advanced, seldom needed:\n\n${rare}`].filter(Boolean).join('\n');
}

/** Finds the section at a key, also beside a short form, in a list, or in a map of names; the suffix of the title tells them apart. */
function findMap({
  items,
  additionalProperties: named,
  ...schema
}: JsonSchema): { schema: JsonSchema; suffix: string } | undefined {
  if (schema.kind === 'secret') return undefined;
  const map = schema.properties ? schema : schema.anyOf?.find(({ properties }) => properties);
  if (map) return { schema: map, suffix: '' };
  const item = items?.properties || items?.oneOf ? items : items?.anyOf?.find(({ properties }) => properties);
  if (item) return { schema: item, suffix: '[]' };
  return typeof named === 'object' && named.properties ? { schema: named, suffix: '.NAME' } : undefined;
}

function joinTitle(title: string, key: string, suffix: string): string {
  return `${title === '' ? '' : `${title}.`}${key}${suffix}`;
}

function renderType(schema: JsonSchema, link: string | undefined): string {
  if (schema.kind === 'unsupported') return '—';
  if (schema.kind === 'secret') return '[secret](#secrets)';
  if (link !== undefined) {
    if (schema.items) return (schema.kind ?? 'list of maps').replace('maps', `[maps](#${link})`);
    if (schema.anyOf) return (schema.kind ?? 'map').replace('map', `[map](#${link})`);
    return schema.properties ? `[map](#${link})` : `names and [maps](#${link})`;
  }
  if (schema.kind !== undefined) return renderCell(schema.kind);
  return (schema.enum ?? []).map((word) => `\`${word}\``).join(', ');
}

function renderDefault({ default: fallback }: JsonSchema): string {
  if (fallback === undefined) return '';
  return `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``;
}

function renderCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
