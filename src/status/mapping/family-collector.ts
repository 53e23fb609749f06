import type { FamilyDescription, Labels, MetricFamily, Sample } from '../../model/index.ts';
import { isKept, type SampleSelection } from '../module-settings/sample-selection.ts';
import type { MappingFault, MappingFaultReason } from './mapping-fault.ts';

/** Maximum number of samples of one document; the largest resource has some hundred. */
const SAMPLES_MAX = 8192;
/** Maximum number of faults reported for one document. */
const FAULTS_MAX = 256;

/** A metric, and which of its series the router has; absent: all. */
type CollectedMetric = FamilyDescription & { readonly selection?: SampleSelection | undefined };

interface Collected {
  readonly description: FamilyDescription;
  /** By series identity, with the definition that produced them. */
  readonly samples: Map<string, { readonly sample: Sample; readonly by: FamilyDescription }>;
}

/**
 * Collects the samples of one resource into families. Of two samples of one series the first one is kept. If both come
 * from the same definition and their values differ, two rows cannot be distinguished, which is a fault; two definitions
 * with one name are alternatives.
 */
export class FamilyCollector {
  readonly faults: MappingFault[] = [];
  /** True if a field read by a metric was present, even if its value means "nothing". */
  isRecognised = false;
  readonly #module: string;
  readonly #families = new Map<string, Collected>();
  readonly #identities = new Identities();
  #count = 0;

  constructor(module: string) {
    this.#module = module;
  }

  get families(): MetricFamily[] {
    return [...this.#families.values()].map(({ description: { name, help, type }, samples }) => ({
      name,
      help,
      type,
      samples: [...samples.values()].map(({ sample }) => sample),
    }));
  }

  /** Returns true if the sample was accepted, or is one that the router is not to have. */
  add(description: CollectedMetric, labels: Labels, value: number): boolean {
    if (description.selection && !isKept(description.selection, labels)) {
      this.isRecognised = true;
      return true;
    }
    const family: Collected = this.#families.get(description.name) ?? { description, samples: new Map() };
    const identity = this.#identities.of(labels);
    const known = family.samples.get(identity);
    if (known) {
      if (known.by === description && known.sample.value !== value) this.addFault(description.name, 'duplicate');
      return false;
    }
    const fault = this.#findFault(description, value);
    if (fault) {
      this.addFault(description.name, fault);
      return false;
    }
    this.#families.set(description.name, family);
    family.samples.set(identity, { sample: { labels, value }, by: description });
    return true;
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

/** Result of mapping the resources of one document, or of one reader. */
export interface MappedFamilies {
  readonly module: string;
  readonly families: readonly MetricFamily[];
  readonly faults: readonly MappingFault[];
}

/**
 * Merges families with the same name; the first one's description is used. Of two samples of one series the first one
 * is kept. If another module produced it and the values differ, the second one is a fault; two resources of one module
 * are alternatives.
 */
export function mergeMappings(mappings: readonly MappedFamilies[]): Pick<MappedFamilies, 'families' | 'faults'> {
  const [only] = mappings;
  if (only && mappings.length === 1) return only;
  const identities = new Identities();
  const merged = new Map<string, { family: MetricFamily; samples: Map<string, { sample: Sample; module: string }> }>();
  const faults = mappings.flatMap((mapping) => mapping.faults);
  for (const { module, families } of mappings) {
    for (const family of families) {
      const target = merged.get(family.name) ?? { family, samples: new Map() };
      merged.set(family.name, target);
      for (const sample of family.samples) {
        const identity = identities.of(sample.labels);
        const known = target.samples.get(identity);
        if (!known) target.samples.set(identity, { sample, module });
        else if (known.module !== module && known.sample.value !== sample.value)
          faults.push({ module, metric: family.name, reason: 'duplicate' });
      }
    }
  }
  return {
    families: [...merged.values()].map(({ family, samples }) => ({
      ...family,
      samples: [...samples.values()].map(({ sample }) => sample),
    })),
    faults,
  };
}

/** Sorts names, which mostly are a few, and often sorted. */
function sortNames(names: readonly string[]): readonly string[] {
  for (let index = 1; index < names.length; index++) {
    if ((names[index - 1] ?? '') > (names[index] ?? '')) return names.toSorted();
  }
  return names;
}

/** Identities of samples by their labels; the samples of one row share theirs. */
class Identities {
  readonly #known = new Map<Labels, string>();

  of(labels: Labels): string {
    let identity = this.#known.get(labels);
    if (identity === undefined) {
      identity = '';
      // A text that has the separator in it, which no device writes, can at most make two samples look like one.
      for (const name of sortNames(Object.keys(labels))) identity += `${name}\0${labels[name]}\0`;
      this.#known.set(labels, identity);
    }
    return identity;
  }
}
