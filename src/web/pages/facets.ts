import { POLL_STEPS } from '../../model/index.ts';
import { findSite, type RouterSummary } from '../api/routers.ts';

/** The properties by which the fleet can be filtered besides the state, in display order. */
export const FACETS = ['step', 'site', 'label', 'firmware', 'model', 'operator'] as const;
/** A key of the query string. */
export type Facet = (typeof FACETS)[number];

/** The wanted values of each facet; a router must have all of them. Labels are written `name=value`. */
export type FacetQuery = Readonly<Partial<Record<Facet, readonly string[]>>>;

/** Routers with a value: all, and those that are up and down. */
export interface FacetCount {
  total: number;
  up: number;
  down: number;
}

/** Counts of each value of each facet. */
export type FacetCounts = Readonly<Record<Facet, ReadonlyMap<string, FacetCount>>>;

/** Display names. */
export const FACET_NAMES: Readonly<Record<Facet, string>> = {
  step: 'Step',
  site: 'Site',
  label: 'Label',
  firmware: 'Firmware',
  model: 'Model',
  operator: 'Operator',
};

const VALUES_MAX = 8;
const VALUE_CHARS_MAX = 512;

/** Labels as `name=value`. A router keeps the same labels object while it is configured. */
const labelTexts = new WeakMap<object, readonly string[]>();

type Faceted = Pick<RouterSummary, 'labels' | 'failure' | 'fault' | 'firmware' | 'device'>;

/** Lists the values of a facet that a router has. */
export function listFacetValues(facet: Facet, router: Faceted): readonly string[] {
  if (facet === 'label') return listLabels(router.labels);
  const value = readFacet(facet, router);
  return value === null || value === undefined ? [] : [value];
}

function readFacet(facet: Exclude<Facet, 'label'>, router: Faceted) {
  const { failure, fault, firmware, device } = router;
  switch (facet) {
    case 'step':
      return failure ? failure.step : fault?.step;
    case 'site':
      return findSite(router);
    case 'firmware':
      return firmware;
    case 'model':
    case 'operator':
      return device[facet];
  }
}

function listLabels(labels: RouterSummary['labels']): readonly string[] {
  const known = labelTexts.get(labels);
  if (known) return known;
  const texts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  labelTexts.set(labels, texts);
  return texts;
}

/** Creates a test that a router has all wanted values. */
export function createFacetMatcher(query: FacetQuery): (router: RouterSummary) => boolean {
  const wanted = FACETS.flatMap((facet) => (query[facet] ?? []).map((value) => ({ facet, value })));
  return (router) => wanted.every(({ facet, value }) => listFacetValues(facet, router).includes(value));
}

/** Parses the facets of a query string. Empty and invalid values are ignored. */
export function parseFacets(queries: (name: string) => readonly string[] | undefined): FacetQuery {
  const parsed: Partial<Record<Facet, readonly string[]>> = {};
  for (const facet of FACETS) {
    const values = (queries(facet) ?? [])
      .map((value) => value.slice(0, VALUE_CHARS_MAX).toWellFormed())
      .filter((value) => (facet === 'step' ? POLL_STEPS.some((step) => step === value) : value !== ''));
    if (values.length > 0) parsed[facet] = [...new Set(values)].slice(0, VALUES_MAX);
  }
  return parsed;
}

/** Adds a value; it replaces another of the same facet, or of the same label. */
export function withFacet(query: FacetQuery, facet: Facet, value: string): FacetQuery {
  if (facet !== 'label') return { ...query, [facet]: [value] };
  const name = value.slice(0, value.indexOf('=') + 1);
  const others = (query.label ?? []).filter((other) => !other.startsWith(name));
  return { ...query, label: [...others, value].slice(-VALUES_MAX) };
}

/** Removes a value. */
export function withoutFacet(query: FacetQuery, facet: Facet, value: string): FacetQuery {
  return { ...query, [facet]: (query[facet] ?? []).filter((other) => other !== value) };
}
