import type { FamilyDescription, Labels, MetricFamily, Sample } from '../../model/index.ts';
import type { MappingFault, MappingFaultReason } from './mapping-fault.ts';

/** Most samples that one document becomes; the resource with the most rows has some hundred. */
const SAMPLES_MAX = 8192;
/** Most faults of one document that are told. */
const FAULTS_MAX = 256;

interface Collected {
  readonly description: FamilyDescription;
  /** By the identity of their series. */
  readonly samples: Map<string, Sample>;
}

/** Gathers samples into families; of two samples of one series the last one stays. */
export class FamilyCollector {
  readonly faults: MappingFault[] = [];
  readonly #module: string;
  readonly #families = new Map<string, Collected>();
  #count = 0;

  constructor(module: string) {
    this.#module = module;
  }

  get families(): MetricFamily[] {
    return [...this.#families.values()].map(({ description: { name, help, type }, samples }) => ({
      name,
      help,
      type,
      samples: [...samples.values()],
    }));
  }

  add(description: FamilyDescription, labels: Labels, value: number): void {
    const fault = this.#findFault(description, value);
    if (fault) {
      this.addFault(description.name, fault);
      return;
    }
    const family = this.#families.get(description.name) ?? { description, samples: new Map<string, Sample>() };
    this.#families.set(description.name, family);
    family.samples.set(toIdentity(labels), { labels, value });
  }

  addFault(metric: string, reason: MappingFaultReason): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ module: this.#module, metric, reason });
  }

  #findFault({ type }: FamilyDescription, value: number): MappingFaultReason | undefined {
    if (!Number.isFinite(value)) return 'not_finite';
    if (type === 'counter' && value < 0) return 'negative';
    return this.#count++ < SAMPLES_MAX ? undefined : 'too_many';
  }
}

/** Families of one name become one; the first says what it is, and of two samples of one series the last one stays. */
export function mergeFamilies(families: readonly MetricFamily[]): readonly MetricFamily[] {
  const merged = new Map<string, { family: MetricFamily; samples: Map<string, Sample> }>();
  for (const family of families) {
    const { samples } = merged.get(family.name) ?? { samples: new Map<string, Sample>() };
    for (const sample of family.samples) samples.set(toIdentity(sample.labels), sample);
    if (!merged.has(family.name)) merged.set(family.name, { family, samples });
  }
  return [...merged.values()].map(({ family, samples }) => ({ ...family, samples: [...samples.values()] }));
}

function toIdentity(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
