import { matchesStars } from '../../base/index.ts';
import type { FamilyDescription, Labels, MetricFamily, Sample } from '../../model/index.ts';
import type { SampleSelection } from '../module-settings/module-schema.ts';

/**
 * Reasons why a value became no sample, or an unknown one.
 *
 * `unknown_form`: neither a number nor any other known form. `unknown_unit`: a number with an unknown or undeclared unit. `other_form`: a
 * value of a known form or unit that the metric does not declare and no other metric reads. `unknown_text`: a text that is not in `map`.
 * `unknown_state`: a text that is not in `states`. `too_long`: a text longer than any real one. `not_plain`: a list or an object.
 * `not_finite`: a number that is not finite. `negative`: a counter below zero. `too_many`: rows, fields or samples beyond their bounds.
 * `duplicate`: another value for an existing series, because two rows have the same labels or two modules produce it; the first one is
 * kept. `unnamed`: a value in a list row that lacks all fields that are labels of its resource and distinguish it from other rows.
 */
export type MappingFaultReason =
  | 'unknown_form'
  | 'unknown_unit'
  | 'other_form'
  | 'unknown_text'
  | 'unknown_state'
  | 'too_long'
  | 'not_plain'
  | 'not_finite'
  | 'negative'
  | 'too_many'
  | 'duplicate'
  | 'unnamed';

/** Part of a document that could not become a sample. Without the value, which may be a secret. */
export interface MappingFault {
  readonly module: string;
  readonly metric: string;
  readonly reason: MappingFaultReason;
}

/** The largest resource has some hundred samples. */
const SAMPLES_MAX = 8192;
const FAULTS_MAX = 256;

/** `selection`: the series that the router has. Default: all. */
type CollectedMetric = FamilyDescription & { readonly selection?: SampleSelection | undefined };

interface Collected {
  readonly sample: Sample;
  readonly module: string;
  readonly by: FamilyDescription;
}

function isKept({ allow, deny }: SampleSelection, labels: Labels): boolean {
  const matches = (globs: SampleSelection['deny'][number]) =>
    Object.entries(globs).every(([label, glob]) => matchesStars(labels[label] ?? '', glob));
  return (allow?.some(matches) ?? true) && !deny.some(matches);
}

/**
 * Collects the samples of one document into families. Of two samples of one series the first is kept. Different values are a fault: two
 * rows cannot be distinguished, or two modules disagree. Two definitions of one module with one name are alternatives.
 */
export class FamilyCollector {
  readonly faults: MappingFault[] = [];
  /** True if a field read by a metric was present, even if its value means "nothing". */
  isRecognised = false;
  /** True if the same document read at another time may give other samples. */
  dependsOnTime = false;
  module = '';
  /** By name; the samples by the identity of their series. */
  readonly #families = new Map<
    string,
    { readonly description: FamilyDescription; readonly samples: Map<string, Collected> }
  >();
  readonly #identities = new Identities();
  #count = 0;

  get families(): MetricFamily[] {
    return [...this.#families.values()].map(({ description: { name, help, type }, samples }) => ({
      name,
      help,
      type,
      samples: [...samples.values()].map(({ sample }) => sample),
    }));
  }

  /** Returns true if the sample was accepted or filtered out. */
  add(description: CollectedMetric, labels: Labels, value: number): boolean {
    const { name, selection } = description;
    if (selection && !isKept(selection, labels)) {
      this.isRecognised = true;
      return true;
    }
    const { module } = this;
    const family = this.#families.get(name) ?? { description, samples: new Map<string, Collected>() };
    const identity = this.#identities.of(labels);
    const known = family.samples.get(identity);
    if (known && known.sample.value === value) return known.module !== module;
    if (known && known.module === module && known.by !== description) return false;
    const fault = known ? 'duplicate' : this.#findFault(description, value);
    if (fault) {
      this.addFault(name, fault);
      return false;
    }
    this.isRecognised = true;
    this.#families.set(name, family);
    family.samples.set(identity, { sample: { labels, value }, module, by: description });
    return true;
  }

  addFault(metric: string, reason: MappingFaultReason): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push({ module: this.module, metric, reason });
  }

  #findFault({ type }: FamilyDescription, value: number): MappingFaultReason | undefined {
    if (!Number.isFinite(value)) return 'not_finite';
    if (type === 'counter' && value < 0) return 'negative';
    return this.#count++ < SAMPLES_MAX ? undefined : 'too_many';
  }
}

/** Avoids a sort for the few names that are often in order. */
function sortNames(names: readonly string[]): readonly string[] {
  for (let index = 1; index < names.length; index++) {
    if ((names[index - 1] ?? '') > (names[index] ?? '')) return names.toSorted();
  }
  return names;
}

/** The samples of one row share their labels object. */
class Identities {
  readonly #known = new Map<Labels, string>();

  of(labels: Labels): string {
    let identity = this.#known.get(labels);
    if (identity === undefined) {
      identity = '';
      // A text that contains the separator, which no device sends, can at most make two samples look like one.
      for (const name of sortNames(Object.keys(labels))) identity += `${name}\0${labels[name]}\0`;
      this.#known.set(labels, identity);
    }
    return identity;
  }
}
