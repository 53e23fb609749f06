import type { MetricType } from '../../model/index.ts';
import type { ValueForm } from '../module-settings/module-definition.ts';

/** A metric as in a module file. */
export interface ProposedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly value?: string;
  readonly unit?: string;
  readonly form?: ValueForm;
  readonly part?: number;
  readonly map?: Readonly<Record<string, number>>;
  readonly null_values?: readonly string[];
  readonly states?: readonly string[];
  readonly state_label?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A resource as in a module file. */
export interface ProposedResource {
  readonly path: string;
  readonly optional: true;
  readonly each: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metrics: readonly ProposedMetric[];
}

/** Fields that did not become metrics, by reason. */
export interface RowSetNotes {
  /** They look like secrets or identify a person, device or place. */
  readonly sensitive: readonly string[];
  /** No value was seen. */
  readonly empty: readonly string[];
  /** A module cannot express them, because of their names or because they are lists. */
  readonly unsayable: readonly string[];
  /** They exceed the limits of a module. */
  readonly excess: readonly string[];
  /** True if no field distinguishes the rows, so that their series would coincide. */
  readonly isAmbiguous: boolean;
}

/** Proposal for the rows at one path, with remarks. */
export interface ProposedRowSet {
  readonly path: string;
  /** Path to the rows; empty for the document itself. */
  readonly each: string;
  /** Absent if nothing there can become a metric. */
  readonly resource: ProposedResource | undefined;
  readonly notes: RowSetNotes;
}

/** A module proposed for fields that no module covers. */
export interface ProposedModule {
  readonly name: string;
  readonly help: string;
  /** At least one of them has a resource. */
  readonly rowSets: readonly ProposedRowSet[];
}
